"""Files are opened for reading in one place, which waits for no pipe and reads no device."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("rpd_core", "plugins")
OURS = {
    "rpd_core/untrusted/files.py": "the one place",
    "rpd_core/cli/streams.py": "/dev/null in place of standard streams that are closed",
    "rpd_core/execute/worker.py": "/proc, for what environments have started",
    "rpd_core/plugin/importing.py": "sources of what is installed",
    "rpd_core/plugin/hub.py": "the cache of the hub, which is its user's own",
    "rpd_core/store/files.py": "writes, and makes the lock",
    "plugins/rpd_compare/page.py": "a template of its own",
    "plugins/rpd_gym/cartpole_network.py": "a network that ships with it",
    "plugins/rpd_gym/registering.py": "sources of what is installed",
    "plugins/rpd_minigrid/network.py": "a network that ships with it",
    "plugins/rpd_pictures/files.py": "a film that was just made",
    "plugins/rpd_report/markup.py": "a template of its own",
    "plugins/rpd_studies/pages.py": "a template of its own",
    "plugins/rpd_studies/paper.py": "a table of its own",
    "plugins/rpd_torchscript/trusted.py": "files whose author is trusted",
    "plugins/rpd_kit": "templates of its own, and what it has just written",
}
"""What opens files besides, and which ones."""
READING = {"read_text", "read_bytes", "fdopen", "memmap", "fromfile", "loadtxt"}
OF_FILES = {"mode", "encoding", "errors", "newline", "buffering"}
BY_PATH = {"np.load", "os.open", "io.open", "torch.load", "json.load", "pickle.load"}


def opens(call: ast.Call) -> bool:
    """Return whether a call reads a file that it opens itself, as far as its form tells."""
    name = ast.unparse(call.func)
    if isinstance(call.func, ast.Name):
        return name == "open"
    if name in BY_PATH or not isinstance(call.func, ast.Attribute):
        return name in BY_PATH
    if call.func.attr != "open":
        return call.func.attr in READING
    worded = bool(call.args) and isinstance(call.args[0], ast.Constant)
    return worded or any(one.arg in OF_FILES for one in call.keywords)


def openings() -> Iterator[tuple[str, int]]:
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Call) and opens(node):
                    yield path.relative_to(ROOT).as_posix(), node.lineno


def of(file: str) -> str:
    """Return the entry among `OURS` that is about a file."""
    return next((one for one in OURS if file == one or file.startswith(f"{one}/")), "")


def test_nothing_is_opened_but_by_the_one_reader() -> None:
    strangers = [f"{file}:{line}" for file, line in openings() if not of(file)]
    assert strangers == []


def test_whatever_is_let_off_opens_something() -> None:
    assert {of(file) for file, _ in openings()} == {*OURS}


def test_the_store_reads_only_through_its_own_reader() -> None:
    texts = {path.name: path.read_text() for path in (ROOT / "rpd_core" / "store").glob("*.py")}
    direct = {name for name, text in texts.items() if "open_regular" in text}
    assert direct == {"files.py"}
