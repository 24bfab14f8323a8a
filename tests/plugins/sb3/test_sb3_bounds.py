"""Sizes that a file claims are checked before memory is taken or time is spent."""

from __future__ import annotations

import io
import pickle
import resource
import struct
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from gymnasium import spaces
from sb3_toys import (
    VECTOR,
    entry,
    facts_of,
    rewritten,
    saved,
    settings_of,
    train,
    weights_bytes,
    weights_of,
)

from rpd_core.errors import SpecError
from rpd_core.untrusted.boundary import Budget
from rpd_sb3.loader import Sb3File

TWO = spaces.Discrete(2)
FACTS = facts_of(VECTOR, TWO)
GROWTH = 2**29
"""Bytes that a test may take beyond what the process has."""


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved(train("PPO", "MlpPolicy", VECTOR, TWO), tmp_path_factory.mktemp("good"))


@pytest.fixture(autouse=True)
def _little_memory() -> Iterator[None]:
    """Limit the memory, so that asking for much fails at once instead of filling the machine."""
    if not Path("/proc/self/statm").exists():
        yield
        return
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    before = resource.getrlimit(resource.RLIMIT_AS)
    room = pages * resource.getpagesize() + GROWTH
    resource.setrlimit(resource.RLIMIT_AS, (room, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)


def complaint(loader: Sb3File) -> str:
    with pytest.raises(SpecError) as caught:
        loader.load(FACTS)
    line = str(caught.value)
    assert "MemoryError" not in line
    assert "\n" not in line
    return line


# ------------------------------------------------------------------------ pickles


def test_the_space_in_a_file_is_read_within_the_same_bounds(good: Path) -> None:
    path = rewritten(good, {"observation_space": entry(b"\x80\x02N\x852" + b"\x862" * 40 + b"0.")})
    assert "observation_space in it was not read: it has more than" in complaint(Sb3File(path))


# --------------------------------------------------------------------------- zips


def forged(path: Path, member: str, content: bytes, method: int, declared: int) -> Path:
    """Copy a saved model; the table of contents lies about how a member is packed and how large."""
    target = path.with_name("forged.zip")
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(target, "w") as new:
        for name in old.namelist():
            new.writestr(name, content if name == member else old.read(name))
    raw = bytearray(target.read_bytes())
    start = next(
        place
        for place in places(raw, b"PK\x01\x02")
        if raw[place + 46 : place + 46 + len(member)] == member.encode()
    )
    raw[start + 10 : start + 12] = struct.pack("<H", method)
    raw[start + 24 : start + 28] = struct.pack("<I", declared)
    target.write_bytes(raw)
    return target


def places(raw: bytes | bytearray, mark: bytes) -> Iterator[int]:
    """Return where a mark stands."""
    place = raw.find(mark)
    while place >= 0:
        yield place
        place = raw.find(mark, place + 1)


def packed_zeros(megabytes: int) -> bytes:
    """Return what unpacks to so many megabytes of zeros."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    block = packer.compress(bytes(2**20)) + packer.flush(zlib.Z_FULL_FLUSH)
    return block * megabytes + packer.flush()


@pytest.mark.parametrize("member", ["data", "_stable_baselines3_version", "policy.pth"])
def test_a_member_that_says_it_is_too_large_is_refused(good: Path, member: str) -> None:
    line = complaint(Sb3File(forged(good, member, packed_zeros(1), 8, 2**31)))
    assert "forged.zip" in line
    assert "refused" in line


@pytest.mark.parametrize("member", ["data", "policy.pth"])
def test_a_member_that_is_larger_than_it_says_is_not_unpacked_as_a_whole(
    good: Path, member: str
) -> None:
    line = complaint(Sb3File(forged(good, member, packed_zeros(900), 8, 5000)))
    assert "forged.zip is damaged (BadZipFile: Bad CRC-32" in line


@pytest.mark.parametrize("method", [zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2])
def test_ways_of_packing_that_cannot_be_bounded_are_refused(good: Path, method: int) -> None:
    line = complaint(Sb3File(forged(good, "data", b"{}", method, 2)))
    assert "'data' in it is packed in a way that is not read" in line


def test_a_table_of_contents_of_millions_of_members_is_refused(tmp_path: Path) -> None:
    one = io.BytesIO()
    with zipfile.ZipFile(one, "w") as zipped:
        zipped.writestr("a", b"")
    whole = one.getvalue()
    start, end = whole.index(b"PK\x01\x02"), whole.index(b"PK\x05\x06")
    table = whole[start:end] * 200_000
    tail = bytearray(whole[end:])
    tail[12:16] = struct.pack("<I", len(table))
    path = tmp_path / "many.zip"
    path.write_bytes(whole[:start] + table + tail)
    assert "table of contents is too long" in complaint(Sb3File(path))


def test_a_device_is_not_read_for_ever() -> None:
    for place in ("zero", "random"):
        line = complaint(Sb3File(Path("/dev") / place))
        assert "is a device or a pipe, not a regular file" in line


def test_statistics_from_a_device_are_not_read_for_ever(good: Path) -> None:
    line = complaint(Sb3File(good, vecnormalize=Path("/dev/zero")))
    assert "is a device or a pipe" in line


# ------------------------------------------------------------------ settings, arrays


@pytest.mark.parametrize(
    "arch", [[1] * 300_000, [30_000, 30_000], [10**9], {"pi": [10**7, 10**7], "vf": []}]
)
def test_a_network_larger_than_its_weights_is_refused_before_it_is_made(
    good: Path, arch: Any
) -> None:
    path = rewritten(good, {"policy_kwargs": {"net_arch": arch}})
    assert "far larger than the stored weights" in complaint(Sb3File(path))


def test_an_extractor_larger_than_its_weights_is_refused_before_it_is_made(good: Path) -> None:
    image = spaces.Box(0, 255, (3, 60, 60), np.uint8)
    parts = {
        f"features_extractor.{part}.{kind}": torch.zeros(1)
        for part in ("cnn.0", "cnn.2", "cnn.4", "linear.0")
        for kind in ("weight", "bias")
    }
    parts["features_extractor.linear.0.bias"] = torch.zeros(100_000)
    path = rewritten(
        good,
        {
            "observation_space": entry(pickle.dumps(image)),
            "policy_kwargs": entry(b"", features_extractor_class="<class 'a.Net'>"),
        },
        policy_pth=weights_bytes(parts),
    )
    assert "its feature extractor a.Net is not in the file" in complaint(Sb3File(path))


def test_settings_nested_without_end_are_refused(good: Path) -> None:
    with zipfile.ZipFile(good) as old, zipfile.ZipFile(good.with_name("deep.zip"), "w") as new:
        new.writestr("data", b"[" * 200_000)
        new.writestr("policy.pth", old.read("policy.pth"))
    assert "deep.zip: its JSON is nested too deeply" in complaint(
        Sb3File(good.with_name("deep.zip"))
    )
    assert settings_of(good)


@pytest.mark.parametrize("shape", ["(1000000000000,)", "(4000000000,)", "(-4,)", "(4, 0)"])
def test_statistics_whose_shape_is_not_that_of_their_content_are_refused(
    good: Path, tmp_path: Path, shape: str
) -> None:
    raw = io.BytesIO()
    np.save(raw, np.zeros(4))
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    forged = raw.getvalue()[:8] + struct.pack("<H", 118) + header.encode() + bytes(32)
    with zipfile.ZipFile(tmp_path / "stats.npz", "w") as zipped:
        zipped.writestr("mean.npy", forged)
        zipped.writestr("var.npy", forged)
    line = complaint(Sb3File(good, vecnormalize=tmp_path / "stats.npz"))
    assert "stats.npz: the array 'mean' in it is of shape" in line


def test_statistics_that_unpack_to_much_are_refused(good: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "stats.npz", "w", zipfile.ZIP_DEFLATED) as zipped:
        zipped.writestr("mean.npy", bytes(70 * 2**20))
    line = complaint(Sb3File(good, vecnormalize=tmp_path / "stats.npz"))
    assert "'mean.npy' in it unpacks to 73,400,320 bytes" in line


# ------------------------------------------------------------------------ weights


def with_weights(good: Path, change: Any) -> Path:
    """Copy a model, its inner zip of weights changed member by member."""
    raw = io.BytesIO(weights_bytes(weights_of(good)))
    made = io.BytesIO()
    with zipfile.ZipFile(raw) as old, zipfile.ZipFile(made, "w") as new:
        for name in old.namelist():
            new.writestr(name, change(name, old.read(name)))
    return rewritten(good, policy_pth=made.getvalue())


def test_a_layer_of_sixteen_bytes_is_refused(good: Path) -> None:
    path = with_weights(good, lambda name, raw: raw[:16] if "/data/" in name else raw)
    line = complaint(Sb3File(path))
    assert "need 1,024 bytes, but 16 are stored: it is damaged" in line
    assert "'mlp_extractor.policy_net.0.weight'" in line


def test_a_tensor_that_reaches_beyond_its_numbers_is_refused(good: Path) -> None:
    assert weights_of(good)["mlp_extractor.policy_net.0.weight"].shape == (64, 4)

    def larger(name: str, raw: bytes) -> bytes:  # (64, 4) becomes (65, 4)
        return raw.replace(b"K@K\x04\x86", b"KAK\x04\x86", 1) if "data.pkl" in name else raw

    line = complaint(Sb3File(with_weights(good, larger)))
    assert "are of size (65, 4), but only 256 numbers are stored" in line

    def stretched(name: str, raw: bytes) -> bytes:  # strides (4, 1) become (5, 1)
        return raw.replace(b"K\x04K\x01\x86", b"K\x05K\x01\x86", 1) if "data.pkl" in name else raw

    assert "only 256 numbers are stored" in complaint(Sb3File(with_weights(good, stretched)))


def test_a_tensor_that_repeats_its_numbers_is_refused(good: Path) -> None:
    weights = weights_of(good) | {"more": torch.zeros(1).expand(10**6)}
    path = rewritten(good, policy_pth=weights_bytes(weights))
    assert "'more' in it are of size (1000000,), but only 1 numbers" in complaint(Sb3File(path))


@pytest.mark.parametrize("cut", [1, 100, 5000])
def test_weights_of_the_old_format_that_are_cut_short_are_refused(good: Path, cut: int) -> None:
    raw = io.BytesIO()
    torch.save(weights_of(good), raw, _use_new_zipfile_serialization=False)
    whole = raw.getvalue()
    Sb3File(rewritten(good, policy_pth=whole)).load(FACTS)
    line = complaint(Sb3File(rewritten(good, policy_pth=whole[:-cut])))
    assert "damaged" in line


def test_weights_of_every_type_come_out_as_they_went_in(good: Path) -> None:
    from rpd_sb3.weights import read_weights

    table = torch.arange(12).reshape(3, 4)
    kinds = (torch.float16, torch.bfloat16, torch.float64, torch.int64, torch.uint8, torch.bool)
    weights = {str(kind): table.to(kind) for kind in kinds}
    weights |= {"turned": table.float().T, "part": table.float()[1:, ::2], "one": torch.tensor(3.0)}
    weights |= {"none": torch.zeros(0, 4), "parameter": torch.nn.Parameter(table.float())}
    for modern in (True, False):
        raw = io.BytesIO()
        torch.save(weights, raw, _use_new_zipfile_serialization=modern)
        found = read_weights(raw.getvalue(), Budget(2**20))
        assert list(found) == list(weights)
        for name, value in weights.items():
            assert found[name].dtype == value.dtype
            assert torch.equal(found[name], value)
