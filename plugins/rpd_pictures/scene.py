"""A run with its policy and environment at hand, for panels that gather what only these show."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rpd_core.chance import canonical, state_keys
from rpd_core.errors import one_line
from rpd_core.play.loop import Plan, Step
from rpd_core.plugin.protocols import Gatherer, PanelFacts, SceneStep, Traces
from rpd_core.results.replay import find_episode
from rpd_core.results.run import Run
from rpd_core.store.files import file_stem
from rpd_pictures.traces import read_traces
from rpd_pictures.viewing import Viewer, picture_fault

if TYPE_CHECKING:
    from rpd_core.plugin.protocols import Array, Batch, KeyArray

_MOST_BYTES = 1_000_000
"""What one panel may gather."""


class Scene:
    """A run with its policy and environment at hand."""

    def __init__(
        self, run: Run, view: Callable[[], Viewer], first: Sequence[int], about: PanelFacts
    ) -> None:
        self.run, self._view = run, view
        self.about = about
        """What is known of the run."""
        self.first = tuple(first)
        """Keys of the first decisions of the smallest policy, those that are worth most first."""

    @property
    def viewer(self) -> Viewer:
        """Policy and environment; opened when they are first asked for."""
        return self._view()

    @property
    def traces(self) -> Traces | None:
        """Episodes step by step; None where no smallest policy is confirmed."""
        return read_traces(self.run)

    def replay(self, episode: str) -> Sequence[SceneStep]:
        """Play an episode again, for example `suite:17`; `pruned:3` is the fourth traced one."""
        asked, steps = find_episode(self.run, episode), list[SceneStep]()
        plan = Plan(np.zeros(1, dtype=np.int64), asked.identity)

        def record(step: Step) -> None:
            observed = step.observations
            mine = (
                {name: np.array(part[0]) for name, part in observed.items()}
                if isinstance(observed, dict)
                else np.array(observed[0])
            )
            steps.append(
                SceneStep(
                    int(step.number[0]),
                    int(step.keys[0]),
                    np.array(step.values[0]),
                    mine,
                    not step.kept[0],
                    self._frame(),
                )
            )

        self.viewer.player.play(plan, asked.keep(plan), record)
        return steps

    def _frame(self) -> Array | None:
        if not self.viewer.draws:
            return None
        frame = np.array(self.viewer.player.lanes.render(0))
        return None if picture_fault(frame) else frame

    def keys(self, observations: Batch) -> KeyArray:
        """Return the keys of the abstract states of a batch of observations, without views."""
        return state_keys(canonical(self.viewer.player.abstraction(observations, {})))


def gathered_by(
    panels: Mapping[str, Gatherer], scene: Scene, note: Callable[[str], None]
) -> dict[str, dict[str, bytes]]:
    """Return what each panel gathers; one that raises, or returns junk, is noted and left out."""
    found: dict[str, dict[str, bytes]] = {}
    for name, panel in panels.items():
        try:
            files = dict(panel.gather(scene))
            complaint = _complaint(files)
        except Exception as error:  # a stranger's panel may raise anything
            complaint = f"raised {one_line(error)}"
        if complaint:
            note(f"panel {name!r} gathers nothing: it {complaint}")
        else:
            found[name] = files
    return found


def _complaint(files: Mapping[Any, Any]) -> str:
    """Return what is wrong with what a panel gathered; empty if nothing is."""
    for name, content in files.items():
        if not isinstance(name, str) or not name or file_stem(name) != name:
            return f"names a file {name!r:.60}: use letters, digits, '-', '_' and '.'"
        if not isinstance(content, bytes):
            return f"returned {type(content).__name__} for {name!r}, not bytes"
    size = sum(map(len, files.values()))
    return f"returned {size} bytes, more than {_MOST_BYTES}" if size > _MOST_BYTES else ""
