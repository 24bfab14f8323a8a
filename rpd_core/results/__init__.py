"""What a run found: typed, in words, read from its directory."""
