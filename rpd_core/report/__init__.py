"""What a run found, typed, and how it is shown."""
