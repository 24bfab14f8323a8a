"""The one machine for pickles: it calls nothing but what it is handed, and it stays small."""

from __future__ import annotations

import pickle
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rpd_core.untrusted.arrays import ARRAYS
from rpd_core.untrusted.boundary import Budget, Refused
from rpd_core.untrusted.pickles import LARGEST_PICKLE, AllowedNames, Holder, Reference, read_pickle


def read(raw: bytes, operations: int = 200_000, **names: Any) -> Any:
    """Read a pickle of arrays, and of the names that are given."""
    return read_pickle(raw, AllowedNames(ARRAYS | names), Budget(2**20, operations))


# ------------------------------------------------------------------- what may be named


class Thing:
    """Writes a file when it is restored."""

    def __init__(self, target: Path) -> None:
        self.target = target

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.write_text, (self.target, "written")


@pytest.mark.parametrize("protocol", range(6))
def test_a_name_off_the_table_is_refused_and_never_called(tmp_path: Path, protocol: int) -> None:
    with pytest.raises(Refused, match=r"^it wants "):
        read(pickle.dumps([Thing(tmp_path / "written")], protocol))
    assert not (tmp_path / "written").exists()


def test_loaders_differ_only_in_the_table_of_names() -> None:
    raw = b"\x80\x02cmy.module\nThing\n)\x81}X\x01\x00\x00\x00aK\x07sb."
    with pytest.raises(Refused, match=r"^it wants my\.module\.Thing$"):
        read(raw)
    found = read(raw, **{"my.module.Thing": Holder.of("thing")})
    assert (found.kind, found.state) == ("thing", {"a": 7})


def test_what_stands_for_other_names_is_for_the_loader_to_say() -> None:
    names = AllowedNames({}, otherwise=lambda reference: reference)
    assert read_pickle(b"cos\nsystem\n.", names, Budget(100)) == Reference("os", "system")
    with pytest.raises(Refused, match=r"^it wants os\.system$"):
        read_pickle(b"cos\nsystem\n(X\x04\x00\x00\x00truetR.", names, Budget(100))


def test_objects_outside_the_pickle_are_made_by_the_loader_alone() -> None:
    raw = b"\x80\x02X\x01\x00\x00\x00kQ."
    with pytest.raises(Refused, match="from outside the file"):
        read(raw)
    assert read_pickle(raw, AllowedNames({}, outside=lambda key: key * 3), Budget(100)) == "kkk"


def test_names_in_errors_cannot_write_to_the_terminal() -> None:
    with pytest.raises(Refused) as caught:
        read(b"\x80\x04\x8c\x05a\nb\x1b[\x8c\x01c\x93.")
    assert str(caught.value) == "it wants a?b?[.c"


def test_a_pickle_cannot_alter_what_stands_in_the_table() -> None:
    box = {"gym.spaces.box.Box": Holder.of("Box")}
    for name in (b"cnumpy\ndtype\n", b"cgym.spaces.box\nBox\n", b"cnumpy\nndarray\n"):
        with pytest.raises(Refused):
            read(name + b"(N}S'_inner'\nI1\nstb.", **box)  # BUILD with a state for its slots


# ----------------------------------------------------------------------- what it takes


def shared_lists(depth: int) -> bytes:
    """Write a pair of the same pair of the same pair, `depth` times."""
    return b"\x80\x02N\x852" + b"\x862" * depth + b"0."


SMALL = {
    "a buffer of 16 GB": (b"\x80\x05\x96" + struct.pack("<Q", 2**34) + b"x.", "cannot be read"),
    "bytes of 16 GB": (b"\x80\x04\x8e" + struct.pack("<Q", 2**34) + b"x.", "cannot be read"),
    "deep pairs": (shared_lists(140), "too deeply"),
    "pairs of the same pair": (shared_lists(40), "parts"),
    "a nested key": (b"\x80\x02}" + shared_lists(40)[2:-1] + b"Ns.", "as a key"),
    "a list inside itself": (b"\x80\x02]" + b"q\x00h\x00" * 3 + b"aaa.", "too deeply"),
    "many steps": (b"\x80\x02" + b"N0" * 150_000 + b"N.", "more steps"),
    "a long integer": (
        b"\x80\x02\x8b" + struct.pack("<i", 4000) + b"\x7f" * 4000 + b".",
        "long integer",
    ),
    "a text that is none": (
        b"c_codecs\nencode\n(" + shared_lists(40)[2:-1] + b"X\x06\x00\x00\x00latin1tR.",
        "as text",
    ),
    "a type that is none": (
        b"cnumpy\ndtype\n(" + shared_lists(40)[2:-1] + b"tR.",
        "a type that is a tuple",
    ),
    "a set": (b"\x80\x04\x8f.", "the operation EMPTY_SET"),
    "a value that is not there": (b"\x80\x02j\xff\xff\xff\xff.", "before it is made"),
    "marks alone": (b"\x80\x02" + b"(" * 1000 + b".", "middle of a value"),
    "nothing": (b"\x80\x02.", "middle of a value"),
    "too few arguments": (b"cnumpy\ndtype\n)R.", "with the wrong arguments"),
    "more than the largest": (b"X" * (LARGEST_PICKLE + 1), "a pickle of 33,554,433 bytes"),
}


@pytest.mark.parametrize("case", SMALL)
def test_a_few_bytes_take_little_memory_and_time(case: str) -> None:
    raw, words = SMALL[case]
    with pytest.raises(Refused, match=words):
        read(raw)


@pytest.mark.parametrize("raw", [b"\x80\x02Nr\xff\xff\xff\x7f.", b"\x80\x02Np2147483646\n."])
def test_a_far_place_in_the_memo_is_as_good_as_a_near_one(raw: bytes) -> None:
    assert read(raw) is None


def test_all_pickles_of_a_file_draw_from_one_budget() -> None:
    budget = Budget(100, operations=7)
    for left in (4, 1):
        assert read_pickle(b"\x80\x02N.", AllowedNames({}), budget) is None
        assert budget.operations == left
    with pytest.raises(Refused, match="more steps to read than any policy needs"):
        read_pickle(b"\x80\x02N.", AllowedNames({}), budget)


# ------------------------------------------------------------------------------ arrays


def test_numbers_come_out_of_a_pickle_as_they_went_in() -> None:
    for protocol in (2, 3, 4, 5):
        values = {
            "fortran": np.asfortranarray(np.arange(6, dtype=">f4").reshape(2, 3)),
            "flags": np.array([True, False]),
            "whole": np.int64(-7),
            "real": np.float32(0.1),
        }
        found = read(pickle.dumps(values, protocol=protocol))
        np.testing.assert_array_equal(found["fortran"], values["fortran"])
        assert found["flags"].tolist() == [True, False]
        assert (found["whole"], found["real"]) == (values["whole"], values["real"])


def test_an_array_of_objects_is_refused() -> None:
    with pytest.raises(Refused, match="only numbers"):
        read(pickle.dumps(np.array([{}], dtype=object)))
    with pytest.raises(Refused, match="only numbers"):
        read(pickle.dumps(np.zeros(1, dtype=[("a", "O")])))


def test_an_array_whose_size_lies_about_its_content_is_refused() -> None:
    raw = pickle.dumps(np.arange(4, dtype=np.int64), protocol=2)
    assert raw.count(b"K\x04\x85") == 1  # the shape (4,)
    with pytest.raises(Refused, match="size of an array"):
        read(raw.replace(b"K\x04\x85", b"K\x7f\x85"))


def test_an_array_made_of_a_number_of_bytes_is_refused() -> None:
    values = np.arange(4, dtype=np.int64)
    raw, content = pickle.dumps(values, protocol=3), b"C " + values.tobytes()
    assert raw.count(content) == 1
    with pytest.raises(Refused, match="whose content is a int"):
        read(raw.replace(content, b"\x8a\x06\x00\x00\x00\x00\x00\x04"))
