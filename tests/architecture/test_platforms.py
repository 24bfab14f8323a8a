"""That what other systems lack is named in few places, and that text names its encoding."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted(
    path for folder in ("rpd_core", "plugins") for path in (ROOT / folder).rglob("*.py")
)
UNIX = re.compile(
    r"os\.(fork\w*|kill|killpg|setsid|getuid|geteuid|getpgid|mkfifo|wait\w*|statvfs|nice|O_NOFOLLOW"
    r"|O_NONBLOCK|sched_\w+|posix_\w+)|signal\.(SIGKILL|SIGHUP|SIGUSR\d|SIGALRM|setitimer|alarm"
    r"|pthread_\w+)|select\.poll|(fcntl|resource|pwd|grp|termios)(\.\w+)?"
)
"""Attributes and modules that Windows does not have."""
SYSTEM_PATHS = re.compile(r"/(proc|dev|tmp|sys|etc)(/|$)")
ALLOWED = {
    "rpd_core/cli/streams.py": "asks for SIGHUP with hasattr",
    "rpd_core/execute/local.py": "asks for sched_getaffinity with hasattr",
    "rpd_core/execute/processes.py": "ends workers; names the signal that ended one",
    "rpd_core/execute/worker.py": "a worker: it only runs where a run is written",
    "rpd_core/store/files.py": "says in one line that a system has no file locks",
    "plugins/rpd_onnx/child.py": "limits itself: it only runs where a policy plays",
    "plugins/rpd_kit/executors.py": "kills a worker on purpose",
}
"""Modules that may name them, and why that is no harm."""
TEXT = {"read_text", "write_text"}


def named(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield (line, name) of all attributes of modules, imported modules and strings."""
    told = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            yield node.lineno, f"{node.value.id}.{node.attr}"
        elif isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)
            yield node.lineno, str(node.module)
        elif (
            isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in told
        ):
            yield node.lineno, node.value


def offenders() -> Iterator[tuple[str, int, str]]:
    for path in SOURCES:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for line, name in named(tree):
            if UNIX.fullmatch(name) or SYSTEM_PATHS.match(name):
                yield path.relative_to(ROOT).as_posix(), line, name


def test_names_of_unix_stand_in_few_modules() -> None:
    found = [one for one in offenders() if one[0] not in ALLOWED]
    assert found == []


def test_every_module_that_may_name_them_does() -> None:
    assert {one[0] for one in offenders()} == set(ALLOWED)


def test_text_is_read_and_written_with_a_named_encoding() -> None:
    assert [found for path in SOURCES for found in without_encoding(path)] == []


def without_encoding(path: Path) -> Iterator[str]:
    """Yield calls that read or write text in whatever encoding the system prefers."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute | ast.Name)):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id
        given = any(word.arg in ("encoding", None) for word in node.keywords)
        if name in TEXT and not given and len(node.args) < 1 + (name == "write_text"):
            yield f"{path.relative_to(ROOT)}:{node.lineno} {name}"
        plain = isinstance(node.func, ast.Name) and name == "open"
        if plain and not given and not any(is_binary(word) for word in node.args[1:2]):
            yield f"{path.relative_to(ROOT)}:{node.lineno} open"


def is_binary(mode: ast.expr) -> bool:
    return isinstance(mode, ast.Constant) and "b" in str(mode.value)
