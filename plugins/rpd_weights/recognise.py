"""Files of plain weights, known by how they begin or by what their zip holds."""

from rpd_core.plugin.protocols import Contents
from rpd_weights.safetensors import begins_safetensors

_MODULE = (b"_modules", b"_parameters")
"""Keys of a module that was pickled whole."""
_SB3_POLICY = (b"state_dict", b"observation_space", b"action_space")
"""Keys that `policy.save` of stable-baselines3 writes."""


def is_weights(contents: Contents) -> bool:
    """Return whether a file holds named arrays of numbers, and nothing that uses them."""
    members = contents.members
    if not members:
        return begins_safetensors(contents.start)
    if all(name.endswith(".npy") for name in members):
        return any("weight" in name for name in members)
    pickles = [name for name in members if name.endswith("/data.pkl")]
    if len(pickles) != 1 or any("/code/" in name for name in members):
        return False
    held = contents.read(pickles[0])
    others = (_MODULE, _SB3_POLICY)
    return b"_rebuild_" in held and not any(all(key in held for key in keys) for keys in others)
