"""The functions that a stranger's code may call, each by its exact name and with its own checks."""
