"""The policy loader `atari-zoo`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np
import torch

from rpd_atari_zoo.families import Family, Meaning, find_feed, missing, recognise, takes_bytes
from rpd_atari_zoo.frames import Picture, fit_frames, picture_of
from rpd_atari_zoo.graph import Graph, Node, read_graph
from rpd_atari_zoo.network import FrozenNetwork
from rpd_atari_zoo.policy import Rows, ZooPolicy, describe_network
from rpd_core.errors import ConfigError, FitError, nearest
from rpd_core.plugin.protocols import Facts, Policy


@dataclass(frozen=True)
class AtariZooFile:
    """A frozen TensorFlow-1 graph of the Atari Zoo, for example `atari-zoo:model1_final.pb`.

    The graph is data: its nodes are computed with torch one by one, nothing in the file is run.
    """

    path: Path
    """The `.pb` file."""
    family: Literal["auto", "dqn", "rainbow", "a2c", "apex", "ga", "es", "impala"] = "auto"
    """The algorithm, which fixes the names of nodes; `auto` recognises it."""
    node: str | None = None
    """Node with one number per action, for graphs with names of their own."""
    output: Literal["auto", "q", "logits", "scores"] = "auto"
    """What the numbers are: action values, logits, or scores that only compare."""
    sample: bool | None = None
    """Draw the action (true) or take the best (false); none: draw from logits only."""
    epsilon: float = 0.0
    """Share of steps with a random action; Dopamine's evaluation uses 0.001."""

    def __post_init__(self) -> None:
        if not 0.0 <= self.epsilon <= 1.0:
            raise ConfigError(f"epsilon must lie between 0 and 1, got {self.epsilon}")

    def load(self, facts: Facts) -> Policy:
        """Read the graph and fit it to the environment."""
        torch.set_num_threads(1)  # results must not depend on the number of cores
        graph = read_graph(self.path)
        family = self._family(graph)
        feed = find_feed(graph, family)
        picture = picture_of(feed.shape())
        network = FrozenNetwork(graph, feed.name, family.output).eval()
        rows = fit_rows(network, feed, picture, takes_bytes(graph, feed))
        check_actions(rows, facts, self.path)
        if self.sample and family.meaning != "logits":
            raise FitError(f"sample=true needs logits, {family.output!r} gives {family.meaning}")
        sample = family.meaning == "logits" if self.sample is None else self.sample
        return ZooPolicy(rows, fit_frames(facts, picture, family), facts, sample, self.epsilon)

    def describe(self) -> dict[str, str]:
        """Return what the file says about the policy, without an environment."""
        graph = read_graph(self.path)
        family = self._family(graph)
        feed = find_feed(graph, family)
        return describe_network(FrozenNetwork(graph, feed.name, family.output), family)

    def _family(self, graph: Graph) -> Family:
        if self.node is None:
            family = recognise(graph, self.family)
        else:
            if self.node not in graph:
                raise FitError(f"{missing(graph, repr(self.node))}{nearest(self.node, graph)}")
            known = "auto" if self.family == "auto" else self.family
            family = Family(known, self.node, _assumed(self.node))
        return family if self.output == "auto" else replace(family, meaning=self.output)


def _assumed(node: str) -> Meaning:
    """Guess the meaning of a node that the user names: only what its name says outright."""
    words = node.lower()
    if "logit" in words or "policy" in words:
        return "logits"
    return "q" if "q_" in words or "value" in words else "scores"


def fit_rows(network: FrozenNetwork, feed: Node, picture: Picture, raw: bool) -> Rows:
    """Try the network on two pictures and choose how to compute many rows at once."""
    integer = feed.op.startswith("Placeholder") and "dtype" in feed.attributes
    dtype = torch.uint8 if integer and feed.dtype("dtype") is np.uint8 else torch.float32
    size = (picture.height, picture.width, picture.frames)
    shape = size if picture.last else (size[2], *size[:2])
    generator = np.random.default_rng(0)
    pictures = generator.integers(0, 256, (2, *shape)).astype(np.float32)
    single = Rows(network, dtype, 1.0 if raw else 255.0, one_by_one=True)
    together = replace(single, one_by_one=False)
    try:
        expected = single(pictures)
    except FitError:
        together(pictures)  # its own words, if that fails, too
        return together
    try:
        found = together(pictures)
    except FitError:  # a batch size is baked into the graph
        return single
    same = found.shape == expected.shape and np.allclose(found, expected, rtol=1e-3, atol=1e-3)
    return together if same else single


def check_actions(rows: Rows, facts: Facts, path: Path) -> None:
    """Refuse a network that decides between another number of actions than there are."""
    count = getattr(facts.action_space, "n", None)
    if count is None or int(count) != rows.actions:
        advice = ": play with the full set of actions" if rows.actions == 18 else ""
        raise FitError(
            f"{path.name} chooses between {rows.actions} actions, "
            f"{facts.description or 'the environment'} has {facts.action_space}{advice}"
        )
