"""What entries are called: by the user, by the environment, by parts, by places."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
import stores
import worlds
from commands import refusal
from gymnasium import spaces

from rpd import open_run
from rpd_core.config.resolve import resolve
from rpd_core.config.settings import Request
from rpd_core.errors import ConfigError, FitError, StoreError
from rpd_core.play.entry_names import named_facts
from rpd_core.plugin.protocols import Facts
from rpd_core.plugin.registry import Registry

PAIR = spaces.Box(0, 1, (2,))
FACTS = Facts(PAIR, spaces.Discrete(2), 1, entry_names=("a", "b"), description="Pair")


def seen(space: spaces.Space) -> Facts:  # type: ignore[type-arg]
    return dataclasses.replace(FACTS, observation_space=space, entry_names=())


def test_names_of_the_user_take_the_place_of_the_environments() -> None:
    assert named_facts(FACTS, ()).entry_names == ("a", "b")
    assert named_facts(FACTS, ("up", "down")).entry_names == ("up", "down")


def test_parts_of_a_dict_are_called_by_their_keys_in_the_order_in_which_they_are_joined() -> None:
    inner = spaces.Dict({"z": PAIR, "text": spaces.Text(3)})
    space = spaces.Dict({"speed": spaces.Box(0, 1, ()), "arm": inner, "gear": spaces.Discrete(3)})
    assert named_facts(seen(space), ()).entry_names == ("arm.z 0", "arm.z 1", "gear", "speed")

    many = spaces.Tuple([spaces.Discrete(2)] * 11)
    assert named_facts(seen(many), ()).entry_names[:3] == ("part 0", "part 1", "part 2")
    assert named_facts(seen(many), ()).entry_names[-1] == "part 10"


def test_a_part_with_one_number_needs_no_place() -> None:
    space = spaces.Dict({"stock": spaces.Box(0, 20, (1,)), "day": spaces.MultiDiscrete([7])})
    assert named_facts(seen(space), ()).entry_names == ("day", "stock")


def test_pictures_and_plain_vectors_get_no_names() -> None:
    picture = spaces.Dict({"image": spaces.Box(0, 255, (7, 7, 3), np.uint8), "x": PAIR})
    for space in (picture, PAIR, spaces.Discrete(4)):
        assert named_facts(seen(space), ()).entry_names == ()


@pytest.mark.parametrize(
    ("space", "names", "message"),
    [
        (PAIR, ("a",), r"names gives 1 \(a\) for observations of Pair with 2 entries: give 2"),
        (
            PAIR,
            tuple("abcde"),
            r"names gives 5 \(a, b, c, \.\.\.\) for observations of Pair with 2",
        ),
        (spaces.Dict({"x": PAIR, "y": PAIR}), ("a", "b"), "with 4 entries: give 4, parted by"),
        (spaces.Box(0, 1, (2, 2)), tuple("abcd"), r"names are for vectors, .* shape \(2, 2\)"),
    ],
)
def test_a_wrong_number_of_names_is_refused(space, names, message) -> None:
    with pytest.raises(FitError, match=message):
        named_facts(seen(space), names)


@pytest.mark.parametrize(
    ("given", "names"),
    [("angle, speed", ("angle", "speed")), (["a", "b"], ("a", "b")), (("a",), ("a",)), ("", ())],
)
def test_names_are_one_text_or_several(given, names, registry: Registry) -> None:
    config = resolve(Request(worlds.Corridor(), worlds.Goes(), names=given), registry).config
    assert config.settings.names == names
    assert config.suite_json()["settings"]["names"] == list(names)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("a,b,a", "names must tell entries apart, got 'a' twice"),
        ("a,,b", "names must be texts of one line, parted by commas, got ''"),
        (("a\nb",), "names must be texts of one line"),
        ((1, 2), "names must be texts of one line, parted by commas, got 1"),
        (7, "names must tell entries apart, got 7"),
    ],
)
def test_names_that_tell_nothing_apart_are_refused(given, message, registry: Registry) -> None:
    with pytest.raises(ConfigError, match=message):
        resolve(Request(worlds.Corridor(), worlds.Goes(), names=given), registry)


def test_names_count_only_where_they_are_given(registry: Registry) -> None:
    plain = resolve(Request(worlds.Corridor(), worlds.Goes()), registry).config
    named = resolve(Request(worlds.Corridor(), worlds.Goes(), names="cell"), registry).config
    assert "names" not in plain.identity()
    assert named.identity() == {**plain.identity(), "names": ["cell"]}


def test_states_rules_and_files_use_the_names(tmp_path: Path) -> None:
    run = stores.finish(tmp_path, stores.corridor(names="cell", abstraction=("identity",)))
    assert run.directory.names().entries == ("cell",)
    assert {one.state for one in run.top(5)} <= {f"cell {place}" for place in range(15)}
    assert open_run(tmp_path).summary.decisions == run.summary.decisions
    with pytest.raises(StoreError, match=r"names: stored .*cell.*, asked .*place"):
        stores.session_at(tmp_path, stores.corridor(names="place", abstraction=("identity",)))


def test_a_run_from_before_there_were_names_is_still_read(tmp_path: Path) -> None:
    run = stores.finish(tmp_path, stores.corridor())
    stored = run.directory.read_json("run.json")
    assert stored is not None
    assert stored["settings"].pop("names") == []
    run.directory.write_json("run.json", stored)
    assert open_run(tmp_path).directory.configuration().settings.names == ()
    assert stores.session_at(tmp_path, stores.corridor()).directory.suite().count() == 60


def test_the_command_line_takes_names_in_one_text(tmp_path: Path) -> None:
    line = refusal(
        "run", "--env", "gym:CartPole-v1", "--policy", "random", "--names", "x, speed",
        "--workers", 1, "--out", tmp_path / "run",
    )  # fmt: skip
    assert "names gives 2 (x, speed) for observations of CartPole-v1 with 4 entries" in line
