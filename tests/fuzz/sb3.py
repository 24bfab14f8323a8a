"""Hostile variants of small stable-baselines3 files, and one attempt to use each."""

from __future__ import annotations

import base64
import functools
import io
import json
import os
import pickle
import random
import re
import struct
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import stable_baselines3
import torch
from gymnasium import spaces

from rpd_core.chance import Draws
from rpd_core.errors import RpdError
from rpd_core.plugin.protocols import Facts, PolicyInput
from rpd_sb3.loader import Sb3File
from tests.fuzz.mutations import flipped, json_bomb, pickle_bomb, zipped

SUFFIX = ".zip"
CASES = 300
"""Cases for each seed."""
_CANARY = "RPD_FUZZ_CANARY"
"""Environment variable with the name of a file that must never come to be."""
_ROWS = 3
_VECTOR = spaces.Box(-2.0, 3.0, (4,), np.float32)
_TWO = spaces.Discrete(2)
_PUSHES = spaces.Box(-1.0, 1.0, (2,), np.float32)
_SMALL = {"net_arch": [8]}
_MODELS: dict[str, tuple[Any, dict[str, Any]]] = {
    "PPO": (_TWO, {"n_steps": 8, "batch_size": 8}),
    "DQN": (_TWO, {"buffer_size": 8}),
    "SAC": (_PUSHES, {"buffer_size": 8}),
}
_PICKLED = ("observation_space", "action_space", "policy_class")
_VALUES: tuple[Any, ...] = (
    None, True, -1, 0, 10**18, 10**400, float("nan"), 1e308, "", "\x1b[31m\n", "x" * 10_000, [], {},
    [[[[[]]]]], [1] * 5000, [10**6, 10**6], {"pi": [10**9], "vf": "x"}, {":serialized:": "!"},
    {":serialized:": 5}, {"net_arch": [1] * 100_000}, {"net_arch": [-1]}, {"n_quantiles": 10**9},
    {"features_extractor_kwargs": {"features_dim": 10**12}},
    {"activation_fn": "<class 'os.system'>"},
)  # fmt: skip


class _Create:
    """Something whose unpickling would create a file."""

    def __init__(self, function: Any, *arguments: Any) -> None:
        self.call = function, arguments

    def __reduce__(self) -> Any:
        return self.call


class _Still(gymnasium.Env[Any, Any]):
    """An environment that is never stepped."""

    def __init__(self, action_space: Any) -> None:
        self.observation_space, self.action_space = _VECTOR, action_space


@functools.cache
def _saved(name: str) -> bytes:
    """Return the bytes of a small untrained model."""
    actions, settings = _MODELS[name]
    kind = getattr(stable_baselines3, name)
    model = kind(
        "MlpPolicy", _Still(actions), seed=0, device="cpu", policy_kwargs=dict(_SMALL), **settings
    )
    stream = io.BytesIO()
    model.save(stream)
    members = _members(stream.getvalue())
    members["data"] = re.sub(rb"0x[0-9a-f]+", b"0x0", members["data"])  # addresses in memory
    return _zipped(members)


def cases(seed: int) -> Iterator[tuple[str, bytes]]:
    """Return what was done to a file, and the file."""
    chance = random.Random(seed)
    ways: list[Callable[[random.Random, str], tuple[str, bytes]]] = [
        _damaged, _other_setting, _other_pickle, _other_weights, _other_description, _statistics,
        _heavy,
    ]  # fmt: skip
    for number in range(CASES):
        name = chance.choice(list(_MODELS))
        what, raw = chance.choice(ways)(chance, name)
        yield f"{seed}.{number} {name}: {what}", raw


def _heavy(chance: random.Random, name: str) -> tuple[str, bytes]:
    """Put a pickle or JSON into a file that takes far more than it looks."""
    held = _members(_saved(name))
    if chance.random() < 0.3:
        what, held["data"] = json_bomb(chance)
        return what, zipped(held)
    what, raw = pickle_bomb(chance)
    data = json.loads(held["data"])
    data["observation_space"][":serialized:"] = base64.b64encode(raw).decode()
    return f"a pickle of {what}", zipped({**held, "data": json.dumps(data).encode()})


def warm() -> None:
    """Make the models that cases and attempts need."""
    for name in _MODELS:
        _saved(name)


def attempt(path: Path) -> None:
    """Use a file without trust, as a policy and as statistics; raise if none of that works."""
    errors = [_use(Sb3File(path), actions) for actions in (_TWO, _PUSHES)]
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "model.zip"
        model.write_bytes(_saved("PPO"))
        for ending in (".npz", ".pkl"):
            statistics = Path(folder) / f"statistics{ending}"
            statistics.write_bytes(path.read_bytes())
            errors.append(_use(Sb3File(model, vecnormalize=statistics), _TWO))
    refusals = [error for error in errors if error is not None]
    if len(refusals) == len(errors):
        raise refusals[0]


def _use(loader: Sb3File, actions: Any) -> RpdError | None:
    """Load a policy and ask it once; return the error of one line that this may end in."""
    facts = Facts(_VECTOR, actions, _ROWS, description="the fuzz")
    rows = np.zeros((_ROWS, 4), np.float32)
    draws = Draws(np.arange(_ROWS, dtype=np.uint64), np.zeros(_ROWS, np.int64))
    starts, zeros = np.ones(_ROWS, dtype=bool), np.zeros(_ROWS)
    try:
        policy = loader.load(facts)
        policy(PolicyInput(rows, {}, starts, None, draws, zeros, zeros))
        policy.describe()
    except RpdError as error:
        line = str(error)
        assert line.isprintable(), f"the message is more than a line: {line!r}"
        assert len(line) <= 600, f"the message is too long: {line!r}"
        return error
    return None


# ----------------------------------------------------------------------- changes


def _members(raw: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(raw)) as zipped:
        return {name: zipped.read(name) for name in zipped.namelist()}


def _zipped(members: dict[str, bytes], method: int = zipfile.ZIP_STORED) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as zipped:
        for name, content in members.items():
            member = zipfile.ZipInfo(name)  # of 1980: the same file at every time
            member.compress_type = method
            zipped.writestr(member, content)
    return stream.getvalue()


def _damaged(chance: random.Random, name: str) -> tuple[str, bytes]:
    """Damage the file itself, or one member, whose checksum is then right again."""
    if chance.random() < 0.5:
        what, raw = flipped(chance, _saved(name))
        return f"file, {what}", raw
    members = _members(_saved(name))
    member = chance.choice(["data", "policy.pth", "_stable_baselines3_version"])
    what, members[member] = flipped(chance, members[member])
    method = chance.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA])
    return f"{member}, {what}", _zipped(members, method)


def _with_settings(name: str, settings: Any) -> bytes:
    return _zipped(_members(_saved(name)) | {"data": json.dumps(settings).encode()})


def _other_setting(chance: random.Random, name: str) -> tuple[str, bytes]:
    settings = json.loads(_members(_saved(name))["data"])
    key = chance.choice(["policy_kwargs", "policy_class", "use_sde", *settings])
    value = chance.choice(_VALUES)
    if key == "policy_kwargs" and chance.random() < 0.7:
        inner = chance.choice(["net_arch", "activation_fn", "n_critics", "log_std_init", "no_such"])
        value = {inner: chance.choice(_VALUES)}
    return f"{key} = {str(value)[:40]!r}", _with_settings(name, settings | {key: value})


def _other_pickle(chance: random.Random, name: str) -> tuple[str, bytes]:
    settings = json.loads(_members(_saved(name))["data"])
    key = chance.choice(_PICKLED)
    raw = base64.b64decode(settings[key][":serialized:"])
    if chance.random() < 0.5:
        what, raw = flipped(chance, raw)
    else:
        what, raw = chance.choice(list(_pickles()))
    settings[key][":serialized:"] = base64.b64encode(raw).decode()
    return f"pickle of {key}, {what}", _with_settings(name, settings)


def _pickles() -> Iterator[tuple[str, bytes]]:
    """Return small pickles that take much memory or time, or want to run something."""
    doubled = b"N\x85" + b"2" + b"\x862" * 60 + b"0"
    yield "far memo", b"\x80\x02Nr\xff\xff\xff\xff."
    yield "long bytes", b"\x80\x04\x8e" + struct.pack("<Q", 2**40) + b"x."
    yield "long bytearray", b"\x80\x05\x96" + struct.pack("<Q", 2**40) + b"x."
    yield "pairs of pairs", b"\x80\x02" + doubled + b"."
    yield "pairs of pairs as a key", b"\x80\x02}" + doubled + b"Ns."
    yield "deep lists", b"\x80\x02" + b"]" * 50_000 + b"a" * 49_999 + b"."
    yield "itself", b"\x80\x02]q\x00h\x00a."
    yield "a call", pickle.dumps(_Create(os.system, f"touch {os.environ.get(_CANARY, 'x')}"), 2)
    yield "a file", pickle.dumps(_Create(open, os.environ.get(_CANARY, "x"), "w"))
    yield "a changed class", b"cnumpy\ndtype\n(N}X\x01\x00\x00\x00aK\x01stb."
    yield (
        "an array of 10^12",
        (
            b"\x80\x02cnumpy.core.multiarray\n_reconstruct\n)R(K\x01\x8a\x05\x00\x10\xa5\xd4\xe8\x85"
            b"cnumpy\ndtype\n(X\x02\x00\x00\x00f4tR\x89C\x01xtb."
        ),
    )
    yield "a space of a number", pickle.dumps(5)
    yield "a text", pickle.dumps("\x1b[2J" * 1000)
    yield "a huge space", pickle.dumps(spaces.MultiBinary(10**9))
    yield "a dictionary of spaces", pickle.dumps(spaces.Dict({"\x1b": _VECTOR}))


def _other_weights(chance: random.Random, name: str) -> tuple[str, bytes]:
    """Change tensors: their numbers, shapes, types and names."""
    members = _members(_saved(name))
    weights = torch.load(io.BytesIO(members["policy.pth"]), weights_only=True)
    key = chance.choice(list(weights))
    changes: dict[str, Any] = {
        "nan": weights[key] * float("nan"),
        "infinite": weights[key] + float("inf"),
        "double": weights[key].double(),
        "whole": weights[key].long(),
        "complex": weights[key].to(torch.complex64),
        "sparse": weights[key].to_sparse(),
        "flat": weights[key].reshape(-1),
        "empty": weights[key][:0],
        "repeated": torch.zeros(1).expand(10**7),
        "large": weights[key] * 1e38,
        "number": 5,
        "code": _Create(open, os.environ.get(_CANARY, "x"), "w"),
        "text": "\x1b[31m",
    }
    what = chance.choice([*changes, "renamed", "gone", "list"])
    if what in changes:
        weights[key] = changes[what]
    elif what == "list":
        weights = list(weights.values())
    else:
        value = weights.pop(key)
        weights |= {"\x1b[31m": value} if what == "renamed" else {}
    stream = io.BytesIO()
    torch.save(weights, stream)  # the old format has addresses in it: never the same twice
    return f"weights {key} {what}", _zipped(members | {"policy.pth": stream.getvalue()})


def _other_description(chance: random.Random, name: str) -> tuple[str, bytes]:
    """Damage the pickle that describes the weights, or the numbers that it refers to."""
    members = _members(_saved(name))
    inner = _members(members["policy.pth"])
    key = chance.choice([k for k in inner if k.endswith("data.pkl") or "/data/" in k])
    if key.endswith("data.pkl") or chance.random() < 0.5:
        key = next(k for k in inner if k.endswith("data.pkl"))
    what, inner[key] = flipped(chance, inner[key])
    return f"{key} of weights, {what}", _zipped(members | {"policy.pth": _zipped(inner)})


def _statistics(chance: random.Random, name: str) -> tuple[str, bytes]:
    """Write statistics with odd numbers and shapes, and damage them or not."""
    odd = (np.nan, np.inf, -1.0, 0.0, 0.5, 1e300)
    held: dict[str, Any] = {
        "mean": np.zeros(4), "var": np.ones(4), "epsilon": 1e-8, "clip_obs": 10.0,
    }  # fmt: skip
    key = chance.choice(list(held))
    held[key] = np.full(chance.choice([(4,), (5,), ()]), chance.choice(odd))
    if chance.random() < 0.5:
        whole = _zipped({f"{name}.npy": _array_file(value) for name, value in held.items()})
    else:
        whole = pickle.dumps(held)
    what, raw = flipped(chance, whole) if chance.random() < 0.7 else ("as they are", whole)
    return f"statistics, {key}, {what}", raw


def _array_file(value: Any) -> bytes:
    stream = io.BytesIO()
    np.save(stream, np.asarray(value))
    return stream.getvalue()
