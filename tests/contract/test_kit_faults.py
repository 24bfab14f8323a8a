"""Components with one fault each, which the kit must find: those that act or look."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import pytest
import worlds
from gymnasium import spaces

from rpd_core.errors import FitError
from rpd_core.plugin.protocols import POLICY_ACTION, POLICY_GAP, Choice, Entry, learned
from rpd_kit import Imagined, check_component, check_recipe
from rpd_kit.scenes import KIT_SCENES


def flat(values: Any) -> np.ndarray:
    """Give a batch as rows of numbers."""
    parts = [values[name] for name in sorted(values)] if isinstance(values, dict) else [values]
    return np.concatenate([np.asarray(part).reshape(len(part), -1) for part in parts], axis=1)


# ---------------------------------------------------------------- abstractions


@dataclass(frozen=True)
class Learns:
    """Without fault: the middle of each entry splits it."""

    middles: tuple[float, ...] = ()

    def fit(self, sample):
        return replace(self, middles=tuple(flat(sample.values).mean(axis=0).tolist()))

    def __call__(self, values, views):
        return flat(values) > np.array(self.middles)


@dataclass(frozen=True)
class LearnsMarked(Learns):
    """Without fault: the same, with the field marked as learned."""

    middles: tuple[float, ...] = learned(())


class FitRaises(Learns):
    def fit(self, sample):
        raise KeyError("nothing learned")


class FitGivesNumber(Learns):
    def fit(self, sample):
        return 42


class FitGivesFunction(Learns):
    def fit(self, sample):
        return lambda values, views: flat(values)


@dataclass(frozen=True)
class FitGivesArrays(Learns):
    def fit(self, sample):
        return replace(self, middles=flat(sample.values).mean(axis=0))


class FitForgets(Learns):
    def fit(self, sample):
        return self

    def __call__(self, values, views):
        raise ValueError("not fitted")


class FitAtRandom(Learns):
    turn: ClassVar[list[int]] = []

    def fit(self, sample):
        self.turn.append(1)
        return replace(self, middles=(float(len(self.turn)),))

    def __call__(self, values, views):
        return flat(values)


class FittedMixes(Learns):
    def __call__(self, values, views):
        return flat(values) - flat(values).mean()


@dataclass(frozen=True)
class Grows(Learns):
    """Without fault: learns by playing, from half of its states on."""

    def fit(self, sample):
        return replace(self, middles=(0.0,))

    def __call__(self, values, views):
        return (flat(values)[:, :1] > self.middles[0]).astype(np.int8)

    def show(self, value):
        return f"above: {value[0]}"

    def grow(self, ground):
        found = ground.minimise(self, 0.9, np.array([[1]], dtype=np.int8))
        return replace(self, middles=(float(found.steps.max()),))


class GrowRaises(Grows):
    def grow(self, ground):
        raise KeyError("barren")


class GrowsIntoText(Grows):
    def grow(self, ground):
        return "tree"


class GrowsArrays(Grows):
    def grow(self, ground):
        return replace(self, middles=ground.minimise(self, 0.9).steps)


class GrowsAtRandom(Grows):
    turn: ClassVar[list[int]] = []

    def grow(self, ground):
        self.turn.append(1)
        return replace(self, middles=(float(len(self.turn)),))


class GrowsForever(Grows):
    def grow(self, ground):
        while ground.minimise(self, 0.9).met:
            pass


class AsksAboutOthers(Grows):
    def grow(self, ground):
        return ground.minimise(Learns(), 0.9)


class StartsElsewhere(Grows):
    def grow(self, ground):
        return ground.minimise(self, 0.9, np.zeros((1, 3)))


@dataclass(frozen=True)
class NeedsRam:
    """Without fault: memory as it is."""

    needs: ClassVar[tuple[str, ...]] = ("ram",)

    def __call__(self, values, views):
        return views["ram"]

    def show(self, value):
        return f"bytes {value.tolist()}"


class GivesText(NeedsRam):
    def __call__(self, values, views):
        return "rubbish"


class GivesTexts(NeedsRam):
    def __call__(self, values, views):
        return np.array(["rubbish"] * len(views["ram"]))


class GivesOneRow(NeedsRam):
    def __call__(self, values, views):
        return views["ram"][:1]


class GivesOneNumber(NeedsRam):
    def __call__(self, values, views):
        return np.asarray(views["ram"].sum())


class MixesRows(NeedsRam):
    def __call__(self, values, views):
        return views["ram"] + np.roll(views["ram"], 1, axis=0)


class KnowsItsPlace(NeedsRam):
    def __call__(self, values, views):
        return views["ram"] + np.arange(len(views["ram"]), dtype=np.uint8)[:, None]


class ChangesItsMind(NeedsRam):
    turn: ClassVar[list[int]] = []

    def __call__(self, values, views):
        self.turn.append(1)
        return views["ram"] + np.uint8(len(self.turn))


class ChangesShape(NeedsRam):
    def __call__(self, values, views):
        return views["ram"][:, : 1 + int(views["ram"][0, 0])]


class WritesToViews(NeedsRam):
    def __call__(self, values, views):
        views["ram"][:] = 0
        return views["ram"]


class LooksElsewhere(NeedsRam):
    def __call__(self, values, views):
        return views["screen"][:, 0, 0]


class ShowsNumbers(NeedsRam):
    def show(self, value):
        return value


class ShowRaises(NeedsRam):
    def show(self, value):
        return f"{value['x']}"


class Draws(NeedsRam):
    """Without fault: the bytes as a strip of grey."""

    def draw(self, value):
        return np.repeat(value.reshape(1, -1, 1), 3, axis=2)


class DrawsGrey(NeedsRam):
    def draw(self, value):
        return value.reshape(1, -1)


class DrawsFractions(NeedsRam):
    def draw(self, value):
        return np.zeros((4, 4, 3))


class DrawsNothing(NeedsRam):
    def draw(self, value):
        return np.zeros((0, 4, 3), dtype=np.uint8)


class DrawsLists(NeedsRam):
    def draw(self, value):
        return [[[0, 0, 0]]]


class DrawRaises(NeedsRam):
    def draw(self, value):
        raise KeyError("no brush")


class ShowsAllAlike(NeedsRam):
    def show(self, value):
        return f"{len(value)} bytes"


class BoundsAll(NeedsRam):
    def bounds(self, value):
        return ()


class BoundsNothing(NeedsRam):
    def bounds(self, value):
        return value.lost


class RelatesTooFar(NeedsRam):
    def name_relations(self, count):
        return tuple(f"turn {turn}" for turn in range(count))

    def relate_actions(self, values, actions):
        return actions + 100


class NamesTooFew(NeedsRam):
    def name_entries(self, before):
        return (Entry("byte"),)


class NamesLetters(NeedsRam):
    def name_entries(self, before):
        return "bytes"


class NamesRaise(NeedsRam):
    def name_entries(self, before):
        raise KeyError("no name")


class NamesBackwards(NeedsRam):
    def name_entries(self, before):
        return tuple(Entry(f"byte {place}", factor=-1.0) for place in range(128))


class NeedsLetters(NeedsRam):
    needs = "ram"


class NeedsSonar(NeedsRam):
    needs = ("sonar",)


class NeverFits(NeedsRam):
    def open(self, facts):
        raise FitError("made for submarines")


ABSTRACTIONS = [
    (FitRaises(), "its fit() raised KeyError: 'nothing learned'"),
    (FitGivesNumber(), "its fit() gave a int where a FitGivesNumber is needed"),
    (FitGivesFunction(), "its fit() gave a function where a FitGivesFunction is needed"),
    (FitGivesArrays(), "cannot be stored as JSON"),
    (FitForgets(), "the call raised ValueError: not fitted"),
    (FitAtRandom(), "learned something else from the same sample"),
    (FittedMixes(), "lets one row of the batch depend on the others"),
    (GrowRaises(), "its grow() raised KeyError: 'barren'"),
    (GrowsIntoText(), "its grow() gave a str where a GrowsIntoText is needed"),
    (GrowsArrays(), "cannot be stored as JSON after grow()"),
    (GrowsAtRandom(), "its grow() learned something else from the same answers"),
    (GrowsForever(), "its grow() does not end"),
    (AsksAboutOthers(), "its grow() asked about a Learns and 0.9 where a AsksAboutOthers"),
    (StartsElsewhere(), "its grow() started from float64 of shape (3,) where its states are int8"),
    (GivesText(), "gave a str where an array is needed"),
    (GivesTexts(), "gave values of type <U7"),
    (GivesOneRow(), "gave 1 values for 4 observations"),
    (GivesOneNumber(), "gave a single number for 4 observations"),
    (MixesRows(), "lets one row of the batch depend on the others"),
    (KnowsItsPlace(), "lets one row of the batch depend on the others"),
    (ChangesItsMind(), "gave other values when asked twice"),
    (ChangesShape(), "gave values of uint8"),
    (WritesToViews(), "changed the observations or views it was given"),
    (LooksElsewhere(), "the call raised KeyError: 'screen'"),
    (ShowsNumbers(), "has a show() that does not give text"),
    (ShowRaises(), "its show() raised"),
    (ShowsAllAlike(), "its show() gives '128 bytes' for different values"),
    (BoundsAll(), "its bounds() hold in other states, or not in their own"),
    (BoundsNothing(), "its bounds() raised AttributeError"),
    (RelatesTooFar(), "its relate_actions() must return one number from 0 to"),
    (DrawsGrey(), "has a draw() that gives uint8 (1, 128), where a picture is uint8 (height, "),
    (DrawsFractions(), "has a draw() that gives float64 (4, 4, 3), where a picture is uint8"),
    (DrawsNothing(), "has a draw() that gives uint8 (0, 4, 3)"),
    (DrawsLists(), "has a draw() that gives a list where an array is needed"),
    (DrawRaises(), "its draw() raised KeyError: 'no brush'"),
    (NamesTooFew(), "its name_entries() names 1 entries of values that have 128"),
    (NamesLetters(), "its name_entries() must return a tuple of Entry, got 'bytes'"),
    (NamesRaise(), "its name_entries() raised KeyError: 'no name'"),
    (NamesBackwards(), "names are printable, factors above 0"),
    (NeedsLetters(), "its needs must be a tuple of names, got 'ram'"),
    (NeedsSonar(), "fits none of the kit's 6 environments"),
    (NeverFits(), "made for submarines"),
]


@pytest.mark.parametrize(("abstraction", "fault"), ABSTRACTIONS)
def test_the_kit_finds_the_fault_of_an_abstraction(abstraction, fault):
    faults = check_recipe("abstraction", abstraction)
    assert any(fault in found for found in faults), faults


@dataclass(frozen=True)
class AsksThePolicy:
    """Without fault: learns from what the policy prefers, and looks at it."""

    cut: float = learned(0.0)
    needs = (POLICY_ACTION, POLICY_GAP)

    def fit(self, sample):
        assert sample.gap_unit == "log odds"
        assert np.array_equal(sample.views[POLICY_ACTION], sample.actions)
        return AsksThePolicy(float(np.median(sample.views[POLICY_GAP])))

    def __call__(self, values, views):
        return np.stack([views[POLICY_GAP] > self.cut, views[POLICY_ACTION] > 0], axis=1)


class MixesPreferences(AsksThePolicy):
    def fit(self, sample):
        return self

    def __call__(self, values, views):
        return (views[POLICY_GAP] - views[POLICY_GAP].mean())[:, None]


def test_what_the_policy_prefers_is_shown_to_those_that_need_it_alone():
    vectors = KIT_SCENES[0]
    assert check_recipe("abstraction", AsksThePolicy(), environment=vectors) == []
    (fault,) = check_recipe("abstraction", MixesPreferences(), environment=vectors)
    assert "lets one row of the batch depend on the others" in fault
    assert check_component("abstraction", "preference") == []
    assert check_component("abstraction", "preference", environment="cartpole") == []


@pytest.mark.parametrize("abstraction", [Learns(), LearnsMarked(), NeedsRam(), Draws()])
def test_abstractions_that_learn_or_need_views_pass_without_a_fault(abstraction):
    assert check_recipe("abstraction", abstraction) == []


def test_a_fault_is_told_once_with_the_environment_it_was_found_in():
    (fault,) = check_recipe("abstraction", GivesText())
    assert fault.endswith("(in the kit's stacks of screens)")


# --------------------------------------------------- policies, default actions


@dataclass(frozen=True)
class Good:
    """Without fault: the sign of a sum, for vectors of 4 and two actions."""

    def load(self, facts):
        if facts.observation_space.shape != (4,):
            raise FitError("only vectors of 4")
        return self.act

    def act(self, seen):
        return Choice((seen.observations.sum(axis=1) > 0).astype(int))


class AlwaysRefuses(Good):
    def load(self, facts):
        raise FitError("the licence has run out")


class LoadRaises(Good):
    def load(self, facts):
        raise OSError("no such file")


class OutOfSpace(Good):
    def act(self, seen):
        return Choice(np.full(4, 2))


class NoChoice(Good):
    def act(self, seen):
        return np.zeros(4, dtype=int)


class ChoosesByNeighbours(Good):
    def act(self, seen):
        sums = seen.observations.sum(axis=1)
        return Choice((sums > sums.mean()).astype(int))


class ChoosesByLane(Good):
    def act(self, seen):
        return Choice(np.arange(4) % 2)


class DrawsElsewhere(Good):
    turn: ClassVar[list[int]] = []

    def act(self, seen):
        self.turn.append(1)
        return Choice(np.full(4, len(self.turn) % 2))


class IsSureOfAll(Good):
    def act(self, seen):
        return Choice(super().act(seen).actions, log_probability=lambda actions: 0.0)


class NeverForgets(Good):
    def act(self, seen):
        before = 0 if seen.memory is None else 1 + seen.memory
        return Choice(((seen.observations.sum(axis=1) > 0) ^ bool(before)).astype(int), memory=0)


@dataclass(frozen=True)
class LooksAtScreens(Good):
    """Without fault: looks at a view that it states only when loaded."""

    def load(self, facts):
        return Looker()


@dataclass
class Looker:
    needs: tuple[str, ...] = field(default=("screen",))

    def __call__(self, seen):
        return Choice(seen.views["screen"][:, 0, 0, 0].astype(int) % 6)


@pytest.mark.parametrize(
    ("policy", "fault"),
    [
        (AlwaysRefuses(), "fits none of the kit's 6 environments"),
        (AlwaysRefuses(), "the licence has run out"),
        (LoadRaises(), "load() raised OSError: no such file"),
        (OutOfSpace(), "which is not in Discrete(2)"),
        (NoChoice(), "gave an ndarray where a Choice is needed"),
        (ChoosesByNeighbours(), "depend on the other lanes"),
        (ChoosesByLane(), "depend on the other lanes"),
        (DrawsElsewhere(), "chose other actions for the same input and draws"),
        (IsSureOfAll(), "has a log_probability() that gives float64 () for 4 lanes"),
        (NeverForgets(), "does not forget its memory where an episode starts"),
    ],
)
def test_the_kit_finds_the_fault_of_a_policy(policy, fault):
    faults = check_recipe("policy", policy)
    assert any(fault in found for found in faults), faults


@pytest.mark.parametrize("policy", [Good(), LooksAtScreens()])
def test_policies_without_a_fault_pass(policy):
    assert check_recipe("policy", policy) == []


@dataclass(frozen=True)
class NeverOpens:
    def open(self, facts):
        raise FitError("nothing to do")


def test_a_default_action_that_fits_nowhere_is_a_fault():
    (fault,) = check_recipe("default-action", NeverOpens())
    assert "fits none of the kit's 6 environments" in fault
    assert "nothing to do" in fault


# --------------------------------------------------------- environments of one's own


@dataclass(frozen=True)
class SonarOnly(NeedsRam):
    needs = ("sonar",)

    def __call__(self, values, views):
        return views["sonar"]

    def show(self, value):
        return f"sonar {value}"


@pytest.mark.parametrize("rows", [spaces.Box(0.0, 1.0, (5,)), spaces.Discrete(9)])
def test_a_component_that_fits_nowhere_can_be_checked_in_spaces_of_its_own(rows):
    submarine = Imagined(
        spaces.Tuple((spaces.Box(-1.0, 1.0, (3,)), spaces.Text(5))),
        spaces.MultiDiscrete([2, 3]),
        views={"sonar": rows},
    )
    assert check_recipe("abstraction", SonarOnly(), environment=submarine) == []
    assert check_component("abstraction", "identity", environment=submarine) == []
    assert check_component("policy", "random", environment=submarine) == []
    assert check_recipe("policy", Good(), environment=submarine) == [
        "does not fit an imagined environment: only vectors of 4"
    ]


def test_a_component_can_be_checked_in_a_real_environment():
    assert check_component("abstraction", "cartpole", environment="cartpole") == []
    assert check_component("policy", "cartpole:weak", environment="gym:CartPole-v1") == []
    assert check_component("abstraction", "identity", environment=worlds.Corridor()) == []
    (fault,) = check_component("abstraction", "cartpole", environment="minigrid")
    assert "needs vectors of 4, got a dict" in fault
