"""Bytes from strangers: files, zips, pickles and arrays, read within bounds and without running."""
