"""Figures of a run, drawn with matplotlib, which is imported nowhere else."""
