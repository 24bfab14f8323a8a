"""What can be set: each setting is declared here, once.

The keywords of `rpd_core.run`, the options of the command line, the checks, and what is stored all
follow from these fields. A setting that is not given has the value `RECOMMENDED` until the task's
recommendation, or the default stated here, takes its place.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeGuard

from rpd_core.errors import ConfigError, brief
from rpd_core.plugin.protocols import Task
from rpd_core.untrusted.boundary import LOAD_TIMEOUT

Scope = Literal["suite", "size", "analysis", "answer", "growth", "machine"]
"""What a setting decides: the episodes themselves, how many, what is asked of them, which of the
pruned policies is the one answer, when a suite that grows is large enough for that, or what is left
to the machine: nothing about the result, so it is not stored."""
ASKED: tuple[Scope, ...] = ("analysis", "answer", "growth")  # what is stored with an analysis
Group = Literal["Most used", "What to analyse", "How much to play", "How to answer", "Where to run"]
"""Headings of options in the help of a command."""
USED: Group = "Most used"
PLAYED: Group = "How much to play"
_GROUPS: dict[Scope, Group] = {
    "suite": "What to analyse",
    "size": "How much to play",
    "analysis": "How to answer",
    "answer": "How to answer",
    "growth": "How much to play",
    "machine": "Where to run",
}
Check = Callable[[str, object], None]

Values = dict[str, Any]  # settings, and what else is asked for, by their names

PORTFOLIO = ("tarantula", "ochiai", "zoltar", "wong2")  # the paper's four measures
EVIDENCE = 10  # episodes in each arm from which on a state is judged
LIST_BY = "impact:shrunken"  # the measure that the list of decisions is sorted by
STANDARD_MEASURES = (
    *PORTFOLIO, "freqvis", "differ", "default-gap", "effect", "effect:shrunken",
    "effect-return:shrunken", LIST_BY,
)  # fmt: skip
"""Measures of every run, whatever others are asked for.

One that needs what the policy does not offer is left out of the run.
"""
BASELINES = ("random", "freqvis", "differ", "default-gap")
"""Measures to compare with: they give the pruned policy only where `headline` names them."""
BEST = "best"  # as `headline`: whichever measure gives the smallest pruned policy
STANDARD_SHARES = (
    0.0, 0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.125, 0.15, 0.175, 0.2, 0.225, 0.25,
    0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.8, 0.9, 1.0,
)  # fmt: skip
TARGETS = (0.9, 0.5)  # shares of the return that smallest policies are to keep
QUICK: dict[str, Callable[[Any], Any]] = {
    "episodes": lambda usual: -(-usual // 4),
    "unmutated_episodes": lambda usual: -(-usual // 4),
    "test_episodes": lambda usual: -(-usual // 4),
    "shares": lambda usual: (0.0, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 0.85, 1.0),
    "random_rankings": lambda usual: 1,
    "target": lambda usual: usual[:1],
    "minimise_steps": lambda usual: None,
    "confirm_margin": lambda usual: max(usual, 0.05),
    "unvisited": lambda usual: "policy",
}
"""What a quick look makes of the usual settings; those that are given stay as they are."""
DOUBLINGS = 4
"""How often losses are weighed on twice as many episodes, unless more or fewer are allowed."""
AUTO = "auto"  # the mutation rate that a pilot is to find
LARGEST = 10**12  # episodes, lanes and the like beyond this are a slip of the keyboard
_LARGEST_RETURN = 1e100  # beyond this, squares of returns are no numbers
_LONGEST_NAME = 100  # characters of a name


class _Recommended:
    """Stands for a setting that was not given."""

    def __repr__(self) -> str:
        return "RECOMMENDED"

    def __reduce__(self) -> str:
        return "RECOMMENDED"


RECOMMENDED = _Recommended()


@dataclass(frozen=True)
class Setting:
    """What is declared of a setting besides its name and type."""

    help: str
    scope: Scope
    default: Any = RECOMMENDED
    """Used where the task recommends nothing."""
    kind: str = ""
    """The kind of component that its spec strings select."""
    words: tuple[str, ...] = ()
    """What may be given instead of a component or a number."""
    flag: str = ""
    """The option on the command line, if not its name; `-` for none."""
    check: Check | None = None
    listed: type[str] | type[float] | None = None
    """Of what several values are written in one text, parted by commas; None: one value."""
    added: bool = False
    """Whether runs may have been stored before it was there; its default holds in them."""
    heading: Group | None = None
    """Where the help lists its option, if not where its scope says."""

    @property
    def group(self) -> Group:
        return self.heading or _GROUPS[self.scope]


def _count_up_to(largest: int, least: int = 1) -> Check:
    """Check for a whole number from `least`, usually 1, to `largest`."""

    def check(name: str, value: object) -> None:
        if not least <= _whole(name, value) <= largest:
            bound = f"at least {least}" if _whole(name, value) < least else f"at most {largest:g}"
            raise ConfigError(f"{name} must be {bound}, got {value}")

    return check


_count = _count_up_to(LARGEST)


def _count_or_none(name: str, value: object) -> None:
    if value is not None:
        _count(name, value)


def _whole(name: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ConfigError(f"{name} must be a whole number, got {brief(value)}")
    return value


def _seed(name: str, value: object) -> None:
    if not 0 <= _whole(name, value) < 2**63:
        raise ConfigError(f"{name} must not be negative and must be below 2**63, got {value}")


def is_number(value: object) -> TypeGuard[int | float]:
    """Return whether a value is a number that a float can hold."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) <= sys.float_info.max or isinstance(value, float)


def _number(name: str, value: object, of: str = "") -> int | float:
    if not is_number(value):
        raise ConfigError(f"{name} must be a number{of}, got {brief(value)}")
    return value


def _rate_like(example: float) -> Check:
    """Check for a number between 0 and 1; the example is one that fits."""

    def check(name: str, value: object) -> None:
        value = _number(name, value)
        if not 0 < value < 1:
            percent = 2 <= value < 100 and value == int(value)
            percent = percent and (value / 100 >= 0.5 or example < 0.5)  # not 0.02 of confidence
            hint = f"Did you mean {value / 100:g}?" if percent else f"For example {example:g}."
            raise ConfigError(f"{name} must lie in (0, 1), got {value:g}. {hint}")

    return check


def _shares(name: str, value: Any) -> None:
    several = isinstance(value, list | tuple)
    if not several or not value or not all(is_number(s) and 0 <= s <= 1 for s in value):
        shown = list(value) if several else value
        raise ConfigError(f"{name} must lie in [0, 1], got {brief(shown, 200)}")


def _one_of(*words: str) -> Check:
    def check(name: str, value: object) -> None:
        if not isinstance(value, str) or value not in words:
            listed = f"{', '.join(words[:-1])} or {words[-1]}"
            raise ConfigError(f"{name} must be {listed}, got {brief(value)}")

    return check


def _targets(name: str, value: Any) -> None:
    value = _split(value, float)
    for one in as_tuple(value):
        _rate_like(0.9)(name, one)
    if not value or list(value) != sorted(set(value), reverse=True):
        raise ConfigError(f"{name} must be shares in falling order, got {list(value)}")


def _margin(name: str, value: object) -> None:
    if not 0 <= _number(name, value) < 0.5:
        raise ConfigError(f"{name} must lie in [0, 0.5), got {value:g}")


def _finite_or_none(name: str, value: Any) -> None:
    if value is None:
        return
    if not is_number(value) or not abs(value) <= _LARGEST_RETURN:
        raise ConfigError(
            f"{name} must be a number between -{_LARGEST_RETURN:g} and {_LARGEST_RETURN:g}, "
            f"got {brief(value)}"
        )


def _check_names(name: str, value: object) -> None:
    """Refuse names that do not tell entries apart, or that no line can hold."""
    value = _split(value)
    given = value if isinstance(value, tuple) else ()
    for one in given:
        if not isinstance(one, str) or not one.isprintable() or not 0 < len(one) <= _LONGEST_NAME:
            raise ConfigError(
                f"{name} must be texts of one line, parted by commas, got {brief(one)}"
            )
    twice = [one for place, one in enumerate(given) if one in given[:place]]
    if twice or not isinstance(value, tuple):
        what = f"{twice[0]!r} twice" if twice else f"{brief(value)}"
        raise ConfigError(f"{name} must tell entries apart, got {what}")


def _seconds(name: str, value: object) -> None:
    if not 0 < _number(name, value, " of seconds") < float("inf"):
        raise ConfigError(f"{name} must be above 0 seconds, got {value:g}")


def _yes_or_no(name: str, value: object) -> None:
    if not isinstance(value, bool):
        raise ConfigError(f"{name} must be true or false, got {brief(value)}")


def _setting(help: str, scope: Scope, **more: Any) -> Any:
    return field(default=RECOMMENDED, metadata={"setting": Setting(help, scope, **more)})


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Everything that can be set beside environment and policy."""

    abstraction: tuple[Any, ...] = _setting(
        "Abstraction spec; repeat to chain.", "suite", kind="abstraction", heading=USED
    )
    default_action: Any = _setting(
        "Default-action spec, for example repeat.",
        "suite", kind="default-action", heading=USED,
    )  # fmt: skip
    mutation_rate: float = _setting(
        "Chance that a state is mutated, in (0, 1); auto: by a pilot.",
        "suite", words=(AUTO,), check=_rate_like(0.2), heading=USED,
    )  # fmt: skip
    names: tuple[str, ...] = _setting(
        "What the entries of observations are called: angle,speed; default: the environment's.",
        "suite", default=(), check=_check_names, listed=str, added=True,
    )  # fmt: skip
    seed: int = _setting(
        "Seed of everything; default 0.", "suite", default=0, check=_seed, heading=USED
    )
    lanes: int = _setting(
        "Episodes played side by side.", "suite", flag="-", check=_count_up_to(10**5)
    )
    episodes: int = _setting("Mutant episodes in the suite.", "size", check=_count, heading=USED)
    unmutated_episodes: int = _setting(
        "Episodes of the policy as it is, which tell what it reaches; default 400.",
        "size", default=400, check=_count,
    )  # fmt: skip
    chunk: int = _setting("Episodes per unit of work.", "size", flag="-", check=_count_up_to(10**7))
    condition: Any = _setting(
        "When an episode passed: return>=200, auto, ...",
        "analysis", kind="condition", heading=USED,
    )  # fmt: skip
    measures: tuple[Any, ...] = _setting(
        "Measure spec, in addition to the standard ones; repeatable.",
        "analysis", default=(), kind="measure", flag="--measure", heading=USED,
    )  # fmt: skip
    list_by: Any = _setting(
        "Measure that the list of a mutated policy is sorted by.",
        "answer", default=LIST_BY, kind="measure", flag="-",
    )  # fmt: skip
    evidence: int = _setting(
        "Episodes in each arm from which on a state is judged; default 10.",
        "analysis", default=EVIDENCE, check=_count,
    )  # fmt: skip
    margin: float = _setting(
        "Effect on the risk below which a decision counts as harmless; default 0.05.",
        "answer", default=0.05, check=_rate_like(0.05),
    )  # fmt: skip
    unvisited: Literal["default", "policy"] = _setting(
        "In states the suite never saw: 'default' action (default) or 'policy'.",
        "analysis", default="default", check=_one_of("default", "policy"),
    )  # fmt: skip
    test_episodes: int = _setting(
        "Episodes per pruned policy.", "analysis", check=_count, heading=PLAYED
    )
    shares: tuple[float, ...] = _setting(
        "Shares of states in the sweep.",
        "analysis", default=STANDARD_SHARES, flag="-", check=_shares,
    )  # fmt: skip
    sweep: Literal["adaptive", "full"] = _setting(
        "Play points of the sweep until they are decided: adaptive; all to the end: full.",
        "analysis", default="adaptive", check=_one_of("adaptive", "full"), heading=PLAYED,
    )  # fmt: skip
    random_rankings: int = _setting(
        "Random rankings to compare with.",
        "analysis", default=4, flag="-", check=_count_up_to(1000),
    )  # fmt: skip
    reference: float | None = _setting(
        "Return that shares are measured from; default: the task's.",
        "analysis", check=_finite_or_none,
    )  # fmt: skip
    target: tuple[float, ...] = _setting(
        "Shares of the return that smallest policies are to keep; default 0.9,0.5, the first one "
        "the answer.",
        "analysis", default=TARGETS, check=_targets, listed=float, heading=USED,
    )  # fmt: skip
    minimise_steps: int | None = _setting(
        "Steps that minimising may take; default: the task's, or as many as suite and sweep took, "
        "and enough for twelve confirmations.",
        "answer", default=None, check=_count_or_none,
    )  # fmt: skip
    headline: Any = _setting(
        "Measure whose pruned policies are made smaller, or best (default): the smallest.",
        "answer", default=BEST, kind="measure", words=(BEST,),
    )  # fmt: skip
    objective: Literal["states", "steps", "both"] = _setting(
        "What the smallest policy is to need little of: states, steps or both (default).",
        "answer", default="both", check=_one_of("states", "steps", "both"),
    )  # fmt: skip
    confirm_episodes: int = _setting(
        "Fresh episodes that try a pruned policy first, doubled up to twice; default 400.",
        "answer", check=_count_up_to(LARGEST, least=2),
    )  # fmt: skip
    confirm_tries: int = _setting(
        "Pruned policies that are tried for a target, at most; default 8.",
        "answer", default=8, check=_count,
    )  # fmt: skip
    confirm_margin: float = _setting(
        "How far below the target the lower bound of a confirmed policy may lie; default 0.02.",
        "answer", default=0.02, check=_margin,
    )  # fmt: skip

    confidence: float = _setting(
        "Of 'needed' and of verdicts at most 1 minus this are expected to be false; default 0.95.",
        "answer", default=0.95, check=_rate_like(0.95),
    )  # fmt: skip
    quick: bool = _setting(
        "A first look in seconds: a quarter of the episodes, one target, no pictures, no page.",
        "growth", default=False, check=_yes_or_no, added=True, heading=USED,
    )  # fmt: skip
    until: Literal["episodes", "stable"] = _setting(
        "Weigh decisions once (episodes), or on ever more until --top are settled: 'stable'.",
        "growth", default="episodes", check=_one_of("episodes", "stable"),
    )  # fmt: skip
    top: int = _setting(
        "Decisions that are to be settled; default 10.", "growth", default=10, check=_count
    )
    max_episodes: int | None = _setting(
        "Episodes at which that doubling ends; default: 16 times the first.",
        "growth", default=None, check=_count_or_none,
    )  # fmt: skip

    load_timeout: float = _setting(
        "Seconds that loading a policy may take; default 60.",
        "machine", default=LOAD_TIMEOUT, check=_seconds,
    )  # fmt: skip

    @property
    def most_episodes(self) -> int:
        """Episodes that the losses of decisions may come from."""
        if self.until != "stable":
            return self.confirm_episodes
        return self.max_episodes or self.confirm_episodes * 2**DOUBLINGS

    def given(self) -> Values:
        values = {name: getattr(self, name) for name in declared()}
        return {name: value for name, value in values.items() if value is not RECOMMENDED}

    def of_scope(self, *scopes: Scope) -> Values:
        """Return the settings that decide the same thing."""
        return {
            name: getattr(self, name) for name, one in declared().items() if one.scope in scopes
        }


@dataclass(frozen=True)
class Request(Settings):
    """What the user asked for."""

    env: Any = None
    """The environment: a spec string, a `gymnasium.Env`, a function that makes one, or a recipe."""
    policy: Any = None
    """The policy: a spec string, a model, a torch module, a function or a recipe.

    None: the one that ships with the task.
    """


def declared() -> dict[str, Setting]:
    return {item.name: item.metadata["setting"] for item in dataclasses.fields(Settings)}


def recommended(task: Task, given: Settings) -> Values:
    """Fill what was not given with the task's recommendations and the defaults."""
    values = {}
    for name, setting in declared().items():
        value = getattr(given, name)
        if value is RECOMMENDED:
            value = getattr(task, name, setting.default)
            empty = isinstance(value, tuple) and not value  # a task without an opinion
            value = setting.default if empty else value
            if given.quick is True and name in QUICK:
                value = QUICK[name](value)
        values[name] = value if setting.listed is None else _split(value, setting.listed)
    return values


def check(settings: Settings) -> None:
    for name, setting in declared().items():
        if setting.check is not None:
            setting.check(name, getattr(settings, name))
    if settings.mutation_rate * settings.episodes < 1:
        raise ConfigError(
            f"{settings.episodes} episodes at mutation rate {settings.mutation_rate:g} mutate "
            "almost nothing: ask for more episodes"
        )
    if settings.most_episodes < settings.confirm_episodes:
        raise ConfigError(
            f"max_episodes must be at least the {settings.confirm_episodes} episodes that "
            f"decisions are weighed on first, got {settings.max_episodes}"
        )
    for name in ("top", "max_episodes"):
        if settings.until != "stable" and getattr(settings, name) != declared()[name].default:
            raise ConfigError(f"{name} has a meaning only with until stable: add --until stable")


def check_value(name: str, value: object) -> Any:
    checked = declared()[name].check
    if checked is not None:
        checked(name, value)
    return value


def completed(settings: Settings) -> Settings:
    """Return stored settings with the defaults of those that were not there at the time."""
    missing = {
        name: setting.default
        for name, setting in declared().items()
        if setting.added and getattr(settings, name) is RECOMMENDED
    }
    return dataclasses.replace(settings, **missing) if missing else settings


def check_stored(settings: Settings, *scopes: Scope) -> None:
    """Refuse settings out of a file of which one is missing or cannot be."""
    for name, value in settings.of_scope(*scopes).items():
        setting = declared()[name]
        if value is RECOMMENDED:
            raise ConfigError(f"settings.{name} is missing")
        if setting.check is not None:
            setting.check(f"settings.{name}", value)
        if setting.kind and not all(isinstance(one, str) for one in as_tuple(value)):
            raise ConfigError(f"settings.{name} must be text, got {brief(value)}")


def as_tuple(value: object) -> tuple[Any, ...]:
    if isinstance(value, str | Path) or not isinstance(value, Iterable):
        return (value,)
    return tuple(value)


def _split(value: object, kind: type[str] | type[float] = str) -> Any:
    """Return several values that one text holds, parted by commas; others as a tuple."""
    if isinstance(value, str):
        parts = [one.strip() for one in value.split(",")] if value.strip() else []
        try:
            return tuple(kind(one) for one in parts)
        except ValueError:
            raise ConfigError(
                f"{brief(value)} are not numbers parted by commas: try 0.9,0.5"
            ) from None
    if kind is float and isinstance(value, int | float) and not isinstance(value, bool):
        return (value,)
    return tuple(value) if isinstance(value, list) else value
