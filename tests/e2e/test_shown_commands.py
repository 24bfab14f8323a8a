"""Every command that the documentation shows is executed, or checked where it takes too long."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from commands import QUICK, invoke
from shown import PAGES, ROOT, SHELL, Block, all_commands, blocks, name_of

from rpd_core.cli import options
from rpd_core.cli.app import all_commands as program_commands
from rpd_core.plugin.hookspecs import KINDS
from rpd_core.plugin.registry import installed

Shown = tuple[Block, str]
COMMANDS = program_commands()
REASONS = {"long", "slow", "yours"}
SPECS = {
    "env": "environment",
    "policy": "policy",
    "abstraction": "abstraction",
    "default_action": "default-action",
    "measure": "measure",
    "measures": "measure",
    "list_by": "measure",
    "condition": "condition",
    "executor": "executor",
}
"""Options that take a spec, by name, with the kind of component."""
SMALL = {
    "--episodes": "150",
    "--test-episodes": "4",
    "--workers": "1",
    "--states": "1",
    "--seeds": "0,1",
    **dict(zip(QUICK[::2], QUICK[1::2], strict=True)),
}
"""What is put behind a command to make it quick; the last value of an option counts."""


def options_of(command: str) -> dict[str, Any]:
    """Return the options of a command of rpd by flag."""
    return {flag: p for p in COMMANDS[command].params for flag in p.opts}


def values_of(words: list[str]) -> tuple[list[tuple[Any, str]], list[str]]:
    """Return (option, value) for each option of a command, and its arguments; check both."""
    command, *rest = words
    options, given, arguments = options_of(command), [], []
    while rest:
        word, *rest = rest
        if not word.startswith("-"):
            arguments.append(word)
            continue
        assert word in options, f"rpd {command} has no option {word}"
        takes_value = not options[word].is_flag
        given.append((options[word], rest[0] if takes_value else ""))
        rest = rest[1:] if takes_value else rest
    return given, arguments


def new_names(page: Path) -> set[str]:
    """Return components that a page makes, or names as the reader's."""
    text = page.read_text("utf-8")
    made = re.findall(r"rpd new-plugin [\w-]+ (\w+)", text)
    return {*made, *re.findall(r"rpd-\w+-(\w+)`", text), "mymeasure"}


def check_spec(kind: str, text: str, own: set[str]) -> None:
    """Check that a spec names a component that there is, with parameters that it has."""
    registry = installed()
    name = re.split(r"[:<>=]", text)[0]
    if kind == "condition" and re.match(r"(return|length)\W", text):
        return
    if name not in own and not needs_an_extra(kind, name):
        assert registry.parse(kind, text), text


def needs_an_extra(kind: str, name: str) -> bool:
    """Return whether a component is there but cannot be used, because an extra is missing."""
    named = [one for one in installed().of_kind(kind) if one.component.name == name]
    return any(one.status.startswith("needs ") for one in named)


def check_command(block: Block, words: list[str]) -> None:
    """Check options, number of arguments and components of a command of rpd."""
    if words[0] in new_names(block.page):
        return  # the page is about how to write it
    assert words[0] in COMMANDS, f"rpd has no command {words[0]}"
    given, arguments = values_of(words)
    takes = [p for p in COMMANDS[words[0]].params if p.param_type_name == "argument"]
    assert len(arguments) >= sum(bool(p.required) for p in takes), words
    assert len(arguments) <= len(takes) or any(p.nargs < 0 for p in takes), words
    for option, value in given:
        if option.name in SPECS:
            check_spec(SPECS[option.name], value, new_names(block.page))
    if words[0] in ("describe", "new-plugin"):
        assert arguments[0] in KINDS


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_commands_are_marked_as_such(page):
    """In a block without a language, or of text, they would be neither coloured nor checked."""
    for block in blocks(page):
        lines = block.body.splitlines()
        if block.language in ("", "text"):
            assert [line for line in lines if re.match(r"(\$ )?rpd [\w-]+ ", line)] == []
        if block.language in SHELL:
            assert block.mark in {"", *REASONS}
            assert (block.mark == "") == (block.why == ""), f"say why: {block.body}"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_output_is_compared_or_says_which_commit_printed_it(page):
    """So that no page shows what no program prints any more without saying so."""
    for block in blocks(page):
        if block.language == "text":
            assert block.mark in {"output", "from", "form"}, f"mark it: {block.body}"
        if block.mark == "from":
            assert re.fullmatch(r"[0-9a-f]{7,40}", block.why), f"name a commit: {block.body}"
        if block.language == "console":
            lines = block.body.replace("\\\n", " ").splitlines()
            assert [line for line in lines if not line.startswith("$ ")] == []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_option_and_component_in_a_shown_command_is_there(page):
    for block in blocks(page):
        for words in block.commands:
            if words[0] == "rpd" and words[1:] != ["--version"]:
                check_command(block, words[1:])


def test_what_other_commands_name_is_there():
    """Files, modules, folders of tests and extras, in commands of pip, python and pytest."""
    extras = (ROOT / "pyproject.toml").read_text("utf-8")
    for block, words in all_commands():
        for word in words[1:]:
            path = word.partition("::")[0]
            if re.match(r"(\./)?(tests|docs|plugins)/", path):
                assert (ROOT / path).exists(), f"{name_of(block.page)}: {word}"
            for extra in re.findall(r"\[([\w,]+)\]", word if words[0] == "pip" else ""):
                assert [e for e in extra.split(",") if f"\n{e} = [" not in extras] == []


def quick(words: list[str]) -> list[str]:
    """Return a command with its run in this directory and small numbers behind it."""
    command, *rest = words
    options = options_of(command)
    rest = [re.sub(r"runs/(<name>|\.\.\.)|^RUN$", "runs/small", word) for word in rest]
    plays = "--env" in rest or command in ("run", "bench")
    for flag, value in SMALL.items():
        meant = (flag == "--episodes" and command == "suite" and not plays) or (
            flag == "--workers" and command == "draw" and "pictures" not in rest
        )
        if flag in options and not meant:
            rest += [flag, value]
    named = ["--analysis", "small"] if command == "run" else []  # not after all these options
    return [command, *rest, *named]


def make_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sweep over few points in few lanes, for which there are no options, and in this process.

    Policies are called with all lanes however few episodes there are, and a worker process for each
    command would import torch each time.
    """
    given = options.given

    def fewer(settings: dict[str, Any]) -> dict[str, Any]:
        sweep = {"shares": (0.0, 0.5, 1.0), "random_rankings": 1}
        suite = {"lanes": 16}
        return {
            **given(settings),
            **(sweep if "test_episodes" in settings else {}),
            **(suite if "mutation_rate" in settings and settings["env"] else {}),
        }

    monkeypatch.setattr(options, "given", fewer)
    monkeypatch.setattr("rpd_core.cli.work.ISOLATE", None)


def pages_with(mark: str) -> list[Path]:
    """Return the pages that have a block of commands with this mark."""
    return [p for p in PAGES if any(b.commands and b.mark == mark for b in blocks(p))]


def play_page(page: Path, folder: Path, marks: set[str], small: bool = True) -> Iterator[Shown]:
    """Carry out the commands of a page in order; yield each block with what was printed last."""
    printed = ""
    for block in blocks(page):
        if block.mark == "file":
            (folder / block.why).write_text(block.body, "utf-8")
        for words in block.commands if block.mark in marks else []:
            if block.mark == "long" and words[0] != "rpd":
                continue  # installs something
            assert words[0] == "rpd", f"mark it as long: {words}"
            called = quick(words[1:]) if small else words[1:]
            result = invoke(called, columns=100)
            assert result.exit_code == 0, (words, result.output)
            printed = result.stdout
        yield block, printed


def skip_without_its_extras(page: Path, marks: set[str]) -> None:
    """Skip a page whose commands name an executor that needs an extra which is missing."""
    for block in blocks(page):
        for words in block.commands if block.mark in marks else []:
            for flag, value in pairwise(words):
                name = value.partition(":")[0]
                if flag == "--executor" and needs_an_extra("executor", name):
                    pytest.skip(f"needs the extra {name}")


def play_small(page: Path, finished: Any, folder: Path, marks: set[str]) -> None:
    """Carry out the commands of a page with small numbers, where a finished run lies."""
    skip_without_its_extras(page, marks)
    for name in ("small", "cartpole"):  # what pages call a run that they do not make
        shutil.copytree(finished.path, folder / "runs" / name)
    assert list(play_page(page, folder, marks))


@pytest.mark.parametrize("page", pages_with(""), ids=name_of)
def test_the_commands_of_a_page_work(page, finished, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    make_small(monkeypatch)
    play_small(page, finished, tmp_path, {""})


@pytest.mark.slow
@pytest.mark.parametrize("page", pages_with("slow"), ids=name_of)
def test_the_slower_commands_of_a_page_work(page, finished, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    make_small(monkeypatch)
    play_small(page, finished, tmp_path, {"", "slow"})


def expected_lines(text: str) -> list[str]:
    """Return the lines of an output that are shown."""
    return [line.rstrip() for line in text.splitlines() if line.strip() not in ("", "...")]


@pytest.mark.slow
@pytest.mark.parametrize(
    "page", [p for p in PAGES if any(b.mark == "output" for b in blocks(p))], ids=name_of
)
def test_the_output_of_a_page_is_what_the_program_prints(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for block, printed in play_page(page, tmp_path, {"", "long"}, small=False):
        if block.mark == "output":
            lines = [line.rstrip() for line in printed.splitlines()]
            assert [line for line in expected_lines(block.body) if line not in lines] == []
