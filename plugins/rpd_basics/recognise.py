"""Policies that rpd exported, known by what their zip holds."""

from rpd_core.plugin.protocols import Contents


def is_pruned(contents: Contents) -> bool:
    """Return whether a file was written by `rpd prune --export`."""
    return {"pruned.json", "keys.npy"} <= {*contents.members}
