"""From a recipe to a loaded policy: checked, tried out in another process, fitted."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from rpd_core.errors import FitError
from rpd_core.plugin.protocols import Facts, Policy
from rpd_core.untrusted.boundary import boundary
from rpd_onnx.model import read_model
from rpd_onnx.network import build_network, sample
from rpd_onnx.observations import check_pixels, parts_of
from rpd_onnx.output import Output, choose_output
from rpd_onnx.policy import OnnxPolicy, describe_model
from rpd_onnx.signature import Signature, read_signature
from rpd_onnx.statistics import read_normal

if TYPE_CHECKING:
    from rpd_onnx.loader import OnnxFile

_DAMAGED = "it is damaged or not a policy; copy it or export it again"


def load_policy(file: OnnxFile, facts: Facts) -> Policy:
    """Load the model and fit it to the environment."""
    with boundary(file.path, _DAMAGED, FitError):
        model = read_model(file.path)
        parts = parts_of(facts)
        if not parts:
            raise FitError(f"observations of {facts.observation_space} are no arrays of numbers")
        signature = _scaled(read_signature(model, parts, file.input, file.layout), file)
        for fit in signature.fits:
            check_pixels(fit, parts[fit.part], file.divide)
        network = build_network(model, signature, facts)
        names = [output.name for output in model.outputs]
        lanes = facts.lanes
        found, _ = network(sample(facts, lanes), network.start(lanes), None, names)
        carried = [state.after for state in signature.states]
        output = choose_output(file, model, found, carried, facts)
        best = _takes_best(file, output, found[output.name])
        return OnnxPolicy(network, output, facts, best, file.epsilon)


def describe_file(file: OnnxFile) -> dict[str, str]:
    """Return what the file says about the policy, without an environment."""
    with boundary(file.path, _DAMAGED, FitError):
        return describe_model(read_model(file.path))


def _scaled(signature: Signature, file: OnnxFile) -> Signature:
    """Add the division and the statistics that the user asks for."""
    normal = read_normal(file.vecnormalize) if file.vecnormalize else None
    for fit in signature.fits:
        if normal is not None and normal.mean.size != int(np.prod(fit.shape)):
            raise FitError(
                f"the statistics are of {normal.mean.size} numbers, the input {fit.value} takes "
                "others: give those of this model"
            )
    fits = [replace(fit, divisor=file.divide or 1.0, normal=normal) for fit in signature.fits]
    return replace(signature, fits=tuple(fits))


def _takes_best(file: OnnxFile, output: Output, values: np.ndarray) -> bool:
    drawn = output.meaning in ("logits", "probabilities")
    if file.deterministic is False and not drawn:
        raise FitError(
            f"deterministic=false needs logits or probabilities, these are {output.meaning}"
        )
    if output.meaning == "probabilities":
        for part in output.split(values.reshape(len(values), -1)):
            totals = part.sum(axis=1)
            if (part < 0).any() or (np.abs(totals - 1.0) > 1e-3).any():
                raise FitError(
                    f"output=probabilities needs rows that sum to 1, a row sums to "
                    f"{float(totals[0]):g}: try output=logits"
                )
    return not drawn if file.deterministic is None else file.deterministic
