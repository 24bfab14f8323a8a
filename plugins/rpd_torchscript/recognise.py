"""Programs that torch saved, known by what their zip holds."""

from rpd_core.plugin.protocols import Contents

_MODULE = (b"_modules", b"_parameters")
"""Keys of a module that was pickled whole."""


def is_torchscript(contents: Contents) -> bool:
    """Return whether a file is TorchScript or, for those who trust it, another saved module."""
    below = {name.partition("/")[2] for name in contents.members} | {*contents.members}
    if "archive_format" in below or any(name.startswith("code/") for name in below):
        return True
    pickles = [name for name in contents.members if name.endswith("/data.pkl")]
    held = contents.read(pickles[0]) if len(pickles) == 1 else b""
    return all(key in held for key in _MODULE)
