"""Policy files find their loader by content, and refusals name the loader that takes them."""

from __future__ import annotations

import logging
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch

from rpd_core.config.objects import advised, look_into, spelled_out, takers
from rpd_core.config.resolve import choose, say_which
from rpd_core.errors import FitError, SpecError
from rpd_core.plugin.discovery import Plugin
from rpd_core.plugin.protocols import Component, Contents
from rpd_core.plugin.registry import Registry, installed


def scripted(path: Path) -> Path:
    torch.jit.script(torch.nn.Linear(4, 2)).save(str(path))
    return path


def test_a_bare_path_finds_its_loader_by_content_not_by_ending(tmp_path: Path) -> None:
    path = scripted(tmp_path / "model.zip")
    chosen = choose(installed(), "policy", f"{path},output=q")
    assert chosen.text == f"torchscript:{path},output=q"
    assert choose(installed(), "policy", path).text == f"torchscript:{path}"


def test_a_path_with_a_comma_is_quoted(tmp_path: Path) -> None:
    path = scripted(tmp_path / "a,b.pt")
    assert choose(installed(), "policy", path).recipe.path == path


def test_the_loader_of_a_bare_path_is_said(tmp_path: Path, caplog: Any) -> None:
    path = scripted(tmp_path / "model.pt")
    with caplog.at_level(logging.WARNING, "rpd"):
        say_which(installed(), str(path), f"torchscript:{path}")
        say_which(installed(), f"torchscript:{path}", f"torchscript:{path}")
    assert [record.getMessage() for record in caplog.records] == [
        f"{path} is read by the policy loader 'torchscript'"
    ]


def test_a_name_wins_over_a_file_of_that_name(tmp_path: Path, monkeypatch: Any) -> None:
    scripted(tmp_path / "random")
    monkeypatch.chdir(tmp_path)
    assert spelled_out(installed(), "policy", "random") == "random"


def test_a_file_that_nobody_knows_stays_what_was_typed(tmp_path: Path) -> None:
    path = tmp_path / "notes.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("notes.txt", "nothing")
    assert takers(installed(), path) == []
    with pytest.raises(SpecError, match=rf"Did you mean 'sb3:{path}'"):
        choose(installed(), "policy", str(path))


def test_a_file_that_nobody_knows_by_name_or_content_is_said_to_be_one(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("nothing")
    with pytest.raises(SpecError, match=rf"recognises this file; name one .*NAME:{path}$"):
        choose(installed(), "policy", str(path))


def test_a_loader_that_fails_names_the_one_that_takes_the_file(tmp_path: Path) -> None:
    path = scripted(tmp_path / "model.zip")
    recipe = choose(installed(), "policy", f"sb3:{path}").recipe
    with pytest.raises(SpecError) as caught, advised(recipe):
        recipe.describe()
    assert str(caught.value) == (
        "'model.zip' is not a file for 'sb3': by its content it is for 'torchscript' (TorchScript "
        f"module (.pt), feed-forward or recurrent). Write torchscript:{path}"
    )


def test_a_loader_that_fails_on_its_own_kind_of_file_keeps_its_words(tmp_path: Path) -> None:
    recipe = choose(installed(), "policy", f"torchscript:{scripted(tmp_path / 'm.pt')}").recipe
    with pytest.raises(FitError, match=r"^it does not fit$"), advised(recipe):
        raise FitError("it does not fit")


@dataclass(frozen=True)
class Star:
    """A stranger's loader."""

    path: Path

    def load(self, facts: Any) -> Any: ...


def is_star(contents: Contents) -> bool:
    return contents.start.startswith(b"STAR")


def strangers(*names: str) -> Registry:
    here = f"{__name__}:Star"
    offered = [Component(n, here, "A star", recognises=f"{__name__}:is_star") for n in names]
    return Registry([Plugin("sky", "sky", "1", tuple(("policy", one) for one in offered))])


def test_a_strangers_loader_is_found_in_the_same_way(tmp_path: Path) -> None:
    path = tmp_path / "a.star"
    path.write_bytes(b"STAR and more")
    assert spelled_out(strangers("star"), "policy", str(path)) == f"star:{path}"


def test_of_two_loaders_neither_is_taken(tmp_path: Path) -> None:
    path = tmp_path / "a.star"
    path.write_bytes(b"STAR")
    with pytest.raises(SpecError) as caught:
        spelled_out(strangers("star", "sun"), "policy", str(path))
    assert str(caught.value) == (
        f"'a.star' is a file for several loaders: write star:{path} or sun:{path}"
    )


def test_members_are_read_within_bounds(tmp_path: Path) -> None:
    path = tmp_path / "big.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("large", bytes(2**24 + 1))
        archive.writestr("small", b"seen")
    contents = look_into(path)
    assert contents.members == ("large", "small")
    assert (contents.read("small"), contents.read("large"), contents.read("none")) == (
        b"seen", b"", b"",
    )  # fmt: skip


def test_a_damaged_zip_is_nobodys(tmp_path: Path) -> None:
    path = tmp_path / "cut.zip"
    path.write_bytes(scripted(tmp_path / "whole.pt").read_bytes()[:500])
    assert look_into(path).members == ()
    assert takers(installed(), path) == []
