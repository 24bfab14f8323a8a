"""One line leaves the loader, whatever the file, its name or its author put in."""

from __future__ import annotations

import os
import pickle
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces
from sb3_toys import PUSHES, VECTOR, entry, facts_of, rewritten, saved, train

from rpd_core.config.configuration import component_identity
from rpd_core.errors import RpdError, SpecError
from rpd_core.plugin.registry import installed
from rpd_core.untrusted.boundary import boundary, printable
from rpd_sb3.loader import Sb3File

TWO = spaces.Discrete(2)
FACTS = facts_of(VECTOR, TWO)


def identity(loader: Sb3File) -> dict[str, object]:
    """Return what a run's configuration holds of a loader."""
    return component_identity("policy", loader, installed())


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved(train("PPO", "MlpPolicy", VECTOR, TWO), tmp_path_factory.mktemp("good"))


def complaint(path: Path, kind: type[RpdError] = SpecError, **options: Any) -> str:
    with pytest.raises(kind) as caught:
        Sb3File(path, **options).load(FACTS)
    line = str(caught.value)
    assert line.isprintable()
    assert len(line) <= 600
    return line


@pytest.mark.parametrize("failure", [RecursionError("deep"), KeyError("x"), ZeroDivisionError()])
def test_whatever_is_raised_becomes_one_line_with_the_name_and_what_to_do(
    good: Path, monkeypatch: pytest.MonkeyPatch, failure: Exception
) -> None:
    def fail(*args: Any) -> Any:
        raise failure

    monkeypatch.setattr("rpd_sb3.assembly.build", fail)
    line = complaint(good)
    assert line.startswith("model.zip cannot be used (")
    assert "save the model again" in line


def test_names_that_no_file_can_have_give_one_line(tmp_path: Path) -> None:
    assert "File name too long" in complaint(tmp_path / ("x" * 300))
    assert "does not exist" in complaint(tmp_path / os.fsdecode(b"caf\xe9\xff.zip"))
    assert "does not exist" in complaint(tmp_path / "a\0b")
    assert Sb3File(tmp_path / ("x" * 300)).inputs() == ()


def test_the_longest_name_that_a_file_can_have_loads(good: Path, tmp_path: Path) -> None:
    longest = tmp_path / ("x" * 251 + ".zip")
    longest.write_bytes(good.read_bytes())
    assert Sb3File(longest).inputs() == ()
    Sb3File(longest).load(FACTS)


def test_a_file_whose_name_is_not_utf_8_loads(good: Path, tmp_path: Path) -> None:
    odd = tmp_path / os.fsdecode(b"caf\xe9.zip")
    odd.write_bytes(good.read_bytes())
    Sb3File(odd).load(FACTS)
    odd.write_bytes(good.read_bytes()[:5000])
    assert "caf?.zip is a zip file that was cut short" in complaint(odd)


def test_a_name_without_its_ending_finds_the_zip_as_the_library_does(
    good: Path, tmp_path: Path
) -> None:
    (tmp_path / "run.zip").write_bytes(good.read_bytes())
    (tmp_path / "run").mkdir()  # the zoo keeps its configuration in such a folder
    loader = installed().make("policy", f"sb3:{tmp_path / 'run'}")
    assert loader == Sb3File(tmp_path / "run.zip")
    assert identity(loader) == identity(Sb3File(good))
    loader.load(FACTS)
    (tmp_path / "other").write_bytes(good.read_bytes())
    (tmp_path / "other.zip").write_bytes(b"not this one")
    assert Sb3File(tmp_path / "other").path == tmp_path / "other"


def test_no_line_is_long_or_speaks_to_the_terminal(good: Path) -> None:
    evil = "\x1b]0;pwned\x07\x1b[31m" + "x" * 5000 + "\nsecond line"
    hostile = pickle.dumps({"activation_fn": 1})
    for data in (
        {"policy_kwargs": {evil: 1}},
        {"policy_kwargs": {"net_arch": evil}},
        {"policy_kwargs": entry(hostile, activation_fn=f"<class 'a.{'b' * 3000}'>")},
        {"policy_kwargs": entry(b"", features_extractor_class=f"<class 'm.{'N' * 3000}'>")},
        {"policy_class": entry(b"c" + b"m" * 3000 + b"\nX\n.")},
        {"observation_space": entry(b"\x80\x04\x8c\xff" + b"\x1b" * 255 + b"\x8c\x01c\x93.")},
    ):
        line = complaint(rewritten(good, data))
        assert "rewritten.zip" in line


def test_a_long_space_is_cut_in_errors_and_descriptions() -> None:
    name = "k\x1b[2J" + "y" * 900
    odd = spaces.Dict({name: VECTOR})
    with pytest.raises(RpdError) as caught, boundary(Path("m.zip"), "save it again"):
        raise RpdError(f"the model sees {odd}; what to do now")
    assert len(str(caught.value)) <= 600
    assert str(caught.value).isprintable()
    assert str(caught.value).endswith("what to do now")
    assert printable("short\ttext") == "short?text"


def test_the_description_of_a_file_cannot_speak_to_the_terminal(tmp_path: Path) -> None:
    parts = spaces.Dict({"a\x1b[31m": VECTOR})
    path = saved(train("PPO", "MultiInputPolicy", parts, TWO), tmp_path)
    for text in Sb3File(path).describe().values():
        assert text.isprintable()


class Lever(spaces.Discrete):
    """A space of somebody's own."""


class Dial(spaces.Box):
    """Another."""


def test_spaces_derived_from_gymnasium_s_are_taken_for_what_they_are(
    good: Path, tmp_path: Path
) -> None:
    dial = Dial(VECTOR.low, VECTOR.high, dtype=np.float32)
    Sb3File(good).load(facts_of(dial, Lever(2)))
    pushed = saved(train("PPO", "MlpPolicy", spaces.Discrete(5), PUSHES), tmp_path)
    pushes = Dial(PUSHES.low, PUSHES.high, dtype=np.float32)
    Sb3File(pushed).load(facts_of(Lever(5), pushes))
    with pytest.raises(RpdError, match=r"acts in Discrete\(2\), but the toy takes Discrete\(3\)"):
        Sb3File(good).load(facts_of(dial, Lever(3)))


def test_trust_is_a_permission_and_not_part_of_what_a_run_is(good: Path) -> None:
    trust = next(field for field in fields(Sb3File) if field.name == "trust")
    assert trust.metadata["not_identity"]
    assert identity(Sb3File(good)) == identity(Sb3File(good, trust=True))


def test_code_of_the_author_runs_only_with_trust_or_an_extractor(good: Path) -> None:
    assert not Sb3File(good).runs_code
    assert not Sb3File(good, algo="ppo", vecnormalize=good, stack=2).runs_code
    assert Sb3File(good, trust=True).runs_code
    assert Sb3File(good, extractor="my_networks:SmallNet").runs_code
