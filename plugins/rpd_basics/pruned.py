"""Pruned policies of a file: `--policy pruned:path`."""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from rpd_basics.export import FORMAT, export_pruned
from rpd_basics.rule_export import RULE_FORMATS, Certificate, export_rules
from rpd_basics.stored_facts import facts_from_json
from rpd_core.chance import Draws, canonical, state_keys
from rpd_core.config.configuration import Json
from rpd_core.config.resolve import choose
from rpd_core.config.trust import refuse_code, with_trust
from rpd_core.errors import RpdError, SpecError, counted, one_line
from rpd_core.execute.items import moved
from rpd_core.play.actions import UNKNOWN_STATE, PolicyViews, of_environment
from rpd_core.play.deciders import TopStates
from rpd_core.play.prepare import restore_default, restore_fitted
from rpd_core.plugin.chain import Chain, needs_of, opened
from rpd_core.plugin.protocols import (
    Choice,
    Environment,
    Facts,
    Moment,
    Opening,
    Policy,
    PolicyInput,
    permission,
)
from rpd_core.plugin.protocols.optional import DescribesItself
from rpd_core.plugin.registry import installed
from rpd_core.untrusted.arrays import read_array
from rpd_core.untrusted.boundary import Budget, Flaw, printable
from rpd_core.untrusted.files import check_regular, open_regular, read_json
from rpd_core.untrusted.zips import BoundedZip

if TYPE_CHECKING:
    from rpd_core.plugin.protocols import (
        Abstraction,
        Array,
        BoolArray,
        DefaultActor,
        KeyArray,
    )
    from rpd_core.results.run import Run

_LARGEST = 2**31
_MOST_MEMBERS = 10_000
_EXPECTED = {
    "env": str, "policy": str, "default_action": str, "inputs": dict, "abstraction": list,
    "fitted": list,
}  # fmt: skip


@dataclass(frozen=True)
class PrunedFile:
    """A pruned policy written by `rpd prune --export`."""

    path: Path
    """The exported file."""
    trust: bool = permission()
    """Let the file name components that run code, and load the policy inside in full."""

    exports: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "a policy to load": (".zip", ".rpd"),
        "its rules alone": RULE_FORMATS,
    }
    """What a smallest policy is written as, with the endings of such files."""

    @staticmethod
    def export(run: Run, path: Path, fraction: float | None = None) -> list[str]:
        """Write the smallest policy of a run that was just made; return what to say of it."""
        if path.suffix in RULE_FORMATS:
            return [f"wrote {path}: {export_rules(run, path, fraction)}"]
        promise, chosen = export_pruned(run, path, fraction), run.policy(fraction)
        kept = "" if chosen is None else f"the policy in {counted(chosen.kept, 'state')}, "
        return [f"wrote {path}: {kept}{promise}", f"use it: --policy pruned:{path}"]

    @property
    def runs_code(self) -> bool:
        """Whether code of the file's author may run."""
        return self.trust

    @property
    def needs(self) -> tuple[str, ...]:
        return of_environment(needs_of(self._abstraction(self.about())))

    def about(self) -> Json:
        """Read what the file says of itself."""
        with _opened(self.path) as archive:
            about: Json = read_json(archive.read("pruned.json"), archive.budget)
            if about.get("format") != FORMAT:
                raise SpecError(
                    f"{str(self.path)!r} has format {about.get('format')!r}; {FORMAT} is needed"
                )
            for key, kind in _EXPECTED.items():
                if not isinstance(about[key], kind):
                    raise ValueError(f"{key} is {about[key]!r}")
        return about

    def environment(self) -> Environment:
        """Return the environment that the policy was pruned in."""
        made: Environment = self._made("environment", self.about()["env"])
        return made

    def _made(self, kind: str, text: str) -> Any:
        """Return a component that the file names; one that may run code only if trusted."""
        if self.trust:
            return with_trust(choose(installed(), kind, text).recipe)
        return refuse_code(kind, text, installed(), self.path.name)

    def describe(self) -> dict[str, str]:
        """Return what the file says, without an environment."""
        about = self.about()
        shown = ("env", "policy", "default_action", "measure", "kept", "return_mean")
        said = {key: str(about.get(key)) for key in shown}
        try:
            said["certificate"] = str(Certificate(**about["certificate"]))
        except (KeyError, TypeError, ValueError, ArithmeticError):  # older, or forged
            said["certificate"] = "none"
        return said

    def facts(self) -> Facts:
        """Return what the file knows about the environment, which need not be there."""
        about = self.about()
        with _reading(self.path):
            if "facts" in about:
                return facts_from_json(about["facts"], str(self.path))
        lanes = self.environment().open(Opening(1))  # a file of an older version
        lanes.close()
        return lanes.facts

    def load(self, facts: Facts) -> Pruned:
        """Put policy, abstraction and default action together again."""
        about = self.about()
        with _opened(self.path) as archive, tempfile.TemporaryDirectory() as folder:
            kept, ranked = (_keys(archive, name) for name in ("keys.npy", "ranked.npy"))
            files = {
                place: _extract(archive, one["member"], folder)
                for place, one in about["inputs"].items()
            }
            made = self._placed("policy", "policy", about["policy"], files)
            policy = made.load(facts)
            other = self._placed("default-action", "default_action", about["default_action"], files)
            chain = self._abstraction(about)
            with _reading(self.path):
                other = restore_default(other, len(chain.links), about["fitted"])
            default = other.open(facts)
            abstraction = opened(chain, facts)
        point = np.array([[0, len(kept)]])
        keep = TopStates((ranked,), point, about.get("unvisited") == "policy")
        views = PolicyViews(abstraction, facts.action_space)
        return Pruned(policy, default, abstraction, keep, views)

    def _placed(self, kind: str, place: str, text: str, files: Mapping[str, Path]) -> Any:
        """Return a component that reads the extracted files in place of those it names."""
        recipe = self._made(kind, text)
        return _with_files(recipe, place, files)

    def _abstraction(self, about: Json) -> Chain:
        links = tuple(self._made("abstraction", text) for text in about["abstraction"])
        with _reading(self.path):
            return restore_fitted(Chain(links), about["fitted"])


@contextmanager
def _opened(path: Path) -> Iterator[BoundedZip]:
    """Open a file for as long as it is read."""
    with _reading(path), open_regular(path, "check the path") as stream:
        archive = BoundedZip(stream, Budget(_LARGEST))
        if archive.size() > _LARGEST or len(archive.names) > _MOST_MEMBERS:
            raise SpecError(f"{str(path)!r} unpacks to more than 2 GB: refused")
        yield archive


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Turn whatever a damaged file makes Python raise into one line."""
    name = printable(str(path), 300)
    try:
        check_regular(path, "check the path")
        yield
    except Flaw as error:
        raise SpecError(f"{name!r} is not an exported pruned policy: {error}") from error
    except RpdError:
        raise
    except Exception as error:  # a crafted file makes zipfile, zlib, NumPy and JSON raise anything
        reason = printable(one_line(error), 300)
        raise SpecError(f"{name!r} is not an exported pruned policy ({reason})") from error


def _keys(archive: BoundedZip, name: str) -> KeyArray:
    """Return the state keys in a member."""
    keys = read_array(name, archive.read(name))
    if keys.dtype.str != "<u8" or keys.ndim != 1:
        raise ValueError(f"{name} holds {keys.dtype} {keys.shape}, not a row of state keys")
    return keys


def _extract(archive: BoundedZip, name: str, folder: str) -> Path:
    """Write an input file below a folder, and never elsewhere."""
    target = (Path(folder) / name).resolve()
    if not target.is_relative_to(Path(folder).resolve()):
        raise SpecError(f"the pruned policy holds a file outside its folder, {name!r}: refused")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(archive.read(name))
    return target


def _with_files(recipe: Any, place: str, files: Mapping[str, Path]) -> Any:
    """Return a recipe whose paths, at any depth, are those of the extracted files."""
    changes: Json = {}
    for item in dataclasses.fields(recipe):
        value = getattr(recipe, item.name)
        if isinstance(value, Path):
            changes[item.name] = moved(value, {value.absolute(): files[f"{place}.{item.name}"]})
        elif dataclasses.is_dataclass(value) and not isinstance(value, type):
            changes[item.name] = _with_files(value, f"{place}.{item.name}", files)
    return dataclasses.replace(recipe, **changes)


@dataclass(frozen=True)
class Decided:
    """What a pruned policy does at one step, one row per lane, and who decides."""

    choice: Choice
    keys: KeyArray
    """States."""
    kept: BoolArray
    """Whether the policy decides."""
    policy: Array
    """What the policy wants to do."""
    default: Array
    """What the default action would do, or does."""


@dataclass
class Pruned:
    """The policy in the kept states, the default action elsewhere."""

    policy: Policy
    default: DefaultActor
    abstraction: Abstraction
    keep: TopStates
    policy_views: PolicyViews

    @property
    def needs(self) -> tuple[str, ...]:
        users = (self.policy, self.default, self.abstraction)
        return of_environment(name for user in users for name in needs_of(user))

    def __call__(self, seen: PolicyInput) -> Choice:
        return self.decide(seen).choice

    def decide(self, seen: PolicyInput) -> Decided:
        """Return what is done in each lane, and who decides."""
        choice = self.policy(seen)
        default: Array | None = None
        views = seen.views
        if self.policy_views:
            default = self._default(seen, UNKNOWN_STATE)
            views = {**views, **self.policy_views(choice, default)}
        keys = state_keys(canonical(self.abstraction(seen.observations, views)))
        kept = self.keep(keys, np.zeros(len(keys), dtype=np.int64))
        if default is None:
            default = self._default(seen, Draws(seen.draws.roots, keys).split(1))
        actions: Array = np.asarray(choice.actions)
        flags = kept.reshape(kept.shape + (1,) * (actions.ndim - 1))
        done = Choice(np.where(flags, actions, default), memory=choice.memory)
        return Decided(done, keys, kept, actions, default)

    def _default(self, seen: PolicyInput, state_draws: Draws) -> Array:
        moment = Moment(
            seen.observations,
            seen.views,
            seen.previous,
            seen.rewards,
            seen.starts,
            state_draws=state_draws,
            step_draws=seen.draws.split(2),
        )
        return np.asarray(self.default(moment))

    def describe(self) -> dict[str, str]:
        """Return what it is."""
        inner = self.policy.describe() if isinstance(self.policy, DescribesItself) else {}
        return {"pruned to": counted(int(self.keep.cutoffs[0]), "state"), **inner}
