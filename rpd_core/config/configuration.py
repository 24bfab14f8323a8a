"""What a run is asked to do: requests, resolved configurations, identities."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import pickle
import types
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from rpd_core.errors import ConfigError, SpecError
from rpd_core.play.loop import Recipe
from rpd_core.plugin.chain import Chain
from rpd_core.plugin.protocols import PROTOCOLS, Task
from rpd_core.plugin.registry import Registry
from rpd_core.plugin.specs import Spec

PORTFOLIO = ("tarantula", "ochiai", "zoltar", "wong2")
"""The paper's four measures."""
STANDARD_MEASURES = (*PORTFOLIO, "freqvis")
STANDARD_SHARES = (
    0.0, 0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.125, 0.15, 0.175, 0.2, 0.225, 0.25,
    0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.8, 0.9, 1.0,
)  # fmt: skip
THRESHOLDS = (0.9, 0.5)

Unvisited = Literal["default", "policy"]


@dataclass(frozen=True)
class Request:
    """What the user asked for; None where the task's recommendation is wanted.

    Environment, policy and default action may be spec strings or recipes made in Python.
    """

    env: Any
    policy: Any = None
    abstraction: tuple[Any, ...] = ()
    default_action: Any = None
    condition: str | None = None
    measures: tuple[str, ...] = ()
    mutation_rate: float | None = None
    episodes: int | None = None
    test_episodes: int | None = None
    seed: int = 0
    unvisited: Unvisited = "default"
    lanes: int | None = None
    chunk: int | None = None
    shares: tuple[float, ...] = ()
    random_rankings: int = 8
    reference: float | None = None
    trust_policy: bool = False
    """Let policy files run code, where the loader has a parameter `trust`."""


@dataclass(frozen=True)
class SuiteConfig:
    """What fixes every episode of a suite, as text and numbers."""

    env: str
    policy: str
    abstraction: tuple[str, ...]
    default_action: str
    mutation_rate: float
    max_steps: int
    lanes: int
    seed: int
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Every parameter of the four components, input files as hashes of their content."""

    def digest(self) -> str:
        """Give a short name for this configuration."""
        return short_digest(self.identity())

    def identity(self) -> dict[str, Any]:
        """Give what must be equal for two suites to hold the same episodes."""
        exact = {key: getattr(self, key) for key in ("mutation_rate", "max_steps", "lanes", "seed")}
        return {**exact, **self.parameters}


@dataclass(frozen=True)
class AnalysisConfig:
    """What is asked of a suite; nothing here changes an episode of it."""

    condition: str
    measures: tuple[str, ...]
    unvisited: Unvisited
    test_episodes: int
    shares: tuple[float, ...]
    random_rankings: int
    reference: float | None
    """Return that thresholds are measured from; None: random play."""


@dataclass(frozen=True)
class RunConfig:
    """A whole run."""

    suite: SuiteConfig
    analysis: AnalysisConfig
    episodes: int
    chunk: int

    def as_json(self) -> dict[str, Any]:
        """Give the configuration as plain JSON values."""
        plain: dict[str, Any] = json.loads(json.dumps(dataclasses.asdict(self)))
        return plain

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> RunConfig:
        """Read a stored configuration."""
        suite = dict(plain["suite"], abstraction=tuple(plain["suite"]["abstraction"]))
        analysis = dict(plain["analysis"])
        for name in ("measures", "shares"):
            analysis[name] = tuple(analysis[name])
        return cls(
            SuiteConfig(**suite), AnalysisConfig(**analysis), plain["episodes"], plain["chunk"]
        )


@dataclass(frozen=True)
class Setup:
    """A configuration with the recipes it selects."""

    config: RunConfig
    recipe: Recipe
    task: Task


def resolve(request: Request, registry: Registry) -> Setup:
    """Fill a request with the task's recommendations and check every number."""
    environment, env_text = _component(registry, "environment", request.env)
    task: Task = environment.task()
    chosen = request.policy if request.policy is not None else task.policy
    if chosen is None:
        raise ConfigError(f"no policy ships with {env_text!r}: give one, for example sb3:path.zip")
    default_choice = request.default_action or task.default_action
    if request.trust_policy:
        chosen = trusted(registry, chosen)
        default_choice = trusted(registry, default_choice, "default-action")
    policy, policy_text = _component(registry, "policy", chosen)
    abstraction, abstraction_text = chain_of(registry, request.abstraction or task.abstraction)
    default, default_text = _component(registry, "default-action", default_choice)
    recipe = Recipe(
        environment, policy, abstraction, default, _or(request.lanes, task.lanes), task.max_steps
    )
    suite = SuiteConfig(
        env=env_text,
        policy=policy_text,
        abstraction=abstraction_text,
        default_action=default_text,
        mutation_rate=_or(request.mutation_rate, task.mutation_rate),
        max_steps=task.max_steps,
        lanes=recipe.lanes,
        seed=request.seed,
        parameters=_parameters(recipe),
    )
    config = RunConfig(
        suite, _analysis(request, task, registry), _or(request.episodes, task.episodes),
        _or(request.chunk, task.chunk),
    )  # fmt: skip
    check(config)
    return Setup(config, recipe, task)


def trusted(registry: Registry, chosen: Any, kind: str = "policy") -> Any:
    """Set `trust=true` in the spec of a policy, or of a default action that is one."""
    if not isinstance(chosen, str):
        return chosen
    spec = registry.parse(kind, chosen)
    if spec.nested and kind == "default-action":
        inner = {spec.first: str(trusted(registry, spec.values[spec.first]))}
        return dataclasses.replace(spec, values={**spec.values, **inner})
    if "trust" not in {p.name for p in registry.describe(kind, spec.name).parameters}:
        return spec
    return dataclasses.replace(spec, values={**spec.values, "trust": "true"})


def _or(given: Any, recommended: Any) -> Any:
    return recommended if given is None else given


def _analysis(request: Request, task: Task, registry: Registry) -> AnalysisConfig:
    condition = str(registry.parse("condition", request.condition or task.condition))
    registry.make("condition", condition)
    measures = [str(registry.parse("measure", text)) for text in request.measures]
    if reserved := sorted({"portfolio", "random", "random_best"} & set(measures)):
        raise ConfigError(
            f"{reserved[0]!r} is always shown and cannot be added: for one random order write "
            "random:seed=1"
        )
    for text in measures:
        registry.make("measure", text)
    return AnalysisConfig(
        condition=condition,
        measures=tuple(dict.fromkeys((*STANDARD_MEASURES, *measures))),
        unvisited=request.unvisited,
        test_episodes=_or(request.test_episodes, task.test_episodes),
        shares=tuple(sorted({*(request.shares or task.shares or STANDARD_SHARES)})),
        random_rankings=request.random_rankings,
        reference=_or(request.reference, task.reference),
    )


def _component(registry: Registry, kind: str, chosen: Any) -> tuple[Any, str]:
    """Give the recipe and the text of a choice: a spec string, or a recipe made in Python."""
    if isinstance(chosen, str | Spec):
        spec = registry.parse(kind, chosen) if isinstance(chosen, str) else chosen
        return registry.make(kind, spec), str(spec)
    if callable(chosen) and not dataclasses.is_dataclass(chosen):
        name = f"python:{chosen.__module__}:{getattr(chosen, '__qualname__', 'function')}"
        return registry.resolve(kind, "python")(chosen), name
    protocol = next(protocol for protocol, name in PROTOCOLS.items() if name == kind)
    if not isinstance(chosen, protocol):
        raise ConfigError(f"{kind} must be a spec string, a recipe or a function, got {chosen!r}")
    return chosen, type(chosen).__name__


def chain_of(registry: Registry, chosen: Sequence[Any]) -> tuple[Chain, tuple[str, ...]]:
    """Give the chain of some abstractions and the text of each."""
    pairs = [_component(registry, "abstraction", one) for one in chosen]
    return Chain(tuple(link for link, _ in pairs)), tuple(text for _, text in pairs)


def _parameters(recipe: Recipe) -> dict[str, Any]:
    chain = recipe.abstraction
    links = chain.links if isinstance(chain, Chain) else [chain]
    return {
        "env": component_identity(recipe.environment),
        "policy": component_identity(recipe.policy),
        "abstraction": [component_identity(link) for link in links],
        "default_action": component_identity(recipe.default_action),
    }


def component_identity(component: Any) -> dict[str, Any]:
    """Give the class and every parameter of a recipe; a file counts by its content."""
    kind = type(component)
    found: dict[str, Any] = {"class": f"{kind.__module__}.{kind.__qualname__}"}
    if dataclasses.is_dataclass(component):
        for item in dataclasses.fields(component):
            if not item.metadata.get("not_identity"):
                found[item.name] = _plain(getattr(component, item.name))
    for files in _CONTENTS:
        for path in getattr(component, files, tuple)():
            found.setdefault(files, []).append(file_digest(path))
    return found


def _plain(value: Any) -> Any:
    if isinstance(value, Path):
        return file_digest(value)
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in sorted(value.items())}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if dataclasses.is_dataclass(value):
        return component_identity(value)
    if isinstance(value, functools.partial):
        return {"of": _plain(value.func), "args": _plain(value.args), **_plain(value.keywords)}
    if callable(value):  # by name: the text of an object holds its address, new in every process
        named = value if hasattr(value, "__qualname__") else type(value)
        return f"{named.__module__}.{named.__qualname__}{_function_digest(value)}"
    return str(value)


def _function_digest(value: Any) -> str:
    """Tell functions of one name apart, lambdas above all: by code, defaults and closure."""
    code = getattr(value, "__code__", None)
    if code is None:
        return _object_digest(value)
    closure = [cell.cell_contents for cell in value.__closure__ or ()]
    held = [_plain(item) for item in (*(value.__defaults__ or ()), *closure) if item is not value]
    return f"#{short_digest([_code_text(code), held])}"


def _object_digest(value: Any) -> str:
    """Tell objects of one class apart that can be called: by what they hold."""
    if isinstance(value, type):
        return ""
    try:
        return f"#{short_digest(pickle.dumps(value, protocol=4).hex())}"
    except Exception:  # what cannot be pickled is known by its class alone
        return ""


def _code_text(code: types.CodeType) -> list[Any]:
    constants = [
        _code_text(item) if isinstance(item, types.CodeType) else repr(item)
        for item in code.co_consts
    ]
    return [code.co_code.hex(), constants, code.co_names, code.co_varnames]


def file_digest(path: Path) -> str:
    """Hash the content of an input file, or say that it is missing or empty."""
    if not path.is_file():
        what = "is a directory, not a file" if path.is_dir() else "does not exist"
        raise SpecError(f"{str(path)!r} {what}: check the path")
    if path.stat().st_size == 0:
        raise SpecError(f"{str(path)!r} is empty: save the file again")
    with path.open("rb") as stream:
        return "sha256:" + hashlib.file_digest(stream, "sha256").hexdigest()


def short_digest(value: Any) -> str:
    """Give eight hexadecimal digits that stand for a JSON value."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def check(config: RunConfig) -> None:
    """Refuse numbers that cannot work."""
    rate = config.suite.mutation_rate
    if not isinstance(rate, int | float):
        raise ConfigError(f"mutation_rate must be a number, got {rate!r}")
    if not 0 < rate < 1:
        hint = f" Did you mean {rate / 100:g}?" if 1 < rate < 100 else ""
        raise ConfigError(f"mutation_rate must lie in (0, 1), got {rate:g}.{hint}")
    counts = {
        "episodes": config.episodes,
        "chunk": config.chunk,
        "lanes": config.suite.lanes,
        "max_steps": config.suite.max_steps,
        "test_episodes": config.analysis.test_episodes,
        "random_rankings": config.analysis.random_rankings,
    }
    for name, value in {**counts, "seed": config.suite.seed}.items():
        if not isinstance(value, int):
            raise ConfigError(f"{name} must be a whole number, got {value!r}")
    for name, value in counts.items():
        if value < 1:
            raise ConfigError(f"{name} must be at least 1, got {value}")
    if config.suite.seed < 0:
        raise ConfigError(f"seed must not be negative, got {config.suite.seed}")
    if not all(0 <= share <= 1 for share in config.analysis.shares):
        raise ConfigError(f"shares must lie in [0, 1], got {list(config.analysis.shares)}")
    if config.analysis.unvisited not in ("default", "policy"):
        raise ConfigError(f"unvisited must be default or policy, got {config.analysis.unvisited!r}")
    if rate * config.episodes < 1:
        raise ConfigError(
            f"{config.episodes} episodes at mutation rate {rate:g} mutate almost nothing: "
            "ask for more episodes"
        )


def differences(stored: Any, asked: Any, at: str = "") -> list[str]:
    """List where two JSON values differ, as `name: stored X, asked Y`."""
    if isinstance(stored, Mapping) and isinstance(asked, Mapping):
        found = []
        for key in sorted({*stored, *asked}):
            inner = f"{at}.{key}" if at else str(key)
            found += differences(stored.get(key), asked.get(key), inner)
        return found
    if stored == asked:
        return []
    owner, _, name = at.rpartition(".")
    if name in _CONTENTS and stored and asked:
        return [f"{owner}: {_CONTENTS[name]} has changed"]
    return [f"{at}: stored {stored!r}, asked {asked!r}"]


_CONTENTS = {"inputs": "the content of its file", "sources": "the text of its module"}
"""What component identities hold as digests, which tell nobody anything."""
