"""The run directory: part files, tables, lock, provenance."""
