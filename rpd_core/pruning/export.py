"""Pruned policies as files: written by `rpd prune --export`, read as `--policy pruned:path`.

The file is a zip with `pruned.json` (specs, fitted parameters, where it comes from), `keys.npy`
(keys of the states that keep the policy) and the input files of the policy and the default action.
"""

from __future__ import annotations

import dataclasses
import io
import json
import os
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rpd_core.config.configuration import chain_of
from rpd_core.errors import ConfigError, SpecError, one_line
from rpd_core.pipeline import Results
from rpd_core.play.actions import first_action, in_every_lane
from rpd_core.play.chance import Domain, Draws, canonical, domain_keys, episode_keys, state_keys
from rpd_core.play.jobs import TopStates
from rpd_core.play.loop import Recipe
from rpd_core.play.prepare import fitted_fields, restore_fitted
from rpd_core.plugin.chain import needs_of, opened
from rpd_core.plugin.protocols import Choice, Facts, Moment, Opening, Policy, PolicyInput
from rpd_core.plugin.registry import installed
from rpd_core.store.directory import write_whole
from rpd_core.store.provenance import versions

if TYPE_CHECKING:
    from rpd_core.plugin.protocols import Array, Batch, BoolArray, KeyArray

FORMAT = 1
_INPUT = "inputs/"
_LARGEST = 2**31
_NOT_PRUNED = (
    OSError, KeyError, TypeError, ValueError, AttributeError, EOFError, zipfile.BadZipFile,
)  # fmt: skip


def export_pruned(results: Results, path: Path, fraction: float = 0.9) -> dict[str, Any]:
    """Write the pruned policy that was chosen for a fraction of the return; give what it is."""
    chosen = results.pruning.confirmations.get((fraction, "portfolio"))
    if chosen is None or not chosen.confirmed:
        raise ConfigError(
            f"no pruned policy was confirmed to keep {fraction:.0%} of the return, so there is "
            "none to export: try more --episodes or --unvisited policy"
        )
    suite, candidate = results.setup.config.suite, chosen.candidate
    about = {
        "format": FORMAT,
        "env": suite.env,
        "policy": without_trust("policy", suite.policy),
        "abstraction": list(suite.abstraction),
        "fitted": fitted_fields(results.setup.recipe),
        "default_action": without_trust("default-action", suite.default_action),
        "unvisited": results.setup.config.analysis.unvisited,
        "measure": candidate.name,
        "states": candidate.share,
        "kept": candidate.kept,
        "steps": chosen.step_share,
        "return_mean": chosen.mean_return,
        "inputs": _inputs(results.setup.recipe),
        "versions": versions(),
    }
    ranking = results.analysis.rankings[candidate.name]
    write_whole(path, _packed(about, ranking.ranked_keys[: candidate.kept], ranking.ranked_keys))
    return about


def _inputs(recipe: Recipe) -> dict[str, dict[str, str]]:
    """Give the input files of policy and default action: where each is used, what it is called.

    Names keep the folders below the one that holds them all, because a loader may look for one
    file beside another.
    """
    found = {
        **input_paths(recipe.policy, "policy"),
        **input_paths(recipe.default_action, "default_action"),
    }
    if not found:
        return {}
    root = os.path.commonpath([path.parent for path in found.values()])
    return {
        place: {"file": str(path), "member": f"{_INPUT}{path.relative_to(root).as_posix()}"}
        for place, path in found.items()
    }


def input_paths(component: Any, place: str) -> dict[str, Path]:
    """Give the files that a recipe reads, by the place of the field that names each."""
    extra: tuple[Path, ...] = getattr(component, "inputs", tuple)()
    found = {f"{place}.inputs.{i}": Path(path).absolute() for i, path in enumerate(extra)}
    if dataclasses.is_dataclass(component):
        for item in dataclasses.fields(component):
            value = getattr(component, item.name)
            if isinstance(value, Path):
                found[f"{place}.{item.name}"] = value.absolute()
            elif dataclasses.is_dataclass(value):
                found |= input_paths(value, f"{place}.{item.name}")
    return found


def _packed(about: dict[str, Any], kept: KeyArray, ranked: KeyArray) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("pruned.json", json.dumps(about, indent=2))
        for name, keys in (("keys.npy", kept), ("ranked.npy", ranked)):
            stream = io.BytesIO()
            np.save(stream, keys, allow_pickle=False)
            archive.writestr(name, stream.getvalue())
        for member in {one["member"]: one["file"] for one in about["inputs"].values()}.items():
            archive.write(member[1], member[0])
    return buffer.getvalue()


def without_trust(kind: str, text: str) -> str:
    """Give a spec without its trust: whoever receives the file decides that for themselves."""
    spec = installed().parse(kind, text)
    values = {key: value for key, value in spec.values.items() if key != "trust"}
    if spec.nested:
        values[spec.first] = without_trust("policy", values[spec.first])
    return str(dataclasses.replace(spec, values=values))


@dataclass(frozen=True)
class PrunedFile:
    """A pruned policy written by `rpd prune --export`."""

    path: Path
    """The exported file."""
    trust: bool = False
    """Let the file name code of yours and load the policy inside in full."""

    @property
    def needs(self) -> tuple[str, ...]:
        return needs_of(_abstraction(self.about()))

    def about(self) -> dict[str, Any]:
        """Read what the file says of itself."""
        with _reading(self.path), zipfile.ZipFile(self.path) as archive:
            if sum(entry.file_size for entry in archive.infolist()) > _LARGEST:
                raise SpecError(f"{str(self.path)!r} unpacks to more than 2 GB: refused")
            about: dict[str, Any] = json.loads(archive.read("pruned.json"))
            if about.get("format") != FORMAT:
                raise SpecError(
                    f"{str(self.path)!r} has format {about.get('format')!r}; {FORMAT} is needed"
                )
            wanted = {"env": str, "policy": str, "default_action": str, "inputs": dict}
            for key, kind in (wanted | {"abstraction": list, "fitted": list}).items():
                if not isinstance(about[key], kind):
                    raise ValueError(f"{key} is {about[key]!r}")
            if not self.trust:
                for component, key in (("policy", "policy"), ("default-action", "default_action")):
                    refuse_code(component, about[key], self.path)
                refuse_code("environment", about["env"], self.path)
        return about

    def describe(self) -> dict[str, str]:
        """Give what the file says, without an environment."""
        about = self.about()
        shown = ("env", "policy", "default_action", "measure", "kept", "return_mean")
        return {key: str(about.get(key)) for key in shown}

    def load(self, facts: Facts) -> Policy:
        """Put policy, abstraction and default action together again."""
        about = self.about()
        with (
            _reading(self.path),
            zipfile.ZipFile(self.path) as archive,
            tempfile.TemporaryDirectory() as folder,
        ):
            kept = np.load(io.BytesIO(archive.read("keys.npy")), allow_pickle=False)
            ranked = np.load(io.BytesIO(archive.read("ranked.npy")), allow_pickle=False)
            files = {
                place: _extract(archive, one["member"], folder)
                for place, one in about["inputs"].items()
            }
            made = installed().make("policy", about["policy"])
            policy = _moved(made, "policy", files, self.trust).load(facts)
            other = installed().make("default-action", about["default_action"])
            default = _moved(other, "default_action", files, self.trust).open(facts)
            abstraction = opened(_abstraction(about), facts)
        point = np.array([[0, len(kept)]])
        keep = TopStates((ranked,), point, about.get("unvisited") == "policy")
        return _Pruned(policy, default, abstraction, keep)


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Say in one line that a file is not what it should be."""
    try:
        yield
    except FileNotFoundError:
        raise SpecError(f"{str(path)!r} does not exist: check the path") from None
    except _NOT_PRUNED as error:
        raise SpecError(
            f"{str(path)!r} is no exported pruned policy ({one_line(error)})"
        ) from error


def refuse_code(kind: str, text: str, path: Path) -> None:
    """Refuse a spec from a file that would import or run code of someone's choice."""
    spec = installed().parse(kind, text)
    foreign = kind == "environment" and ":" in spec.values.get(spec.first, "")
    if spec.nested and kind == "default-action":
        refuse_code("policy", spec.values[spec.first], path)
    if foreign or spec.name in ("python", "pruned") or "extractor" in spec.values:
        raise SpecError(
            f"{path.name} names {text!r}, which may import code: refused. If you trust whoever "
            "made the file, add trust=true or --trust-policy"
        )


def _extract(archive: zipfile.ZipFile, name: str, folder: str) -> Path:
    """Write an input file below a folder, and never elsewhere."""
    target = (Path(folder) / name).resolve()
    if not target.is_relative_to(Path(folder).resolve()):
        raise SpecError(f"the pruned policy holds a file outside its folder, {name!r}: refused")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(archive.read(name))
    return target


def _moved(component: Any, place: str, files: Mapping[str, Path], trust: bool) -> Any:
    """Give a recipe that reads the extracted files and is trusted only as far as asked."""
    changes: dict[str, Any] = {}
    for item in dataclasses.fields(component):
        value = getattr(component, item.name)
        if isinstance(value, Path):
            changes[item.name] = files[f"{place}.{item.name}"]
        elif item.name == "trust":
            changes["trust"] = trust
        elif dataclasses.is_dataclass(value):
            changes[item.name] = _moved(value, f"{place}.{item.name}", files, trust)
    return dataclasses.replace(component, **changes)


def _abstraction(about: Mapping[str, Any]) -> Any:
    chain = chain_of(installed(), about["abstraction"])[0]
    return restore_fitted(chain, about["fitted"])


@dataclass
class _Pruned:
    """The policy in the kept states, the default action elsewhere."""

    policy: Policy
    default: Any
    abstraction: Any
    keep: TopStates

    @property
    def needs(self) -> tuple[str, ...]:
        users = (self.policy, self.default, self.abstraction)
        return tuple(dict.fromkeys(name for user in users for name in needs_of(user)))

    def __call__(self, seen: PolicyInput) -> Choice:
        keys = state_keys(canonical(self.abstraction(seen.observations, seen.views)))
        kept = self.keep(keys, np.zeros(len(keys), dtype=np.int64))
        choice = self.policy(seen)
        default = self.default(
            Moment(
                seen.observations,
                seen.views,
                seen.previous,
                seen.rewards,
                seen.starts,
                state_draws=Draws(seen.draws.roots, keys).split(1),
                step_draws=seen.draws.split(2),
            )
        )
        actions = np.asarray(choice.actions)
        flags = kept.reshape(kept.shape + (1,) * (actions.ndim - 1))
        return Choice(np.where(flags, actions, default), memory=choice.memory)

    def describe(self) -> dict[str, str]:
        """Say what it is."""
        inner: dict[str, str] = getattr(self.policy, "describe", dict)()
        return {"pruned to": f"{int(self.keep.cutoffs[0])} states", **inner}


class PrunedPredictor:
    """A pruned policy with a `predict` like that of stable-baselines3."""

    def __init__(self, path: str | Path, trust: bool = False, seed: int = 0) -> None:
        self.file = PrunedFile(Path(path).absolute(), trust)
        lanes = installed().make("environment", self.file.about()["env"]).open(Opening(1))
        self.facts: Facts = lanes.facts
        lanes.close()
        self.seed = seed
        self._episodes = 0
        self._loaded: dict[int, Policy] = {}

    def __call__(self, observation: Batch, **options: Any) -> Array:
        """Give the action for an observation or a batch of them."""
        return self.predict(observation, **options)[0]

    def predict(
        self,
        observation: Batch,
        state: dict[str, Any] | None = None,
        episode_start: BoolArray | None = None,
        deterministic: bool = True,
        views: Mapping[str, Array] | None = None,
    ) -> tuple[Array, dict[str, Any]]:
        """Give (actions, state); hand the state back at the next step.

        `state` holds the last actions, which the default action may repeat, and whatever the
        policy remembers. Whether the policy samples was fixed when it was exported.
        """
        single = not self._is_batch(observation)
        batch = _add_axis(observation) if single else observation
        lanes = len(next(iter(batch.values())) if isinstance(batch, dict) else batch)
        state = state or self._fresh_state()
        starts = np.array([state["previous"] is None] * lanes)
        if episode_start is not None:
            starts |= np.asarray(episode_start, dtype=bool)
        choice = self._policy(lanes)(self._input(batch, views, state, starts, lanes))
        following = {
            **state, "memory": choice.memory, "previous": choice.actions, "step": state["step"] + 1,
        }  # fmt: skip
        return (choice.actions[0] if single else choice.actions), following

    def _fresh_state(self) -> dict[str, Any]:
        """Start an episode; each has draws of its own, for policies that sample."""
        self._episodes += 1
        return {"memory": None, "previous": None, "step": 0, "episode": self._episodes}

    def _input(
        self,
        batch: Batch,
        views: Mapping[str, Array] | None,
        state: dict[str, Any],
        starts: BoolArray,
        lanes: int,
    ) -> PolicyInput:
        identity = episode_keys(self.seed, 0, np.arange(lanes), part=state["episode"])
        facts = dataclasses.replace(self.facts, lanes=lanes)
        previous = (
            in_every_lane(first_action(facts), facts)
            if state["previous"] is None
            else state["previous"]
        )
        draws = Draws(domain_keys(identity, Domain.POLICY), np.full(lanes, state["step"]))
        return PolicyInput(
            batch, views or {}, starts, state["memory"], draws, previous, np.zeros(lanes)
        )

    def _is_batch(self, observation: Batch) -> bool:
        first: Any = observation
        space = self.facts.observation_space
        if isinstance(observation, dict):
            name = next(iter(observation))
            first, space = observation[name], space[name]
        return bool(np.ndim(first) == len(space.shape) + 1)

    def _policy(self, lanes: int) -> Policy:
        if lanes not in self._loaded:
            self._loaded[lanes] = self.file.load(dataclasses.replace(self.facts, lanes=lanes))
        return self._loaded[lanes]


def _add_axis(observation: Batch) -> Batch:
    if isinstance(observation, dict):
        return {name: np.asarray(part)[None] for name, part in observation.items()}
    return np.asarray(observation)[None]
