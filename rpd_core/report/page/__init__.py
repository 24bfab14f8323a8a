"""The page `report.html`: one file, made from the run directory alone."""
