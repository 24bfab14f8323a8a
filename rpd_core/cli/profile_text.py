"""Where the time of a run went, in lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rpd_core.errors import counted
from rpd_core.play.profile import Profile

_SMALL = 0.005
"""Share below which nothing is named."""


def profile_lines(profile: Profile) -> Iterator[str]:
    """Yield the shares of the stages, and of what the workers called."""
    yield f"{profile.seconds:.1f} s: {_shares(profile.stages)}"
    if profile.items:
        inside = sum(profile.workers.values())
        yield (
            f"of which workers played {inside:.1f} s, in {counted(profile.items, 'item')} of work: "
            f"{_shares(profile.workers)}"
        )


def _shares(spent: Mapping[str, float]) -> str:
    total = sum(spent.values()) or 1.0
    shares = [(name, seconds / total) for name, seconds in spent.items()]
    return ", ".join(f"{name} {share:.0%}" for name, share in shares if share >= _SMALL)
