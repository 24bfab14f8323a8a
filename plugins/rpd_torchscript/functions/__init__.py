"""The functions that are run for a stranger."""
