"""rpd at work: pruned policies that play anywhere, while training, in tests, and in trackers."""
