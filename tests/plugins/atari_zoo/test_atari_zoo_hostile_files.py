"""Graphs made to break the loader end in one line, soon and with little memory."""

from __future__ import annotations

import os
import resource
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from gymnasium import spaces
from zoo_graphs import ACTIONS, SIZE, Builder, dopamine, facts, pictures, seen

from rpd_atari_zoo.loader import AtariZooFile
from rpd_core.errors import EpisodeError, FitError, SpecError
from rpd_core.plugin.protocols import Facts

OUTPUT = "Online/fully_connected_1/BiasAdd"
GROWTH = 2**30
"""Bytes that a test may take beyond what the process has."""


@pytest.fixture(autouse=True)
def _little_memory() -> Iterator[None]:
    """Limit the memory, so that asking for much fails at once instead of filling the machine."""
    if not Path("/proc/self/statm").exists():
        yield
        return
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    before = resource.getrlimit(resource.RLIMIT_AS)
    room = pages * resource.getpagesize() + GROWTH
    resource.setrlimit(resource.RLIMIT_AS, (room, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)


def complaint(path: Path) -> str:
    with pytest.raises((FitError, SpecError)) as caught:
        AtariZooFile(path).load(facts())
    line = str(caught.value)
    assert line.isprintable()
    assert len(line) <= 600
    assert "MemoryError" not in line
    return line


def changed(folder: Path, change: Callable[[Builder], object]) -> Path:
    builder = dopamine(Builder())
    change(builder)
    return builder.save(folder / "dqn.pb")


def node_of(builder: Builder, name: str) -> object:
    return next(node for node in builder.message.node if node.name == name)


def attribute(builder: Builder, name: str, key: str) -> object:
    node = node_of(builder, name)
    return next(item.value for item in node.attr if item.key == key)  # type: ignore[attr-defined]


def rerouted(builder: Builder, name: str, source: str) -> None:
    node_of(builder, name).input[0] = source  # type: ignore[attr-defined]


# ----------------------------------------------------------------- sizes and lengths


@pytest.mark.parametrize("stride", [0, -1, 10**9])
def test_a_stride_that_is_not_possible_is_named(tmp_path: Path, stride: int) -> None:
    def change(builder: Builder) -> None:
        attribute(builder, "Online/Conv/Conv2D", "strides").list.i[1] = stride  # type: ignore[attr-defined]

    line = complaint(changed(tmp_path, change))
    assert f"'Online/Conv/Conv2D' (Conv2D) has strides of {stride} and 2" in line


def test_a_stride_of_0_with_padding_is_named(tmp_path: Path) -> None:
    def change(builder: Builder) -> None:
        attribute(builder, "Online/Conv/Conv2D", "strides").list.i[1] = 0  # type: ignore[attr-defined]
        attribute(builder, "Online/Conv/Conv2D", "padding").s = b"SAME"  # type: ignore[attr-defined]

    assert "has strides of 0 and 2" in complaint(changed(tmp_path, change))


def test_padding_that_is_not_text_is_named(tmp_path: Path) -> None:
    def change(builder: Builder) -> None:
        attribute(builder, "Online/Conv/Conv2D", "padding").s = b"\xff\x1b[31m"  # type: ignore[attr-defined]

    assert "has padding" in complaint(changed(tmp_path, change))


def grown(builder: Builder, op: str) -> None:
    """Put a node in front of the network that gives far more than it takes."""
    if op == "Tile":
        builder.constant("many", [1, 10**5, 10**5, 1])
        builder.node("Tile", "grown", "Online/Cast", "many")
    elif op == "Fill":
        builder.constant("many", [10**6, 10**6])
        builder.constant("one", 1.0, np.float32)
        builder.node("Fill", "grown", "many", "one")
    elif op == "Pad":
        builder.constant("many", [[0, 0], [10**6, 10**6], [10**6, 0], [0, 0]])
        builder.node("Pad", "grown", "Online/Cast", "many")
    elif op == "LinSpace":
        builder.constant("start", 0.0, np.float32)
        builder.constant("count", 2**31 - 1)
        builder.node("LinSpace", "grown", "start", "start", "count")
    else:
        last = "Online/Cast"
        for number in range(40):  # twice as much from node to node
            builder.constant(f"axis{number}", 1)
            inputs = (last, last, f"axis{number}") if op == "ConcatV2" else (last, last)
            last = builder.node(op, f"grown{number}", *inputs)
        builder.node("Identity", "grown", last)
    builder.node("Add", "both", "Online/Cast", "grown")
    rerouted(builder, "Online/div", "both")


@pytest.mark.parametrize("op", ["Tile", "Fill", "Pad", "LinSpace", "ConcatV2", "Pack"])
def test_results_that_grow_without_measure_are_refused_before_they_are_made(
    tmp_path: Path, op: str
) -> None:
    line = complaint(changed(tmp_path, lambda builder: grown(builder, op)))
    assert "beyond what networks of the zoo compute" in line


def test_hours_of_work_are_refused_before_they_begin(tmp_path: Path) -> None:
    def change(builder: Builder) -> None:
        builder.constant("shape", [2048, 2048])
        builder.constant("one", 1.0, np.float32)
        last = builder.node("Fill", "matrix", "shape", "one")
        for number in range(2000):
            last = builder.node("MatMul", f"product{number}", last, "matrix")
        builder.node("Add", "both", last, "Online/Cast")
        rerouted(builder, "Online/div", "both")

    assert "beyond what networks of the zoo compute" in complaint(changed(tmp_path, change))


def test_constants_that_repeat_one_value_cannot_fill_the_memory(tmp_path: Path) -> None:
    def change(builder: Builder) -> None:
        last = "Online/Cast"
        for number in range(30):
            name = builder.constant(f"c{number}", 1.0, np.float32)
            tensor = builder.message.node[-1].attr[0].value.tensor
            tensor.tensor_content = b""
            tensor.float_val.append(1.0)
            tensor.tensor_shape.dim.add(size=2**24)
            last = builder.node("Add", f"sum{number}", last, name)
        rerouted(builder, "Online/div", last)

    assert "its constants are more than" in complaint(changed(tmp_path, change))


@pytest.mark.parametrize("sizes", [[2**62] * 20, [2**40], [-1], [0] * 40])
def test_a_constant_of_absurd_shape_is_named(tmp_path: Path, sizes: list[int]) -> None:
    def change(builder: Builder) -> None:
        tensor = attribute(builder, "Online/div/y", "value").tensor  # type: ignore[attr-defined]
        for size in sizes:
            tensor.tensor_shape.dim.add(size=size)

    assert "'Online/div/y' cannot have the shape" in complaint(changed(tmp_path, change))


def test_a_placeholder_for_absurd_pictures_is_refused(tmp_path: Path) -> None:
    def change(builder: Builder) -> None:
        attribute(builder, "state_ph", "shape").shape.dim[1].size = 10**9  # type: ignore[attr-defined]

    assert "larger than any screen" in complaint(changed(tmp_path, change))


def test_millions_of_parts_are_refused_before_they_are_read(tmp_path: Path) -> None:
    path = tmp_path / "parts.pb"
    path.write_bytes(b"\x0a\x00" * 600_000)
    assert "'parts.pb' has more than 500,000 parts" in complaint(path)
    path.write_bytes(b"\x0b\x0c" + b"\x0a\x00" * 600_000)  # behind a field of a kind of its own
    assert "'parts.pb' has more than 500,000 parts" in complaint(path)


def test_a_device_is_not_read_for_ever() -> None:
    assert "is a device or a pipe, not a regular file" in complaint(Path("/dev/zero"))


# -------------------------------------------------------------------- circles, chains


def test_a_chain_of_thousands_of_nodes_takes_seconds_and_little_memory(tmp_path: Path) -> None:
    def change(builder: Builder) -> None:
        last = "Online/Cast"
        for number in range(5000):
            last = builder.node("Identity" if number % 2 else "Neg", f"link{number}", last)
        rerouted(builder, "Online/div", last)

    policy = AtariZooFile(changed(tmp_path, change)).load(facts(rows=256))
    policy(seen(pictures(256)))


def test_a_long_chain_of_shapes_is_looked_through_once(tmp_path: Path) -> None:
    def change(builder: Builder) -> None:
        last = "Online/Cast"
        for number in range(5000):
            last = builder.node("Identity", f"link{number}", last)
        rerouted(builder, "Online/div", last)
        attribute(builder, "state_ph", "dtype").type = 1  # type: ignore[attr-defined]

    policy = AtariZooFile(changed(tmp_path, change)).load(facts())
    assert "0 to 255" in policy.describe()["feed"]  # type: ignore[attr-defined]


def test_more_nodes_than_any_network_has_are_refused(tmp_path: Path) -> None:
    def change(builder: Builder) -> None:
        last = "Online/Cast"
        for number in range(21_000):
            last = builder.node("Neg", f"n{number}", last)
        rerouted(builder, "Online/div", last)

    assert "depends on more than 20,000 nodes" in complaint(changed(tmp_path, change))


def test_a_graph_that_reads_itself_is_refused(tmp_path: Path) -> None:
    def itself(builder: Builder) -> None:
        rerouted(builder, "Online/div", "Online/div")

    assert "runs in a circle through 'Online/div'" in complaint(changed(tmp_path, itself))

    def through_others(builder: Builder) -> None:
        rerouted(builder, "Online/Cast", "Online/Conv/Relu")

    assert "runs in a circle" in complaint(changed(tmp_path, through_others))


def test_a_feed_that_reads_itself_is_looked_through_once(tmp_path: Path) -> None:
    agent = "agent_1/agent/unroll"
    builder = Builder()
    feed = f"{agent}/batch_apply/truediv"
    builder.node("Identity", feed, feed)
    builder.constant("shape", [-1, 84 * 84 * 4])
    builder.node("Reshape", "flat", feed, "shape")
    weights = builder.weight("w", 84 * 84 * 4, ACTIONS)
    builder.node("MatMul", f"{agent}/batch_apply_1/policy_logits/add", "flat", weights)
    path = builder.save(tmp_path / "impala.pb")
    AtariZooFile(path).load(facts(shape=(84, 84, 4)))


# ------------------------------------------------------------------- names, numbers


@pytest.mark.parametrize("place", ["²", "٣", "9" * 40, "-1", "7"])
def test_an_output_that_a_node_does_not_have_is_named(tmp_path: Path, place: str) -> None:
    path = changed(
        tmp_path, lambda builder: rerouted(builder, "Online/div", f"Online/Cast:{place}")
    )
    line = complaint(path)
    assert "misses the node" in line or "has no output 7" in line


@pytest.mark.parametrize("name", ["a\x1b[31mb", "x" * 5000, "two words", "\u202ename", "a:1"])
def test_a_node_with_a_name_that_no_graph_can_have_is_refused(tmp_path: Path, name: str) -> None:
    path = changed(tmp_path, lambda builder: builder.node("Relu", name, "Online/Cast"))
    assert "'dqn.pb' has a node called" in complaint(path)


def test_names_that_no_file_can_have_give_one_line(tmp_path: Path) -> None:
    assert "File name too long" in complaint(tmp_path / ("x" * 300))
    assert "does not exist" in complaint(tmp_path / os.fsdecode(b"caf\xe9.pb"))
    assert "is a directory" in complaint(tmp_path)


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_a_constant_that_is_not_finite_is_named(tmp_path: Path, number: float) -> None:
    def change(builder: Builder) -> None:
        values = np.full((125, ACTIONS), 0.1, np.float32)
        values[3, 1] = number
        held = attribute(builder, "Online/fully_connected_1/weights", "value")
        held.tensor.tensor_content = values.tobytes()  # type: ignore[attr-defined]

    line = complaint(changed(tmp_path, change))
    assert "'Online/fully_connected_1/weights' is not made of finite numbers" in line


def test_an_output_that_is_not_finite_is_named_when_loading(tmp_path: Path) -> None:
    def change(builder: Builder) -> None:
        builder.constant("zero", 0.0, np.float32)
        builder.node("RealDiv", "broken", "Online/Conv/Relu", "zero")
        rerouted(builder, "Online/Flatten/Reshape", "broken")

    line = complaint(changed(tmp_path, change))
    assert f"the output '{OUTPUT}' gives numbers that are not finite" in line


def test_an_output_that_is_not_finite_is_named_while_playing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    builder = Builder()
    builder.placeholder("X_t", [-1, SIZE, SIZE, 4])
    builder.node("Log", "log", "X_t")  # of black pixels minus infinity
    flat = builder.flatten("a2c/Flatten", "log", SIZE * SIZE * 4)
    builder.dense("a2c/policy", flat, SIZE * SIZE * 4, ACTIONS)
    bright = np.maximum(pictures(), 1)
    path = builder.save(tmp_path / "a2c.pb")
    monkeypatch.setattr(
        "rpd_atari_zoo.assembly.random_pictures", lambda *_: bright.astype(np.float32)
    )
    policy = AtariZooFile(path).load(facts())
    policy(seen(bright))
    with pytest.raises(EpisodeError, match="the output 'a2c/policy/BiasAdd' gives numbers that"):
        policy(seen(bright * 0))


def test_half_precision_beyond_its_bits_is_refused(tmp_path: Path) -> None:
    def change(builder: Builder) -> None:
        tensor = attribute(builder, "Online/div/y", "value").tensor  # type: ignore[attr-defined]
        tensor.tensor_content, tensor.dtype = b"", 19
        tensor.half_val.append(-5)

    assert "holds numbers beyond its type" in complaint(changed(tmp_path, change))


# ------------------------------------------------------- the process and the environment


def test_loading_and_playing_leave_the_number_of_threads_as_it_was(tmp_path: Path) -> None:
    path = changed(tmp_path, lambda builder: None)
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(3)
        policy = AtariZooFile(path).load(facts())
        assert torch.get_num_threads() == 3
        inside: list[int] = []
        network = policy.rows.network  # type: ignore[attr-defined]
        network.register_forward_hook(lambda *_: inside.append(torch.get_num_threads()))
        policy(seen(pictures()))
        assert torch.get_num_threads() == 3
        assert inside == [1]
        AtariZooFile(path).describe()
        complaint(tmp_path / "nowhere.pb")
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)


class Buttons(spaces.Discrete):
    """A space of somebody's own."""


def test_actions_are_known_by_the_kind_of_their_space(tmp_path: Path) -> None:
    path = changed(tmp_path, lambda builder: None)
    plain = facts()
    AtariZooFile(path).load(Facts(plain.observation_space, Buttons(ACTIONS), 6))
    with pytest.raises(FitError, match="chooses between 3 actions"):
        AtariZooFile(path).load(Facts(plain.observation_space, spaces.MultiBinary(ACTIONS), 6))


def test_nothing_in_a_graph_is_ever_run(tmp_path: Path) -> None:
    assert AtariZooFile(tmp_path / "a.pb").runs_code is False


def test_what_is_raised_inside_becomes_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise RecursionError("deep\nand deeper")

    path = changed(tmp_path, lambda builder: None)
    monkeypatch.setattr("rpd_atari_zoo.assembly.find_feed", fail)
    line = complaint(path)
    assert line.startswith("dqn.pb cannot be used (RecursionError: deep and deeper)")
    assert "freeze the graph again" in line
