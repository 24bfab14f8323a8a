"""Calls every function of the allow-list with arguments that nobody would give it.

Run as a program, in a process of its own: `python table_walk.py long|wide`. It says which call is
next before it makes it, so that a crash or a hang has a name.
"""

from __future__ import annotations

import itertools
import json
import os
import resource
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from rpd_torchscript.functions.operator import Operator
from rpd_torchscript.functions.table import OPERATORS
from rpd_torchscript.limits import CALL_WORK, Meter

MEMORY = 4 * 2**30
SLOW = 5.0
"""Seconds that no call may take."""
WIDE = 2**20
"""Numbers of a tensor that is one number, shown over and over."""
OTHERWISE = {
    *("type_as", "new_full", "new_ones", "new_zeros", "repeat", "repeat_interleave"),
    *("index", "index_select", "gather", "embedding"),
}
"""Functions that look at few numbers of what they are given where little comes out."""
WHOLE = (0, 1, 2, -1, 64, 65, 10**6, 2**31, 2**40, 2**62, -(2**63))
LISTS = tuple([value] * length for length in (0, 1, 2, 64, 65, 200_000) for value in (0, 1, 2**62))


def small() -> dict[str, torch.Tensor]:
    return {
        "matrix": torch.ones(3, 3),
        "picture": torch.ones(1, 1, 4, 4),
        "row": torch.ones(3),
        "whole": torch.ones(3, dtype=torch.int64),
        "number": torch.tensor(1.0),
    }


def wide() -> dict[str, torch.Tensor]:
    return {
        "row": torch.ones(1).expand(WIDE),
        "matrix": torch.ones(1, 1).expand(1024, 1024),
        "picture": torch.ones(1, 1, 1, 1).expand(1, 1, 1024, 1024),
        "whole": torch.zeros(1, dtype=torch.int64).expand(WIDE),
        "mask": torch.ones(1, dtype=torch.bool).expand(WIDE),
    }


def usual(kind: str, tensor: torch.Tensor) -> Any:
    """Return an ordinary value for an argument of a type."""
    if kind.startswith("Optional"):
        return None
    if kind.startswith("List"):
        inner = usual(kind[5:-1], tensor)
        return [inner, inner] if "Tensor" in kind else [inner]
    known = {"Tensor": tensor, "int": 0, "number": 1, "float": 1.0, "bool": False, "str": "same"}
    return known.get(kind, 0)


def strange(kind: str) -> Iterator[Any]:
    """Yield what takes the place of an ordinary value."""
    plain = kind.replace("Optional[", "").rstrip("]") if "List" not in kind else ""
    if plain in ("int", "number"):
        yield from WHOLE
    elif plain in ("float",):
        yield from (0.0, 1e308, float("nan"), float("inf"))
    elif "List[int]" in kind:
        yield from LISTS
    elif "List[Tensor]" in kind or "List[Optional[Tensor]]" in kind:
        yield from ([torch.ones(1)] * length for length in (0, 64, 200_000))


def calls(operator: Operator, tensors: dict[str, torch.Tensor], odd: bool) -> Iterator[list[Any]]:
    """Yield arguments for every overload: ordinary ones, and with one or two that are not."""
    for overload in operator.overloads:
        kinds = [
            one.real_type.annotation_str
            for one in overload.operator._schema.arguments
            if not one.kwarg_only
        ]
        for tensor in tensors.values():
            base = [usual(kind, tensor) for kind in kinds]
            yield base
            for place, kind in enumerate(kinds):
                for value in strange(kind) if odd else ():
                    yield [*base[:place], value, *base[place + 1 :]]
        if not odd:
            yield from _mixed(kinds, tensors)


def _mixed(kinds: list[str], tensors: dict[str, torch.Tensor]) -> Iterator[list[Any]]:
    """Yield calls in which one tensor is of another kind than all others."""
    places = [place for place, kind in enumerate(kinds) if "Tensor" in kind]
    for place, one, other in itertools.product(places, tensors.values(), small().values()):
        made = [
            usual(kind.removeprefix("Optional[").removesuffix("]"), other)
            if kind.startswith("Optional[Tensor")
            else usual(kind, other)
            for kind in kinds
        ]
        made[place] = [one] if kinds[place].startswith("List") else one
        yield made


def widest(arguments: list[Any]) -> int:
    flat = [item for one in arguments for item in (one if isinstance(one, list) else [one])]
    return max((t.numel() for t in flat if isinstance(t, torch.Tensor)), default=0)


def storages(values: Any) -> set[int]:
    flat = [item for one in values for item in (one if isinstance(one, list | tuple) else [one])]
    return {t.untyped_storage().data_ptr() for t in flat if isinstance(t, torch.Tensor)}


def describe(arguments: list[Any]) -> str:
    return ", ".join(
        f"{len(one)} x {str(one[:1])[:30]}" if isinstance(one, list) else
        f"{tuple(one.shape)}" if isinstance(one, torch.Tensor) else str(one)
        for one in arguments
    )  # fmt: skip


def attempt(name: str, operator: Operator, arguments: list[Any]) -> str:
    """Make a call; return what is wrong with it: too slow, or more work than was counted."""
    meter, begun = Meter(), time.process_time()
    held = storages(arguments)
    try:
        result, _ = operator(meter, arguments, {})
    except MemoryError:
        return "memory ran out"
    except Exception:  # refused by a rule or by torch
        result = None
    if time.process_time() - begun > SLOW:
        return "took too long"
    seen = {} if result is None else storages([result])
    uncounted = CALL_WORK - meter.work < WIDE <= widest(arguments)
    if result is not None and uncounted and not seen & held and name[6:] not in OTHERWISE:
        return "did more than was counted"
    return ""


def main(what: str) -> None:
    torch.set_num_threads(1)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    wrong, tried, done = {}, 0, set()
    for name, operator in OPERATORS.items():
        for arguments in calls(operator, wide() if what == "wide" else small(), what == "long"):
            shown = f"{name}({describe(arguments)})"
            os.ftruncate(2, 0)
            os.lseek(2, 0, 0)
            os.write(2, shown.encode())
            tried += 1
            problem = attempt(name, operator, arguments)
            if problem:
                wrong[shown] = problem
            done.add(name)
    print(json.dumps({"tried": tried, "wrong": wrong, "functions": len(done)}))


if __name__ == "__main__":
    main(sys.argv[1])
