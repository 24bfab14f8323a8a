"""What was asked, the configuration that follows from it, and its identity."""
