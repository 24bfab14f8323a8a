"""Exports of rules: a smallest policy without the network, as data and as a Python function."""

from __future__ import annotations

import json
import math
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from keyword import iskeyword
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium import spaces

from rpd_core.analysis.suite import StoredEpisodes
from rpd_core.chance import Draws
from rpd_core.config.configuration import Json
from rpd_core.config.resolve import Setup
from rpd_core.errors import ConfigError, counted
from rpd_core.play.actions import first_action, in_every_lane
from rpd_core.play.decision_tree import actions_in
from rpd_core.play.names import Names
from rpd_core.play.recipe import opened_default, opened_lanes, recipe_of
from rpd_core.plugin.protocols import Bound, Facts, Moment, States
from rpd_core.plugin.protocols.optional import TellsBounds
from rpd_core.plugin.wording import order_of_parts
from rpd_core.results.kept import KeptRule
from rpd_core.results.sentences import baseline_words
from rpd_core.results.words import few, percent
from rpd_core.store.codec import to_plain
from rpd_core.store.files import write_whole
from rpd_core.store.tables import read_table
from rpd_core.untrusted.boundary import printable

if TYPE_CHECKING:
    from rpd_core.plugin.protocols import Array
    from rpd_core.results.records import Policy
    from rpd_core.results.run import Run

RULE_FORMATS = (".json", ".py")
"""What the name of a file of rules ends in."""
_FORMAT = 1
_DEFAULTS = ("repeat", "constant", "no-op")
"""Default actions that can be written down."""
_INDENT = "    "
_NO_CONDITIONS = (
    "a function is written where states are conditions on the entries of an observation, as those "
    "of --abstraction rules are"
)
_ZIP = "export to a .zip instead"


@dataclass(frozen=True)
class FirstDefault:
    """What the default action does at the first step of an episode."""

    action: Any
    """As a number, or a list of them."""
    name: str
    """What it is called; its numbers where it has no name."""


@dataclass(frozen=True)
class Certificate:
    """What is promised of an exported policy, and what the promise stands on."""

    fraction: float
    """Of the return of the original policy that it was confirmed to keep."""
    return_bound: float
    """Its mean return is at least this."""
    share_bound: float | None
    """And at least this share of the original's, measured from the reference."""
    confidence: float
    """Chance that the bounds hold, all pruned policies that were tried considered."""
    episodes: int
    """Fresh episodes behind them."""
    calls_saved: float
    """Share of steps at which the original policy need not be asked."""
    overrides: float | None = None
    """Share of steps at which it decides and differs from the default action."""
    overrides_whole: float | None = None
    """The same of the original policy."""
    pass_rate: float | None = None
    """Share of its episodes that pass the condition."""
    pass_rate_whole: float | None = None
    """The same of the original policy."""
    worst_tenth: float | None = None
    """Mean return of the worst tenth of its episodes."""
    first: str = ""
    """What the default action does at the first step of an episode, where that is fixed."""
    steps: float | None = None
    """Share of its steps at which it decides."""
    also_enough: str = ""
    """What else keeps as much, in a sentence."""

    def __str__(self) -> str:
        text = (
            f"mean return at least {few(self.return_bound)} with {percent(self.confidence)} "
            f"confidence ({self.episodes} fresh episodes); the policy need not be asked at "
            f"{percent(self.calls_saved)} of the steps"
        )
        if self.overrides is not None and self.overrides_whole is not None:
            text += f" and overrides the default at {percent(self.overrides)} of them"
            text += f" (the whole policy at {percent(self.overrides_whole)})"
        if self.pass_rate is not None and self.pass_rate_whole is not None:
            text += f"; {percent(self.pass_rate)} of the episodes pass the condition"
            text += f" (of the whole policy's {percent(self.pass_rate_whole)})"
        if self.worst_tenth is not None:
            text += f"; the worst tenth returns {few(self.worst_tenth)}"
        text += f"; the default begins with {self.first}" if self.first else ""
        return f"{text}. {self.also_enough}" if self.also_enough else text


def certificate_of(
    run: Run, chosen: Policy, fraction: float, first: FirstDefault | None
) -> Certificate:
    """Return what every export of a confirmed policy says of it."""
    return Certificate(
        fraction,
        chosen.return_bound,
        chosen.share_bound,
        chosen.confidence,
        chosen.episodes,
        chosen.calls_saved,
        chosen.overrides,
        chosen.overrides_whole,
        chosen.pass_rate,
        chosen.pass_rate_whole,
        chosen.worst_tenth,
        "" if first is None else first.name,
        chosen.steps,
        baseline_words(replace(run.summary, policy=chosen)).rstrip("."),
    )


@dataclass(frozen=True)
class ExportedRule:
    """A state with its one action."""

    words: str
    """The state in words."""
    action: Any
    """A number, or a list of them."""
    name: str
    """What the action is called, or nothing."""
    bounds: tuple[Bound, ...] | None
    """What the state asks; None: its abstraction does not tell."""


@dataclass(frozen=True)
class ExportedRules:
    """A smallest policy as rules alone."""

    environment: str
    fraction: float
    """Of the return that the policy was confirmed to keep, deciding inside its rules."""
    share: float
    """Of the return that the rules keep alone, measured from the reference."""
    episodes: int
    """Episodes behind that."""
    rules: tuple[ExportedRule, ...]
    """By loss, the largest first."""
    default: str
    """The default action, which decides elsewhere."""
    first: FirstDefault
    """What it does at the first step."""
    bound: float | None
    """Lower bound of `share`."""
    certificate: Certificate
    """What is promised of the policy where it decides inside the rules."""

    def __str__(self) -> str:
        return (
            f"{counted(len(self.rules), 'rule')} and the default action {self.default} (first "
            f"action {self.first.name}) keep {percent(self.share)} of the return without the "
            f"policy ({self.episodes} fresh episodes)"
        )


def export_rules(run: Run, path: Path, fraction: float | None = None) -> ExportedRules:
    """Write the smallest policy of a target as rules alone: `.json` as data, `.py` as a function.

    The run must be one that was just made, as its environment is asked what actions there are.
    """
    if run.setup is None:
        raise ConfigError("a run that was only opened for reading has no policy to export")
    facts, first = opened_facts(run.setup)
    found = _rules_of(run, run.target if fraction is None else fraction, facts, first)
    text = _python(found, facts) if path.suffix == ".py" else _json(found)
    write_whole(path, text.encode(errors="replace"))
    return found


def opened_facts(setup: Setup) -> tuple[Facts, FirstDefault | None]:
    """Ask the environment for its facts, and the default action what it does first.

    None: it cannot be written down.
    """
    recipe = replace(recipe_of(setup), lanes=1)
    lanes = opened_lanes(recipe, ())
    try:
        facts = lanes.facts
        if _name_of(setup.config.settings.default_action) not in _DEFAULTS:
            return facts, None
        draws = Draws(np.zeros(1, dtype=np.uint64), np.zeros(1, dtype=np.int64))
        previous, starts = in_every_lane(first_action(facts), facts), np.ones(1, dtype=bool)
        moment = Moment(lanes.observe(), {}, previous, np.zeros(1), starts, draws, draws)
        return facts, _first(np.asarray(opened_default(recipe, facts)(moment))[0], facts)
    finally:
        lanes.close()


def _first(action: Array, facts: Facts) -> FirstDefault:
    space, plain = facts.action_space, action.tolist()
    named = isinstance(space, spaces.Discrete) and facts.action_names
    name = facts.action_names[plain - int(space.start)] if named else str(plain)
    return FirstDefault(plain, name)


def _name_of(spec: str) -> str:
    return spec.partition(":")[0]


def _rules_of(run: Run, fraction: float, facts: Facts, first: FirstDefault | None) -> ExportedRules:
    """Return the rules of a run, or refuse what has none."""
    policy, kept = run.policy(fraction), run.kept(fraction)
    if policy is None or kept is None or policy.rules_alone is None or not kept.rules:
        raise ConfigError(
            f"no smallest policy was confirmed to keep {percent(fraction)} of the return, so there "
            "are no rules to export: try more --episodes or more --confirm-episodes"
        )
    default = run.directory.stored().settings.default_action
    if first is None:
        raise ConfigError(
            f"rules are exported where the default action is {', '.join(_DEFAULTS[:-1])} or "
            f"{_DEFAULTS[-1]}, and here it is {default!r}: {_ZIP}"
        )
    decisions = run.decisions if fraction == run.target else policy.decisions
    rank = {one.key: one.rank for one in decisions}
    rules = sorted(kept.rules, key=lambda rule: (rank.get(rule.key, len(rank) + 1), rule.key))
    names = run.directory.names()
    if names.relations:
        raise ConfigError(f"{_NO_CONDITIONS}; here actions are relative to the state: {_ZIP}")
    return ExportedRules(
        names.environment,
        fraction,
        policy.rules_alone,
        policy.episodes,
        tuple(_exported(run, rules, facts, names)),
        default,
        first,
        policy.rules_alone_bound,
        certificate_of(run, policy, fraction, first),
    )


def _exported(
    run: Run, rules: Sequence[KeptRule], facts: Facts, names: Names
) -> Iterator[ExportedRule]:
    stored = StoredEpisodes(run.directory.suite(), run.asked.episodes)
    keys, space = [rule.key for rule in rules], facts.action_space
    words = stored.words(keys)
    bounds = _bounds(run, stored, keys)
    for rule in rules:
        name, numbers = "", np.array([rule.action])
        if isinstance(space, spaces.Discrete):
            index = int(rule.action[0])
            name = names.choices[index] if index < len(names.choices) else ""
            numbers = numbers + (0 if names.relations else int(space.start))
        (action,) = actions_in(space, numbers.reshape(1, *space.shape)).tolist()
        text = words.get(rule.key, f"{rule.key:016x}")
        yield ExportedRule(text, action, name, bounds.get(rule.key))


def _bounds(
    run: Run, stored: StoredEpisodes, keys: Sequence[int]
) -> Mapping[int, tuple[Bound, ...]]:
    """Return what some states ask, by key; nothing where their abstraction does not tell."""
    links = () if run.setup is None else recipe_of(run.setup).links
    if len(links) != 1 or not isinstance(links[0], TellsBounds):
        return {}
    found: dict[int, tuple[Bound, ...]] = {}
    for table in stored.tables("states"):
        states = read_table(States, table["states"])
        for row in np.flatnonzero(np.isin(states.key, np.array(keys, dtype=np.uint64))).tolist():
            bounds = links[0].bounds(states.value[row])
            if bounds is not None:
                found[int(states.key[row])] = tuple(bounds)
    return found


# ------------------------------------------------------------------------------------ as data


def _json(found: ExportedRules) -> str:
    """Return the rules as JSON; an open end is null."""
    content: Json = {
        "format": _FORMAT,
        "environment": found.environment,
        "target": found.fraction,
        "share": found.share,
        "episodes": found.episodes,
        "rules": [_rule_json(rule) for rule in found.rules],
        "default_action": found.default,
        "first_action": found.first.action,
        "first_action_name": found.first.name,
        "share_bound": found.bound,
        "certificate": to_plain(found.certificate),
    }
    return json.dumps(content, indent=2) + "\n"


def _rule_json(rule: ExportedRule) -> Json:
    told: Json = {"rule": rule.words, "action": rule.action, "action_name": rule.name}
    if rule.bounds is None:
        return told
    return {
        **told,
        "conditions": [
            {
                "name": one.name,
                "entries": list(one.entries),
                "factor": one.factor,
                "at_least": one.low if math.isfinite(one.low) else None,
                "below": one.high if math.isfinite(one.high) else None,
            }
            for one in rule.bounds
        ],
    }


# --------------------------------------------------------------------------------- as a function


_Asked = tuple[tuple[int, ...], float]
"""What a number that rules ask about is made of: entries, and a factor."""


def _python(found: ExportedRules, facts: Facts) -> str:
    """Return the rules as a function of plain Python, with the same answers."""
    if any(rule.bounds is None for rule in found.rules):
        raise ConfigError(f"{_NO_CONDITIONS}: export to .json instead")
    bounds = [one for rule in found.rules for one in rule.bounds or ()]
    numbers = _variables({(one.entries, one.factor): one.name for one in bounds})
    sources = _sources(facts.observation_space)
    lines = [f"{name} = {_number(asked, sources)}" for asked, name in numbers.items()]
    for rule in found.rules:
        tests = [_test(numbers[one.entries, one.factor], one) for one in rule.bounds or ()]
        comment = f"  # {_one_line(rule.name)}" if rule.name else ""
        lines += [f"if {' and '.join(tests) or 'True'}:", f"{_INDENT}return {rule.action}{comment}"]
    last = f"{found.first.action!r}"
    if _name_of(found.default) == "repeat":
        last += " if previous is None else previous"
    lines.append(f"return {last}  # {_one_line(found.default)}")
    maths = "import math\n\n\n" if any("math." in line for line in lines) else "\n"
    head = f"{_one_line(found.environment) or 'A policy'} in {counted(len(found.rules), 'rule')}"
    bound = "" if found.bound is None else f", at least {percent(found.bound)}"
    told = f"With the policy deciding inside the rules: {_clean(str(found.certificate))}."
    promised = "\n".join(textwrap.wrap(told, 100))
    body = "\n".join(_INDENT + line for line in lines)
    return (
        f'"""{head}, written by rpd: they keep {percent(found.share)} of the return '
        f"without the policy{bound}.\n\n{promised}\n"
        f'"""\n\n{maths}def act(observation, previous=None):\n{_INDENT}"""Return the action for '
        f'an observation; `previous` is the action before, None at first."""\n{body}\n'
    )


def _variables(asked: Mapping[_Asked, str]) -> dict[_Asked, str]:
    """Return what each number that is asked about is called in the function."""
    taken = {"observation", "previous", "math", "float"}
    found = {}
    for number, name in asked.items():
        plain = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")
        if not plain.isidentifier() or iskeyword(plain) or plain in taken:
            plain = f"x{len(taken)}"
        taken.add(plain)
        found[number] = plain
    return found


def _number(asked: _Asked, sources: Sequence[str]) -> str:
    """Return how a number is read from an observation."""
    entries, factor = asked
    parts = [f"float({sources[entry]})" for entry in entries]
    text = parts[0] if len(parts) == 1 else f"math.atan2({parts[1]}, {parts[0]})"
    return text if factor == 1 else f"{text} * {factor!r}"


def _test(name: str, bound: Bound) -> str:
    if math.isinf(bound.low):
        return f"{name} < {bound.high!r}"
    if math.isinf(bound.high):
        return f"{name} >= {bound.low!r}"
    return f"{bound.low!r} <= {name} < {bound.high!r}"


def _sources(space: Any) -> list[str]:
    """Return where the entries of an observation stand in it, as Python, in their order."""
    parts = sorted(_parts(space, ()), key=lambda part: order_of_parts(".".join(map(str, part[0]))))
    found = []
    for path, shape in parts:
        source = "observation" + "".join(f"[{key!r}]" for key in path)
        places = np.ndindex(*shape) if shape else [()]
        found += [source + "".join(f"[{place}]" for place in one) for one in places]
    return found


def _parts(space: Any, path: tuple[Any, ...]) -> Iterator[tuple[tuple[Any, ...], tuple[int, ...]]]:
    """Yield the way to each part of an observation, and its shape."""
    if isinstance(space, spaces.Dict | spaces.Tuple):
        inner = space.spaces.items() if isinstance(space, spaces.Dict) else enumerate(space.spaces)
        for key, one in inner:
            yield from _parts(one, (*path, key))
    else:
        yield path, tuple(space.shape or ())


def _one_line(text: str) -> str:
    """Return a name as it may stand in a comment or between quotes."""
    return _clean(text, 100)


def _clean(text: str, most: int = 2000) -> str:
    return printable(" ".join(text.split()), most).replace("\\", "/").replace('"', "'")
