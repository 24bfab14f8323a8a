"""Files of stable-baselines3, known by what their zip holds."""

from rpd_core.plugin.protocols import Contents

_POLICY = (b"state_dict", b"observation_space", b"action_space")
"""Keys that `policy.save` writes."""


def is_sb3(contents: Contents) -> bool:
    """Return whether a file was written by `model.save`, or by `policy.save`."""
    members = contents.members
    if "data" in members and any(name.endswith(".pth") for name in members):
        return True
    pickles = [name for name in members if name.endswith("/data.pkl")]
    if len(pickles) != 1 or any("/code/" in name for name in members):
        return False
    held = contents.read(pickles[0])
    return all(key in held for key in _POLICY)
