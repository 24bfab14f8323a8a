"""From a recipe to a loaded policy: graph, family, frames, and how they fit."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from gymnasium import spaces

from rpd_atari_zoo.families import Family, Meaning, find_feed, missing, recognise, takes_bytes
from rpd_atari_zoo.frames import Picture, fit_frames, picture_of
from rpd_atari_zoo.graph import Array, Graph, Node, read_graph, similar_node
from rpd_atari_zoo.network import FrozenNetwork
from rpd_atari_zoo.policy import Rows, ZooPolicy, describe_network, not_finite
from rpd_core.errors import FitError
from rpd_core.plugin.protocols import Facts, Policy
from rpd_core.untrusted.boundary import boundary, file_name, quoted

if TYPE_CHECKING:
    from rpd_atari_zoo.loader import AtariZooFile

_DAMAGED = "it is damaged or not the frozen graph of a network; copy it or freeze the graph again"


def load_policy(file: AtariZooFile, facts: Facts) -> Policy:
    """Read the graph and fit it to the environment."""
    with boundary(file.path, _DAMAGED, FitError):
        graph = read_graph(file.path)
        family = _family(file, graph)
        feed = find_feed(graph, family)
        picture = picture_of(feed.shape())
        network = FrozenNetwork(graph, feed.name, family.output).eval()
        rows = _fit_rows(network, feed, picture, takes_bytes(graph, feed))
        check_actions(rows, facts, file.path)
        framing = fit_frames(facts, picture, family)
        deterministic = _is_deterministic(file, family)
        return ZooPolicy(file.path, rows, framing, facts, deterministic, file.epsilon)


def describe_file(file: AtariZooFile) -> dict[str, str]:
    """Return what the file says about the policy, without an environment."""
    with boundary(file.path, _DAMAGED, FitError):
        graph = read_graph(file.path)
        family = _family(file, graph)
        feed = find_feed(graph, family)
        return describe_network(FrozenNetwork(graph, feed.name, family.output), family)


def _is_deterministic(file: AtariZooFile, family: Family) -> bool:
    if file.deterministic is None:
        return family.meaning != "logits"
    if not file.deterministic and family.meaning != "logits":
        raise FitError(
            f"deterministic=false needs logits, {quoted(family.output)} gives {family.meaning}"
        )
    return file.deterministic


def _family(file: AtariZooFile, graph: Graph) -> Family:
    if file.node is None:
        family = recognise(graph, file.family)
    else:
        if file.node not in graph:
            raise FitError(f"{missing(graph, quoted(file.node))}{similar_node(graph, file.node)}")
        known = "auto" if file.family == "auto" else file.family
        family = Family(known, file.node, _assumed(file.node))
    return family if file.output == "auto" else replace(family, meaning=file.output)


def _assumed(node: str) -> Meaning:
    """Guess the meaning of a node that the user names: only what its name says outright."""
    words = node.lower()
    if "logit" in words or "policy" in words:
        return "logits"
    return "q" if "q_" in words or "value" in words else "scores"


def _fit_rows(network: FrozenNetwork, feed: Node, picture: Picture, raw: bool) -> Rows:
    """Try the network on two pictures and choose how to compute many rows at once."""
    integer = feed.op.startswith("Placeholder") and "dtype" in feed.attributes
    dtype = torch.uint8 if integer and feed.dtype("dtype") is np.uint8 else torch.float32
    pictures = random_pictures(picture, 2)
    single = Rows(network, dtype, 1.0 if raw else 255.0, one_by_one=True)
    together = replace(single, one_by_one=False)
    try:
        expected = _rehearse(single, pictures)
    except FitError:
        _rehearse(together, pictures)  # its own words, if that fails, too
        return together
    try:
        found = _rehearse(together, pictures)
    except FitError:  # a batch size is baked into the graph
        return single
    same = found.shape == expected.shape and np.allclose(found, expected, rtol=1e-3, atol=1e-3)
    return together if same else single


def random_pictures(picture: Picture, rows: int) -> Array:
    """Return noise in the shape that a network takes."""
    size = (picture.height, picture.width, picture.frames)
    shape = size if picture.last else (size[2], *size[:2])
    return np.random.default_rng(0).integers(0, 256, (rows, *shape)).astype(np.float32)


def _rehearse(rows: Rows, pictures: Array) -> Array:
    """Compute rows and check that they are numbers."""
    numbers = rows(pictures)
    if not np.isfinite(numbers).all():
        raise FitError(not_finite(rows.network.output))
    return numbers


def check_actions(rows: Rows, facts: Facts, path: Path) -> None:
    """Refuse a network that decides between another number of actions than there are."""
    space = facts.action_space
    if not isinstance(space, spaces.Discrete) or int(space.n) != rows.actions:
        advice = ": play with the full set of actions" if rows.actions == 18 else ""
        raise FitError(
            f"{file_name(path)} chooses between {rows.actions} actions, "
            f"{facts.description or 'the environment'} has {space}{advice}"
        )
