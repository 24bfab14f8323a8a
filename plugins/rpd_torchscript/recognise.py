"""Programs that torch saved, known by what their zip holds."""

from collections.abc import Iterable

from rpd_core.plugin.protocols import Contents

_EXPORTED = frozenset(("archive_format", "serialized_exported_program.json"))
"""What tells a file of torch.export: the first of torch 2.13, the second of torch 2.6."""
_MODULE = (b"_modules", b"_parameters")
"""Keys of a module that was pickled whole."""


def is_torchscript(contents: Contents) -> bool:
    """Return whether a file is TorchScript or, for those who trust it, another saved module."""
    below = {name.partition("/")[2] for name in contents.members} | {*contents.members}
    if is_exported(contents.members) or any(name.startswith("code/") for name in below):
        return True
    pickles = [name for name in contents.members if name.endswith("/data.pkl")]
    held = contents.read(pickles[0]) if len(pickles) == 1 else b""
    return all(key in held for key in _MODULE)


def is_exported(members: Iterable[str]) -> bool:
    """Return whether members of a zip file, in a folder or not, are from torch.export."""
    return any(not _EXPORTED.isdisjoint((name, name.partition("/")[2])) for name in members)
