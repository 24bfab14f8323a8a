"""Which of the layers act: found by their names, and by whether they lead to the actions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from rpd_weights.layers import Block, Role, Shape

_MOST_BLOCKS = 40
_MOST_TRIALS = 20_000


@dataclass(frozen=True)
class Structure:
    """A network: blocks in the order in which they are computed."""

    prefix: str
    """With what the names of all its layers begin."""
    path: tuple[Block, ...]
    value: tuple[Block, ...] = ()
    """Of a dueling network: the stream from the end of `trunk` to the value of the state."""
    trunk: int = 0
    """Of a dueling network: how many blocks of the path both streams share."""
    width: int = 0
    """Numbers that come out for one lane."""
    drawn: bool = False
    """Whether another head tells the deviation of an action."""

    @property
    def blocks(self) -> tuple[Block, ...]:
        return self.path + self.value


class _Order:
    """Finds the order in which blocks, all of them, lead from one shape to another."""

    def __init__(self, widths: AbstractSet[int] | None) -> None:
        self.widths = widths
        """Of what may come out; None: anything."""
        self.trials = 0

    def find(self, blocks: Sequence[Block], shape: Shape) -> tuple[Block, ...] | None:
        """Return the first such order, in that of the file where shapes leave a choice."""
        if not blocks:
            return () if self.widths is None or shape in {(w,) for w in self.widths} else None
        for place, block in enumerate(blocks):
            self.trials += 1
            after = block.after(shape) if self.trials < _MOST_TRIALS else None
            if after is not None:
                rest = self.find([*blocks[:place], *blocks[place + 1 :]], after)
                if rest is not None:
                    return block, *rest
        return None


def structures(
    blocks: Sequence[Block], shape: Shape, widths: AbstractSet[int], prefix: str
) -> list[Structure]:
    """Return the networks among the blocks that lead from an observation to actions.

    If all together are none, the parts that share the beginning of their names are looked at.
    """
    alive = [block for block in blocks if block.role != "target"]
    acting = any(block.role == "actor" for block in alive)
    return _search(alive, shape, widths, prefix, acting)


def _search(
    blocks: Sequence[Block], shape: Shape, widths: AbstractSet[int], prefix: str, acting: bool
) -> list[Structure]:
    found = _network(blocks, shape, widths, prefix, acting)
    if found is not None:
        return [found]
    parts: dict[str, list[Block]] = {}
    for block in blocks:
        below = block.name.removeprefix(prefix).removeprefix(".")
        if below:
            first = below.partition(".")[0]
            parts.setdefault(f"{prefix}.{first}" if prefix else first, []).append(block)
    inner = {name: _search(part, shape, widths, name, acting) for name, part in parts.items()}
    if any(not inner[name] and _may_come_first(part, shape) for name, part in parts.items()):
        return []  # what looks like a network may be the end of one that begins there
    return [structure for each in inner.values() for structure in each]


def _may_come_first(blocks: Sequence[Block], shape: Shape) -> bool:
    """Return whether a network may begin in these blocks, by what they take or may be."""
    return any(
        block.after(shape) is not None or any(layer.kind == "unknown" for layer in block.layers)
        for block in blocks
        if block.role in ("", "actor")
    )


def _network(
    blocks: Sequence[Block], shape: Shape, widths: AbstractSet[int], prefix: str, acting: bool
) -> Structure | None:
    """Return the network that all blocks of some roles are, if they are one."""
    if len(blocks) > _MOST_BLOCKS:
        return None
    by: dict[Role, list[Block]] = {}
    for block in blocks:
        by.setdefault(block.role, []).append(block)
    shared, drawn = by.get("", []), "std" in by
    heads = by.get("actor", []) if acting else by.get("q", [])
    if not acting:
        dueling = _dueling(by, shape, widths, prefix)
        if dueling is not None:
            return dueling
    if not (acting or heads or "critic" in by):
        heads = by.get("advantage", [])  # what RLlib calls the head of a network without streams
    if not (shared or heads):
        return None
    path = _Order(widths).find([*shared, *heads], shape)
    if path is None:
        return None
    return Structure(prefix, path, width=_width(path, shape), drawn=drawn)


def _dueling(
    by: dict[Role, list[Block]], shape: Shape, widths: AbstractSet[int], prefix: str
) -> Structure | None:
    shared, values = by.get("", []), by.get("critic", [])
    advantages = by.get("advantage") or (by.get("q", []) if shared else [])
    if not (advantages and values):
        return None
    trunk = _Order(None).find(shared, shape)
    if trunk is None:
        return None
    middle = _after(trunk, shape)
    advantage = _Order(widths).find(advantages, middle)
    value = _Order({1}).find(values, middle)
    if advantage is None or value is None:
        return None
    path = trunk + advantage
    return Structure(prefix, path, value, len(trunk), _width(path, shape))


def _after(path: Iterable[Block], shape: Shape) -> Shape:
    for block in path:
        after = block.after(shape)
        assert after is not None  # the order was found by this
        shape = after
    return shape


def _width(path: Iterable[Block], shape: Shape) -> int:
    return _after(path, shape)[0]
