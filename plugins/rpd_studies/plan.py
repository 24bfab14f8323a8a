"""A file of cells -> a plan: what is crossed, what holds everywhere, which cells stand alone."""

from __future__ import annotations

import itertools
import typing
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from rpd_core.config.resolve import specs_in
from rpd_core.config.settings import Request, Settings, as_tuple, declared
from rpd_core.config.typed import check_names_and_numbers, read_table, refuse_trust
from rpd_core.errors import ConfigError, RpdError, SpecError, counted, nearest
from rpd_core.plugin.registry import Registry
from rpd_studies.figure_names import examples, is_figure

Finish = Literal["answer", "sweep"]
"""How far each run goes: to the whole answer of `rpd run`, or to the curves of the sweep."""
_FINISHES: tuple[Finish, ...] = get_args(Finish)
_SECTIONS = ("all", "cross", "cell")
KEYS = (*_SECTIONS, "seeds", "finish", "show")
SEEDS = (0, 1, 2, 3, 4)
"""Where a file names none."""
_MOST = 100_000
"""Cells and seeds beyond this are a slip of the keyboard."""
_ELSEWHERE = {
    "seed": "seeds stand at the top of the file, as seeds = [0, 1, 2]",
    "load_timeout": "it is the same for all: rpd grid --load-timeout",
}
"""Settings that cells do not have, and why."""


@dataclass(frozen=True)
class Cell:
    """One combination of settings, still without a seed."""

    settings: Mapping[str, Any]
    """What is asked for, by name."""
    own: tuple[str, ...]
    """Names of those that are not the same in every cell."""

    @property
    def texts(self) -> dict[str, str]:
        """What tells it apart, as texts for tables."""
        return texts({name: self.settings[name] for name in self.own})

    @property
    def label(self) -> str:
        """What tells it apart, in a line."""
        return ", ".join(f"{name}={text}" for name, text in self.texts.items()) or "the only one"


@dataclass(frozen=True)
class Plan:
    """Cells, the seeds that each is repeated with, and how far to go."""

    name: str
    cells: tuple[Cell, ...]
    seeds: tuple[int, ...] = SEEDS
    finish: Finish = "answer"
    show: tuple[str, ...] = ()
    """Figures that the tables show; none: the usual ones."""
    common: Mapping[str, Any] = field(default_factory=dict)
    """Settings of every cell."""
    rankings: tuple[str, ...] = ()
    """Measures that a sweep is about; none: all of the settings."""
    folder: str = ""
    """Name of its folder in `runs`; empty: `grid_` and its own name."""


def read_plan(path: Path, registry: Registry) -> Plan:
    """Read a TOML file; whatever is wrong in it is told with the key it stands at."""
    return plan_of(read_table(path), registry, path.stem, repr(str(path)))


def plan_of(
    content: Mapping[str, Any], registry: Registry, name: str = "grid", where: str = "the grid"
) -> Plan:
    """Return the plan that a table describes, every name and number in it checked."""
    for key in content:
        if key not in KEYS:
            hint = nearest(key, KEYS) or f" There are: {', '.join(KEYS)}."
            if _setting_named(key) is not None:
                hint = " Settings stand in [all], [cross] or [[cell]]."
            raise ConfigError(f"{where}: {key!r} is not a part of a grid.{hint}")
    common = _settings(content.get("all", {}), f"{where}: [all]")
    blocks = _blocks(content, "cross", where)
    cells = [cell for at, block in blocks for cell in _crossed(block, at)]
    cells += [_settings(block, at) for at, block in _blocks(content, "cell", where)]
    whole = tuple(_cell(common, own) for own in cells or ([{}] if common else []))
    plan = Plan(
        name,
        whole,
        _seeds(content.get("seeds", list(SEEDS)), where),
        _finish(content.get("finish", "answer"), where),
        _shown(content.get("show", []), where),
        common,
    )
    check_plan(plan, registry, where)
    return plan


def _blocks(content: Mapping[str, Any], key: str, where: str) -> list[tuple[str, Any]]:
    """Return the tables of a section, which may be one or several, each with its place."""
    found = content.get(key, [])
    several = found if isinstance(found, list) else [found]
    mark = f"[{key}]" if not isinstance(found, list) else f"[[{key}]]"
    if len(several) == 1:
        return [(f"{where}: {mark}", several[0])]
    return [(f"{where}: {mark} {place}", one) for place, one in enumerate(several, 1)]


def _settings(block: Any, where: str) -> dict[str, Any]:
    """Return the settings of a table, each with one value."""
    return {name: _one(name, value, where) for name, value in _named(block, where).items()}


def _named(block: Any, where: str) -> dict[str, Any]:
    """Return a table by the names of settings; refuse keys that are none, or are there twice."""
    if not isinstance(block, Mapping):
        raise ConfigError(f"{where} must be a table of settings, got {block!r:.60}")
    found: dict[str, Any] = {}
    for key, value in block.items():
        name = _setting_named(str(key))
        if name is None:
            hint = _ELSEWHERE.get(str(key)) or nearest(str(key), _names()) or "see rpd run --help"
            raise ConfigError(f"{where} {key}: this is not a setting of a cell; {hint.strip()}")
        if name in found:
            raise ConfigError(f"{where} {key}: it is there twice, spelt differently; keep one")
        found[name] = value
    return found


def _setting_named(key: str) -> str | None:
    """Return the setting that a key means: its name, or its option on the command line."""
    known = _names()
    flags = {one.flag.lstrip("-"): name for name, one in declared().items() if one.flag}
    plain = key.replace("-", "_")
    plain = flags.get(key, plain)
    return plain if plain in known else None


def _names() -> list[str]:
    return ["env", "policy", *(name for name in declared() if name not in _ELSEWHERE)]


def _is_several(name: str) -> bool:
    """Return whether a setting itself is a list: a chain of abstractions, some measures."""
    return typing.get_origin(typing.get_type_hints(Settings).get(name)) is tuple


def _one(name: str, value: Any, where: str) -> Any:
    """Return one value of a setting."""
    several = isinstance(value, list | tuple)
    if several and not _is_several(name):
        raise ConfigError(
            f"{where} {name} takes one value, got {len(value)}: lists are crossed in [cross]"
        )
    for item in value if several else (value,):
        refuse_trust(f"{where} {name}", item)
        if isinstance(item, Mapping | list):
            raise ConfigError(f"{where} {name} must be text or a number, got {item!r:.60}")
    if several:
        return tuple(value)
    setting = declared().get(name)
    listed = setting is not None and setting.listed
    return (value,) if _is_several(name) and not listed else value


def _crossed(block: Any, where: str) -> Iterator[dict[str, Any]]:
    """Yield every combination of the values of a table."""
    choices: dict[str, list[Any]] = {}
    for name, value in _named(block, where).items():
        values = value if isinstance(value, list | tuple) else [value]
        if not values:
            raise ConfigError(f"{where} {name} is an empty list: there would be no cell")
        choices[name] = [_one(name, one, where) for one in values]
        for place, one in enumerate(choices[name]):
            if one in choices[name][:place]:
                raise ConfigError(f"{where} {name} has {_text(one)} twice: keep one")
    _refuse_too_many(choices, where)
    for combination in itertools.product(*choices.values()):
        yield dict(zip(choices, combination, strict=True))


def _refuse_too_many(choices: Mapping[str, Sequence[Any]], where: str) -> None:
    size = 1
    for values in choices.values():
        size *= len(values)
    if size > _MOST:
        raise ConfigError(f"{where} makes {size} cells: at most {_MOST} are taken")


def _cell(common: Mapping[str, Any], own: Mapping[str, Any]) -> Cell:
    return Cell({**common, **own}, tuple(own))


def _seeds(value: Any, where: str) -> tuple[int, ...]:
    seeds = as_tuple(value)
    if not seeds or any(isinstance(one, bool) or not isinstance(one, int) for one in seeds):
        raise ConfigError(f"{where}: seeds must be whole numbers, as [0, 1, 2], got {value!r:.60}")
    if len({*seeds}) < len(seeds):
        raise ConfigError(f"{where}: seeds must be different, got {value!r:.60}")
    if min(seeds) < 0 or max(seeds) >= 2**63:
        raise ConfigError(f"{where}: seeds must lie in 0..2**63 - 1, got {value!r:.60}")
    return seeds


def _finish(value: Any, where: str) -> Finish:
    if value not in _FINISHES:
        raise ConfigError(f"{where}: finish must be {' or '.join(_FINISHES)}, got {value!r:.60}")
    return value  # type: ignore[no-any-return]


def _shown(value: Any, where: str) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not all(isinstance(one, str) for one in value):
        raise ConfigError(f"{where}: show must be a list of figures, got {value!r:.60}")
    for name in value:
        if not is_figure(name):
            hint = nearest(name, examples()) or f" For example {examples()[-1]!r}."
            raise ConfigError(f"{where}: show has {name!r}, which is not a figure.{hint}")
    return tuple(value)


def check_plan(plan: Plan, registry: Registry, where: str) -> None:
    """Refuse a plan without cells, with one twice, or with a value that cannot work.

    Files are not looked for: where one is missing, its cell fails, and the others are played.
    """
    if not plan.cells:
        raise ConfigError(f"{where} has no cell: add [cross] or [[cell]]")
    if len(plan.cells) * len(plan.seeds) > _MOST:
        told = f"{counted(len(plan.cells), 'cell')} with {counted(len(plan.seeds), 'seed')}"
        raise ConfigError(f"{where} has {told}: at most {_MOST} runs are taken")
    seen: dict[str, int] = {}
    made: set[tuple[str, str]] = set()
    for number, cell in enumerate(plan.cells, 1):
        at = f"{where}: cell {number} ({cell.label})"
        if "env" not in cell.settings:
            raise ConfigError(f"{at} has no env: name an environment, for example cartpole")
        known = seen.setdefault(repr(sorted(cell.settings.items(), key=lambda one: one[0])), number)
        if known != number:
            raise ConfigError(f"{at} is the same as cell {known}: keep one")
        _check_values(cell, registry, at, made)


def _check_values(cell: Cell, registry: Registry, at: str, made: set[tuple[str, str]]) -> None:
    """Refuse values that cannot work; specs in `made` were found to be right before."""
    for name, value in cell.settings.items():
        setting = declared().get(name)
        if (setting is None or setting.kind) and any(
            isinstance(one, bool | int | float) for one in as_tuple(value)
        ):
            raise ConfigError(f"{at}: {name} must be text, got {value!r:.60}")
    try:
        check_names_and_numbers(cell.settings, registry)
        specs = specs_in(Request(**cell.settings))
        for kind, text in specs:
            if (kind, text) not in made:
                _check_spec(kind, text, registry)
        made.update(specs)
    except RpdError as error:
        raise ConfigError(f"{at}: {error}") from error


def _check_spec(kind: str, text: str, registry: Registry) -> None:
    """Refuse a spec that is malformed; a component that cannot be used here fails its cells."""
    try:
        registry.make(kind, text)
    except SpecError:
        raise
    except RpdError:
        return


def texts(settings: Mapping[str, Any]) -> dict[str, str]:
    """Return settings as texts for tables."""
    return {name: _text(value) for name, value in settings.items()}


def _text(value: Any) -> str:
    if isinstance(value, tuple | list):
        return " + ".join(map(_text, value)) or "none"
    if isinstance(value, float):
        return f"{value:g}"
    return value if isinstance(value, str) else str(value)
