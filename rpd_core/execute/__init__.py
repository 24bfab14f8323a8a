"""Doing work: items, completeness and retries, local processes."""
