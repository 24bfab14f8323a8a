"""Files from strangers run nothing: each of these would create a file if it were executed."""

from __future__ import annotations

import os
import pickle
import subprocess
from pathlib import Path
from typing import Any

import cloudpickle
import numpy as np
import pytest
from gymnasium import spaces
from sb3_toys import (
    VECTOR,
    Touch,
    entry,
    facts_of,
    rewritten,
    saved,
    settings_of,
    touching,
    train,
    weights_bytes,
)

from rpd_core.errors import SpecError
from rpd_core.untrusted.boundary import Budget, Refused
from rpd_sb3.loader import Sb3File
from rpd_sb3.pickles import read

TWO = spaces.Discrete(2)
FACTS = facts_of(VECTOR, TWO)


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved(train("PPO", "MlpPolicy", VECTOR, TWO), tmp_path_factory.mktemp("honest"))


@pytest.mark.parametrize("field", ["observation_space", "action_space"])
def test_a_hostile_space_is_refused_by_name(honest: Path, tmp_path: Path, field: str) -> None:
    marker = tmp_path / "created"
    path = rewritten(honest, {field: entry(touching(marker))})
    with pytest.raises(SpecError, match=rf"{field}.*builtins\.exec.*trust=true.*--trust-policy"):
        Sb3File(path).load(FACTS)
    assert not marker.exists()


@pytest.mark.parametrize(
    "field", ["policy_class", "policy_kwargs", "lr_schedule", "_last_obs", "x"]
)
def test_hostile_settings_that_are_not_needed_are_never_read(
    honest: Path, tmp_path: Path, field: str
) -> None:
    marker = tmp_path / "created"
    path = rewritten(honest, {field: entry(touching(marker))})
    if field == "policy_class":
        with pytest.raises(SpecError, match="policy class"):
            Sb3File(path).load(FACTS)
    else:
        Sb3File(path).load(FACTS)
    assert not marker.exists()


def test_a_hostile_argument_of_the_policy_is_refused_by_name(honest: Path, tmp_path: Path) -> None:
    marker = tmp_path / "created"
    hostile = pickle.dumps({"activation_fn": Touch(marker)})
    path = rewritten(honest, {"policy_kwargs": entry(hostile, activation_fn="<something>")})
    with pytest.raises(SpecError, match=r"policy_kwargs.*builtins\.exec.*trust=true"):
        Sb3File(path).load(FACTS)
    assert not marker.exists()


def test_hostile_weights_are_refused(honest: Path, tmp_path: Path) -> None:
    marker = tmp_path / "created"
    path = rewritten(honest, policy_pth=weights_bytes({"action_net.bias": Touch(marker)}))
    for trust in (False, True):
        with pytest.raises(SpecError, match=r"weights.*exec"):
            Sb3File(path, trust=trust).load(FACTS)
    assert not marker.exists()


def test_other_hostile_members_are_never_read(honest: Path, tmp_path: Path) -> None:
    marker = tmp_path / "created"
    hostile = weights_bytes({"a": Touch(marker)})
    path = rewritten(honest, pytorch_variables_pth=hostile, policy_optimizer_pth=hostile)
    Sb3File(path).load(FACTS)
    assert not marker.exists()


def test_hostile_statistics_are_refused_by_name(honest: Path, tmp_path: Path) -> None:
    marker = tmp_path / "created"
    statistics = tmp_path / "stats.pkl"
    statistics.write_bytes(touching(marker))
    with pytest.raises(SpecError, match=r"stats\.pkl.*builtins\.exec.*trust=true"):
        Sb3File(honest, vecnormalize=statistics).load(FACTS)
    arrays = tmp_path / "stats.npz"
    np.savez(arrays, mean=np.array([Touch(marker)], dtype=object), var=np.ones(1))
    with pytest.raises(SpecError, match=r"stats\.npz"):
        Sb3File(honest, vecnormalize=arrays).load(FACTS)
    assert not marker.exists()


def test_with_trust_everything_in_the_file_is_loaded(honest: Path, tmp_path: Path) -> None:
    marker = tmp_path / "created"
    path = rewritten(honest, {"_last_obs": entry(touching(marker))})
    policy = Sb3File(path, trust=True).load(FACTS)
    assert marker.exists()
    assert "loaded in full" in policy.describe()["adapted"]


def test_with_trust_statistics_are_unpickled_in_full(honest: Path, tmp_path: Path) -> None:
    marker, statistics = tmp_path / "created", tmp_path / "stats.pkl"
    statistics.write_bytes(touching(marker))
    with pytest.raises(SpecError, match="holds no VecNormalize"):
        Sb3File(honest, vecnormalize=statistics, trust=True).load(FACTS)
    assert marker.exists()


class _Call:
    def __init__(self, function: Any, *args: Any) -> None:
        self.call = function, args

    def __reduce__(self) -> Any:
        return self.call


def payloads(marker: Path) -> dict[str, Any]:
    """Ways to run something that have been used against allow-lists of whole packages."""
    command = f"open({str(marker)!r}, 'w').close()"
    return {
        "os.system": _Call(os.system, f"touch {marker}"),
        "subprocess": _Call(subprocess.call, ["touch", str(marker)]),
        "eval": _Call(eval, f"open({str(marker)!r}, 'w')"),
        "getattr": _Call(getattr, os, "system"),
        "open": _Call(open, str(marker), "w"),
        "numpy file": _Call(np.memmap, str(marker), "uint8", "w+", 0, (4,)),
        "numpy text": _Call(np.savetxt, str(marker), [1.0]),
        "function by value": lambda: exec(command),
        "torch file": _Call(__import__("torch").save, {}, str(marker)),
        "touch": _Call(Path.touch, marker),
    }


@pytest.mark.parametrize("name", list(payloads(Path("x"))))
@pytest.mark.parametrize("lenient", [False, True])
def test_no_callable_outside_the_list_is_ever_called(
    tmp_path: Path, name: str, lenient: bool
) -> None:
    marker = tmp_path / "created"
    raw = cloudpickle.dumps([payloads(marker)[name]])
    with pytest.raises(Refused, match="it wants"):
        read(raw, Budget(2**20), lenient=lenient)
    assert not marker.exists()


def test_the_names_in_the_settings_are_never_imported(
    honest: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    marker = tmp_path / "created"
    (tmp_path / "authors_module.py").write_text(f"open({str(marker)!r}, 'w').close()")
    monkeypatch.syspath_prepend(tmp_path)
    named = entry(b"", features_extractor_class="<class 'authors_module.Net'>")
    with pytest.raises(SpecError, match=r"authors_module\.Net.*extractor=authors_module:Net"):
        Sb3File(rewritten(honest, {"policy_kwargs": named})).load(FACTS)
    assert not marker.exists()
    assert settings_of(honest)["policy_kwargs"] == {}
