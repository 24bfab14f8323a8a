"""Programs that torch saved, known by what their zip holds."""

from rpd_core.plugin.protocols import Contents


def is_torchscript(contents: Contents) -> bool:
    """Return whether a file is TorchScript or, for those who trust it, from torch.export."""
    below = {name.partition("/")[2] for name in contents.members} | {*contents.members}
    return "archive_format" in below or any(name.startswith("code/") for name in below)
