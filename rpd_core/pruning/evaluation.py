"""Episodes of pruned policies: played where missing, stored, and the returns all else stands on."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rpd_core.analysis.suite import concat_episodes
from rpd_core.config.configuration import short_digest
from rpd_core.execute.work import WorkItem
from rpd_core.execute.workshop import Workshop
from rpd_core.play import prepare
from rpd_core.play.chance import Phase
from rpd_core.play.jobs import Evaluation, EvaluationJob, perform_evaluation
from rpd_core.plugin.records import Episodes
from rpd_core.pruning.curves import refuse_weak_policy, target_return
from rpd_core.store import tables
from rpd_core.store.directory import Parts, file_stem

if TYPE_CHECKING:
    from rpd_core.plugin.protocols import KeyArray


@dataclass(frozen=True)
class References:
    """Returns that every threshold stands on."""

    original: Episodes
    default_everywhere: Episodes
    reference: float
    reference_source: str

    @property
    def original_mean(self) -> float:
        return float(self.original.total_return.mean())

    def target(self, fraction: float) -> float:
        return target_return(fraction, self.original_mean, self.reference)


def measure_references(shop: Workshop) -> References:
    """Play the policy, the default action everywhere and, where needed, random play."""
    nothing = np.zeros(0, dtype=np.uint64)
    analysis = shop.setup.config.analysis
    asked = {
        "original": ask(shop, [nothing], [(0, 0)], unranked_kept=True),
        "default-everywhere": ask(shop, [nothing], [(0, 0)], unranked_kept=False),
    }
    if analysis.reference is None:
        random_play = dataclasses.replace(shop.recipe, policy=prepare.RandomPlay())
        asked["random-play"] = dataclasses.replace(
            asked["original"], recipe=random_play, phase=Phase.REFERENCE
        )
    played = evaluate(shop, "references", asked)
    reference, source = analysis.reference, "given"
    if reference is None:
        reference, source = float(played["random-play"].total_return.mean()), "random play"
    refuse_weak_policy(played["original"].total_return, reference, source)
    return References(played["original"], played["default-everywhere"], reference, source)


def ask(
    shop: Workshop,
    rankings: Sequence[KeyArray],
    points: Sequence[tuple[int, int]],
    unranked_kept: bool | None = None,
    phase: Phase = Phase.TEST,
    part: int = 0,
) -> Evaluation:
    """Describe pruned policies, each a ranking and a cutoff, with the run's settings."""
    analysis = shop.setup.config.analysis
    if unranked_kept is None:
        unranked_kept = analysis.unvisited == "policy"
    seed = shop.setup.config.suite.seed
    return Evaluation(
        shop.recipe,
        seed,
        phase,
        part,
        tuple(rankings),
        tuple(points),
        unranked_kept,
        analysis.test_episodes,
    )


def evaluate(shop: Workshop, stage: str, asked: Mapping[str, Evaluation]) -> dict[str, Episodes]:
    """Play what is missing of several evaluations and give the episodes of each."""
    parts = {name: shop.directory.evaluation(file_name(name, one)) for name, one in asked.items()}
    total = sum(one.total for one in asked.values())
    items = [
        WorkItem(perform_evaluation, EvaluationJob(one, first, last), name)
        for name, one in asked.items()
        for first, last in parts[name].missing(one.total, shop.setup.config.chunk)
    ]
    done = total - sum(item.argument.last - item.argument.first + 1 for item in items)
    shop.progress(stage, done, total)

    def store(item: WorkItem, episodes: Episodes) -> None:
        nonlocal done
        table = evaluation_table(item.argument.evaluation, episodes)
        parts[item.label].write(item.argument.first, item.argument.last, {"episodes": table})
        done += len(episodes)
        shop.progress(stage, done, total)

    shop.run(items, store)
    return {name: _read_evaluation(found) for name, found in parts.items()}


def evaluation_table(asked: Evaluation, episodes: Episodes) -> Any:
    """Give the episodes with the pruned policy and the test episode that each belongs to."""
    table = tables.episodes_table(episodes)
    points = np.array(asked.points, dtype=np.int64)[episodes.index // asked.test_episodes]
    table = table.append_column("ranking", [points[:, 0]]).append_column("kept", [points[:, 1]])
    return table.append_column("test_episode", [episodes.index % asked.test_episodes])


def _read_evaluation(parts: Parts) -> Episodes:
    read = [parts.read(first, last)["episodes"] for first, last in parts.covered()]
    return concat_episodes([tables.read_episodes(table) for table in read])


def file_name(name: str, asked: Evaluation) -> str:
    """Give a name that is readable and differs whenever the episodes would."""
    what = [
        asked.phase, asked.part, asked.points, asked.unranked_kept, asked.test_episodes,
        [ranked.tobytes().hex() for ranked in asked.rankings],
    ]  # fmt: skip
    return f"{file_stem(name)}-{short_digest(what)}"
