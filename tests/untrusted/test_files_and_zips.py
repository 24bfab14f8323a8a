"""Files and zips are read within one budget, and never for ever."""

from __future__ import annotations

import io
import warnings
import zipfile
from pathlib import Path

import pytest

from rpd_core.errors import SpecError
from rpd_core.untrusted.boundary import Budget, Flaw, boundary, file_name, quoted
from rpd_core.untrusted.files import read_bounded
from rpd_core.untrusted.zips import BoundedZip


def zipped(**members: bytes) -> io.BytesIO:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return stream


def test_members_draw_from_the_budget_that_the_file_is_opened_with() -> None:
    budget = Budget(1000)
    archive = BoundedZip(zipped(a=bytes(600), b=bytes(300), c=bytes(200)), budget)
    assert archive.size() == 1100
    assert archive.size("a", "b") == 900
    assert archive.read("a") == bytes(600)
    assert archive.read("b", 300) == bytes(300)
    assert budget.bytes == 100
    with pytest.raises(Flaw, match=r"^'c' in it unpacks to 200 bytes, more than 100: refused$"):
        archive.read("c")


def test_a_member_larger_than_the_caller_wants_is_not_unpacked() -> None:
    budget = Budget(1000)
    with pytest.raises(Flaw, match="'a' in it unpacks to 600 bytes, more than 50: refused"):
        BoundedZip(zipped(a=bytes(600)), budget).read("a", 50)
    assert budget.bytes == 1000


def test_two_members_of_one_name_are_refused() -> None:
    stream = zipped(a=b"first")
    with warnings.catch_warnings(action="ignore"), zipfile.ZipFile(stream, "a") as archive:
        archive.writestr("a", b"second")
    with pytest.raises(Flaw, match="two members of one name"):
        BoundedZip(stream, Budget(1000))


def test_a_file_is_read_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes(bytes(100))
    budget = Budget(150)
    assert read_bounded(path, budget, "give another") == bytes(100)
    assert budget.bytes == 50
    with pytest.raises(SpecError, match=r"^a\.bin has more than 50 bytes: give another$"):
        read_bounded(path, budget, "give another")


def test_only_regular_files_are_read(tmp_path: Path) -> None:
    for place, words in (
        (tmp_path / "gone", "does not exist"),
        (tmp_path, "is a directory"),
        (Path("/dev/zero"), "is a device or a pipe, not a regular file"),
    ):
        with pytest.raises(SpecError, match=rf"{words}: give a file$"):
            read_bounded(place, Budget(10), "give a file")


def test_the_boundary_turns_any_error_into_one_line() -> None:
    with pytest.raises(SpecError) as caught, boundary(Path("x/a.zip"), "save it again"):
        raise KeyError("a\nb")
    assert str(caught.value) == "a.zip cannot be used (KeyError: 'a\\nb'): save it again"
    with pytest.raises(SpecError) as caught, boundary(Path("x/a.zip"), "save it again"):
        raise IsADirectoryError(21, "Is a directory")
    assert str(caught.value) == "a.zip cannot be read (Is a directory): check the path"


def test_the_boundary_does_not_call_a_lack_of_memory_damage() -> None:
    with pytest.raises(SpecError) as caught, boundary(Path("x/a.zip"), "copy it again"):
        raise MemoryError("no room for 3 TiB")
    assert str(caught.value) == (
        "a.zip cannot be used: it, or an option of it, asks for more memory than there is "
        "(no room for 3 TiB)"
    )


def test_names_of_files_cannot_speak_to_the_terminal() -> None:
    assert file_name(Path("a\x1b[31m.zip")) == "a?[31m.zip"
    assert quoted("k\n" + "y" * 900) == repr("k?" + "y" * 60 + " ... " + "y" * 33)
