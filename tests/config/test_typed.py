"""What is refused before anything heavy is imported."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rpd_core.config.typed import check_typed
from rpd_core.errors import RpdError
from rpd_core.plugin.registry import Registry

WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "measure": ({"measures": ("tarantul",)}, "Did you mean 'tarantula'?"),
    "abstraction": ({"abstraction": ("rund",)}, "Did you mean 'round'?"),
    "condition": ({"condition": "atuo"}, "Did you mean 'auto'?"),
    "default action": ({"default_action": "repeet"}, "Did you mean 'repeat'?"),
    "environment": ({"env": "cartpool"}, "Did you mean 'cartpole'?"),
    "number": ({"episodes": 0}, "episodes must be at least 1, got 0"),
    "rate": ({"mutation_rate": 20.0}, "Did you mean 0.2?"),
    "file": ({"policy": "sb3:nope.zip"}, "nope.zip' does not exist: check the path"),
    "file by name": ({"policy": "sb3:path=nope.zip,deterministic=false"}, "nope.zip' does not"),
    "file inside": ({"default_action": "policy:sb3:nope.zip"}, "nope.zip' does not exist"),
}


@pytest.mark.parametrize(("typed", "told"), WRONG.values(), ids=WRONG.keys())
def test_what_can_be_seen_to_be_wrong_is_refused(
    typed: dict[str, Any], told: str, registry: Registry
) -> None:
    with pytest.raises(RpdError) as caught:
        check_typed(typed, registry)
    assert told in str(caught.value)


def test_what_may_be_right_is_left_to_whoever_makes_it(
    registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.zip").write_bytes(b"no archive")
    for policy in ("sb3:model.zip", "sb3:model", "cartpole:good", "python:nowhere:thing", "random"):
        check_typed({"policy": policy, "mutation_rate": "auto", "headline": "best"}, registry)
    check_typed({"policy": "sb3:'open", "condition": "return>=many"}, registry)
