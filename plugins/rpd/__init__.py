"""rpd: which decisions of a trained policy matter.

`import rpd` is `import rpd_core` under the name of the command: the same objects, imported when
first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import rpd_core

if TYPE_CHECKING:
    from rpd_core import *  # noqa: F403

    __version__: str

__all__ = rpd_core.__all__


def __getattr__(name: str) -> Any:
    try:
        return getattr(rpd_core, name)
    except AttributeError:
        raise AttributeError(f"module 'rpd' has no attribute {name!r}") from None


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
