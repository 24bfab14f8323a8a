"""The paper's evaluation on top of a grid: its tasks and settings, ours beside its numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Unpack

from rpd_core.config.settings import PORTFOLIO, declared
from rpd_core.config.typed import check_files
from rpd_core.errors import ConfigError
from rpd_core.plugin.registry import installed
from rpd_studies.grid import PlayingGrid, grid
from rpd_studies.pages import write_reproduction
from rpd_studies.paper import ACTIONS, PaperTask, Reproduction, paper_task, reproduction
from rpd_studies.plan import Cell, Plan, check_plan

SHIPPED = ("MiniGrid", "CartPole")
"""Tasks whose policies ship with rpd; the ones that are played where none is named."""
REPEATS = 5
_RANKINGS = (*PORTFOLIO, "freqvis")
"""What the paper ranks by, besides at random."""
FOLDER = "reproduce"


@dataclass(frozen=True)
class Wanted:
    """What of the paper is to be made again."""

    tasks: tuple[str, ...] = SHIPPED
    policies: Mapping[str, Any] = field(default_factory=dict)
    """By task; where there is none, the one that ships."""
    repeats: int = REPEATS
    default_actions: tuple[str, ...] = ACTIONS
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Settings in place of the paper's."""

    def __post_init__(self) -> None:
        if isinstance(self.repeats, bool) or not 1 <= self.repeats <= 1000:
            raise ConfigError(f"repeats must be a whole number in 1..1000, got {self.repeats!r}")
        names = [paper_task(name).name for name in self.tasks]
        for name in names:
            if names.count(name) > 1:
                raise ConfigError(f"{name} is named twice: once is enough")
            if name not in SHIPPED and name not in self.known_policies():
                raise ConfigError(
                    f"no policy ships for {name}: give one, for example --policy "
                    f"{name}=torchscript:policy.pt"
                )
        for name in self.known_policies():
            if name not in names:
                raise ConfigError(
                    f"there is a policy for {name}, but only {', '.join(names)} would be played: "
                    f"name the task {name}, too, or leave its policy out"
                )

    def known_policies(self) -> dict[str, Any]:
        """Return the policies by the names of the paper's tasks."""
        return {paper_task(name).name: policy for name, policy in self.policies.items()}

    def rows(self) -> list[tuple[PaperTask, str]]:
        """Return each task with each default action."""
        tasks = [paper_task(name) for name in self.tasks]
        return [(task, action) for task in tasks for action in self.default_actions]

    def plan(self) -> Plan:
        """Return the grid behind the tables."""
        policies = self.known_policies()
        cells = []
        for task, action in self.rows():
            own = _paper_settings(task, action)
            if task.name in policies:
                own["policy"] = policies[task.name]
            cells.append(Cell({**own, **self.settings}, ("env", "default_action")))
        seeds = tuple(range(self.repeats))
        plan = Plan(FOLDER, tuple(cells), seeds, "sweep", rankings=_RANKINGS, folder=FOLDER)
        check_plan(plan, installed(), "reproduce")
        for cell in cells:
            check_files(cell.settings, installed())
        return plan


def _paper_settings(task: PaperTask, action: str) -> dict[str, Any]:
    return {**task.settings(), "default_action": action, "sweep": "full"}


def reproduce(
    *tasks: str,
    policy: Any = None,
    repeats: int = REPEATS,
    default_actions: Sequence[str] = ACTIONS,
    settings: Mapping[str, Any] | None = None,
    **how: Unpack[PlayingGrid],
) -> Reproduction:
    """Play the paper's evaluation again and return its tables with the paper's numbers beside.

    Without `tasks`, those whose policies ship. `policy` is that of the only task, or a mapping by
    task. `settings` take the place of the paper's; `out` is the folder of the runs and the tables.
    """
    wanted = wanted_of(tasks, policy, repeats, default_actions, settings or {})
    played = grid(wanted.plan(), **how)
    policies = wanted.known_policies()
    rows = [(task, action, str(policies.get(task.name, ""))) for task, action in wanted.rows()]
    found = reproduction(played, rows, how.get("workers", 1), notes_on(wanted))
    write_reproduction(found, Path(played.folder))
    return found


def wanted_of(
    tasks: Sequence[str],
    policy: Any = None,
    repeats: int = REPEATS,
    default_actions: Sequence[str] = ACTIONS,
    settings: Mapping[str, Any] | None = None,
) -> Wanted:
    """Return what the arguments of `reproduce` ask for; every name in it is checked."""
    policies = policy if isinstance(policy, Mapping) else {}
    names = tuple(tasks) or tuple(policies) or SHIPPED
    if policy is not None and not isinstance(policy, Mapping):
        if len(names) != 1:
            raise ConfigError(
                "one policy fits one task: name the task, or give TASK=POLICY for each"
            )
        policies = {names[0]: policy}
    return Wanted(names, policies, repeats, tuple(default_actions), settings or {})


def notes_on(wanted: Wanted) -> list[str]:
    """Return what makes the numbers incomparable with the paper's."""
    notes, known = [], wanted.known_policies()
    for name in dict.fromkeys(task.name for task, _ in wanted.rows()):
        if name not in known:
            notes.append(f"{name} is played with the policy that ships, which is not the paper's")
    unlike = [
        task.name
        for task, _ in wanted.rows()
        if task.condition is None and "condition" not in wanted.settings
    ]
    if unlike:
        notes.append(
            f"{', '.join(dict.fromkeys(unlike))}: random play would pass the printed condition, so "
            "the cut that splits the suite best takes its place"
        )
    changed = _changed_settings(wanted)
    if changed:
        notes.append(f"not the paper's settings: {', '.join(changed)}")
    if wanted.repeats == 1:
        notes.append("one repeat has no deviation, and seeds differ a lot")
    return notes


def _changed_settings(wanted: Wanted) -> list[str]:
    """Return the names of the settings that some task would have with another value."""
    defaults = {name: setting.default for name, setting in declared().items()}
    usual = [{**defaults, **_paper_settings(task, action)} for task, action in wanted.rows()]
    return [
        name
        for name, value in wanted.settings.items()
        if any(settings.get(name) != value for settings in usual)
    ]
