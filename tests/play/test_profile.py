"""Where the time of a run went: told by stage and by what workers called, at no cost to others."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import worlds
from commands import rpd_command
from stores import contents, corridor, ready, session_at

from rpd_core import pipeline
from rpd_core.cli.text import profile_lines
from rpd_core.play.chunks import player_for
from rpd_core.play.profile import Profile, Profiler
from rpd_core.play.recipe import recipe_of
from rpd_core.plugin.protocols import Facts, Policy, PolicyInput

NAP = 0.0005


@dataclass(frozen=True)
class Slow(worlds.Goes):
    """Goes after some thought."""

    def load(self, facts: Facts) -> Policy:
        decide = super().load(facts)

        def think(seen: PolicyInput) -> Any:
            time.sleep(NAP)
            return decide(seen)

        return think


def played(path: Path, **more: Any) -> dict[str, bytes]:
    """Do a small run with a slow policy; return its files."""
    session = session_at(path, corridor(policy=Slow()), **more)
    pipeline.run(session)
    return {name: content for name, content in contents(path, "*").items() if name != "run.json"}


@pytest.fixture(scope="module")
def profiled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Profile, dict[str, bytes]]:
    profiler = Profiler()
    files = played(tmp_path_factory.mktemp("profiled"), profiler=profiler)
    return profiler.found(), files


def test_a_run_that_is_timed_has_the_bytes_of_one_that_is_not(
    profiled: tuple[Profile, dict[str, bytes]], tmp_path: Path
) -> None:
    assert profiled[1] == played(tmp_path)


def test_stages_add_up_to_the_whole_and_calls_to_the_playing(
    profiled: tuple[Profile, dict[str, bytes]],
) -> None:
    found = profiled[0]
    assert sum(found.stages.values()) == pytest.approx(found.seconds, rel=0.01)
    assert {"suite", "unmutated", "references", "pruning", "ranking", "storing"} <= {*found.stages}
    parts = [name for name in profiled[1] if Path(name).name.startswith("part-")]
    assert 0 < found.items < sum(name.endswith(".json") for name in parts), "parts share items"
    assert {*found.workers} == {
        *("environment", "abstraction", "keys and coins", "policy", "default action"),
        *("recording", "loop", "opening"),
    }


def test_what_is_slow_is_found(profiled: tuple[Profile, dict[str, bytes]]) -> None:
    found = profiled[0]
    assert next(iter(found.workers)) == "policy", "the largest comes first"
    calls = found.workers["policy"] / NAP
    assert calls > 100
    assert sum(found.workers.values()) < found.seconds, "all of it was done in this process"
    assert found.workers_processor["policy"] < found.workers["policy"] / 2, "it slept"


def test_who_does_not_ask_has_nothing_wrapped(tmp_path: Path) -> None:
    session = session_at(tmp_path, corridor())
    pipeline.build_parts(session)
    player = player_for(recipe_of(session.setup)).player
    assert type(player.lanes) is worlds.CorridorLanes
    assert "play" not in vars(player)


def test_lines_name_shares_and_leave_out_what_is_nothing() -> None:
    stages, own = {"suite": 7.5, "ranking": 2.49, "storing": 0.01}, {"ranking": 2.4}
    told = Profile(10.0, stages, 3, {"policy": 2.0}, own, {"policy": 1.2, "loop": 0.3})
    assert list(profile_lines(told)) == [
        "10.0 s (2.4 s of processor time): suite 75%, ranking 25%",
        "of which workers played 2.0 s (1.5 s of processor time), in 3 items of work: policy 80%, "
        "loop 20%",
    ]


def test_the_command_line_tells_on_standard_error_and_in_json(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    finished, profilers = ready(tmp_path), []

    def carry_out(call: Any, ask: Any, profiler: Profiler | None) -> Any:
        profilers.append(profiler)
        return finished, {}

    monkeypatch.setattr("rpd_core.cli.run.play_call", carry_out)
    result = rpd_command("run", "--env", "cartpole", "--profile", "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert sorted(found.pop("profile")) == [
        *("items", "seconds", "stages", "stages_processor", "workers", "workers_processor"),
    ]
    assert result.stderr.startswith("rpd: 0.")
    plain = rpd_command("run", "--env", "cartpole", "--json")
    assert (json.loads(plain.stdout), plain.stderr) == (found, "")
    assert isinstance(profilers[0], Profiler)
    assert profilers[1] is None
