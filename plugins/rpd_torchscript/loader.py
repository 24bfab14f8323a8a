"""The policy loader `torchscript`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import torch

from rpd_core.errors import ConfigError, FitError
from rpd_core.plugin.protocols import Facts, Policy
from rpd_torchscript.inputs import find_sources
from rpd_torchscript.loading import load_module
from rpd_torchscript.meaning import Output, expected_shapes, resolve_output
from rpd_torchscript.network import Network, Settings, fit_network
from rpd_torchscript.observations import part_names
from rpd_torchscript.policy import ScriptPolicy, describe_module
from rpd_torchscript.signature import read_signature


@dataclass(frozen=True)
class TorchScriptFile:
    """A TorchScript module, feed-forward or recurrent, for example `torchscript:policy.pt`.

    rpd reads the file and evaluates its network itself, with a list of harmless operators; a file
    that wants more is refused unless `trust=true`, which hands it to torch.
    """

    path: Path
    """The `.pt` file; with trust=true also a torch.export program or a pickled module."""
    output: Literal["auto", "logits", "q", "probabilities", "action"] = "auto"
    """What the module returns; `auto` goes by its last operators and its name, else logits."""
    deterministic: bool | None = None
    """Take the best action (true) or draw (false); none: draw unless they are action values."""
    hidden: tuple[int, ...] = ()
    """Size of the hidden state of one lane, where the weights do not show it."""
    hidden_axis: int = 0
    """Axis of lanes in the hidden state: 0, or 1 for the layout of nn.GRU and nn.LSTM."""
    layout: Literal["auto", "same", "first", "last", "flat", "one-hot"] = "auto"
    """Axes as they are, channels moved first or last, flat, one-hot; `auto`: what it takes."""
    divide: float | None = None
    """Divide observations by this: 255 for modules trained on pixels of 0 to 1."""
    stack: int = 1
    """Frames to stack, oldest first, if the environment gives single ones."""
    preprocess: Literal["none", "baby-a3c"] = "none"
    """`baby-a3c`: 80x80 frames from the view `screen`, as that project makes them."""
    epsilon: float = 0.0
    """Share of steps with a random action."""
    trust: bool = False
    """Load the file in full, whatever it wants to run."""

    def __post_init__(self) -> None:
        if not 0.0 <= self.epsilon <= 1.0:
            raise ConfigError(f"epsilon must lie between 0 and 1, got {self.epsilon}")
        if self.stack < 1:
            raise ConfigError(f"stack must be at least 1, got {self.stack}")
        if self.divide is not None and not self.divide > 0.0:
            raise ConfigError(f"divide must be above 0, got {self.divide}")

    @property
    def needs(self) -> tuple[str, ...]:
        return ("screen",) if self.preprocess == "baby-a3c" else ()

    def load(self, facts: Facts) -> Policy:
        """Load the module and fit it to the environment."""
        loaded = load_module(self.path, self.trust)
        signature = read_signature(loaded, tuple(part_names(facts)), bool(self.hidden))
        sources = find_sources(facts, signature, self.preprocess, self.stack)
        settings = Settings(
            self.layout, self.divide, self.hidden, self.hidden_axis, expected_shapes(facts)
        )
        where = facts.description or "the environment"
        network = fit_network(Network(loaded, signature, sources), settings, facts.lanes, where)
        blanks = [source.blank(facts.lanes) for source in sources]
        result = network(blanks, network.start(facts.lanes))[0][0]
        output = resolve_output(self.output, loaded, result, facts)
        return ScriptPolicy(network, output, facts, self._takes_best(output, result), self.epsilon)

    def describe(self) -> dict[str, str]:
        """Return what the file says about the policy, without an environment."""
        loaded = load_module(self.path, self.trust)
        return describe_module(loaded)

    def _takes_best(self, output: Output, result: torch.Tensor) -> bool:
        drawn = output.meaning in ("logits", "probabilities")
        if self.deterministic is False and not drawn:
            raise FitError(
                f"deterministic=false needs logits or probabilities, these are {output.meaning}"
            )
        if output.meaning == "probabilities":
            totals = result.sum(dim=1)
            if bool((result < 0).any()) or bool(((totals - 1.0).abs() > 1e-3).any()):
                raise FitError(
                    f"output=probabilities needs rows that sum to 1, a row sums to "
                    f"{float(totals[0]):g}: try output=logits"
                )
        return not drawn if self.deterministic is None else self.deterministic
