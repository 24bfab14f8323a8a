"""The allow-list: every function that is run for a stranger, by its exact name.

TorchScript is frozen in torch, so this list is, too: it holds what policies are made of. Left out
on purpose: whatever touches files (`aten::save`, `aten::from_file`), prints, draws random numbers
(they would not be keyed to the episode), reaches memory by address (`aten::as_strided`,
`aten::set_`), calls what is not in the file (`prim::PythonOp`) or starts threads (`prim::fork`).
"""

from __future__ import annotations

from rpd_torchscript.functions import layers, sizes
from rpd_torchscript.functions.operator import Operator, Rule
from rpd_torchscript.functions.plain import PLAIN, number_to_tensor
from rpd_torchscript.limits import TRUST, Forbidden

_REDUCING = 4
_SORTING = 200
"""What a number counts for, in multiplications."""
_RULES: dict[str, Rule] = {
    # numbers one by one
    "abs acos add asin atan atan2 bitwise_and bitwise_not bitwise_or bitwise_xor ceil celu clamp "
    "clamp_max clamp_min clip cos elu eq erf exp expm1 floor ge gelu glu gt hardsigmoid hardswish "
    "hardtanh isfinite isinf isnan le leaky_relu lerp log log10 log1p log2 log_sigmoid logical_and "
    "logical_not logical_or logical_xor lt masked_fill maximum minimum mish mul nan_to_num ne neg "
    "pow prelu reciprocal relu relu6 round rsqrt rsub selu sigmoid sign silu sin softplus sqrt "
    "square sub tan tanh threshold true_divide trunc where __and__ __or__ __xor__": sizes.combined,
    "div floor_divide fmod remainder": sizes.divided,
    # the same in place
    "add_ celu_ clamp_ clamp_max_ clamp_min_ copy_ elu_ exp_ fill_ hardsigmoid_ hardswish_ "
    "hardtanh_ leaky_relu_ masked_fill_ mish_ mul_ neg_ relu6_ relu_ selu_ sigmoid_ silu_ sqrt_ "
    "sub_ tanh_ threshold_ zero_": sizes.combined,
    "div_": sizes.divided,
    # shapes
    "alias clone contiguous cpu detach flatten lift_fresh movedim narrow permute ravel "
    "reshape reshape_as select slice squeeze swapaxes t to transpose type_as unflatten unsqueeze "
    "view view_as flip": sizes.anything,
    "numpy_T": sizes.turned,
    "expand expand_as": sizes.expanded,
    "repeat repeat_interleave": sizes.repeated,
    "cat concat stack": sizes.joined,
    "broadcast_tensors": sizes.spread,
    "chunk split split_with_sizes unbind unsafe_chunk": sizes.cut,
    # along axes
    "all amax amin any argmax argmin cumsum linalg_vector_norm log_softmax logsumexp max mean min "
    "norm prod softmax std sum var": sizes.along(_REDUCING),
    "argsort sort topk": sizes.along(_SORTING),
    # new tensors
    "full new_full new_ones new_zeros ones zeros": sizes.sized,
    "full_like ones_like zeros_like scalar_tensor": sizes.anything,
    "arange": sizes.counted,
    # indices; torch itself checks every index against the size
    "index index_put_": sizes.indexed,
    "index_select": sizes.selected,
    "gather scatter scatter_": sizes.scattered,
    "embedding": sizes.embedded,
    "one_hot": sizes.one_hot,
    # layers
    "linear": layers.linear,
    "addmm bmm matmul mm": layers.product,
    "_convolution _convolution_mode conv1d conv2d conv3d": layers.convolution,
    "avg_pool1d max_pool1d": layers.pooling(1),
    "avg_pool2d max_pool2d": layers.pooling(2),
    "adaptive_avg_pool1d": layers.adaptive_pooling(1),
    "adaptive_avg_pool2d adaptive_max_pool2d": layers.adaptive_pooling(2),
    "constant_pad_nd pad": layers.padded,
    "batch_norm group_norm instance_norm layer_norm rms_norm": layers.normalised,
    "alpha_dropout dropout dropout_ feature_alpha_dropout feature_dropout": layers.dropout,
    "lstm": layers.recurrent_layers(4),
    "gru": layers.recurrent_layers(3),
    "rnn_relu rnn_tanh": layers.recurrent_layers(1),
    "gru_cell lstm_cell rnn_relu_cell rnn_tanh_cell": layers.recurrent_cell,
}
OPERATORS = {
    f"aten::{word}": Operator(f"aten::{word}", rule)
    for words, rule in _RULES.items()
    for word in words.split()
}
"""Torch's operators, each with the rule that bounds it."""
MAKERS = dict.fromkeys(("aten::tensor", "aten::as_tensor", "prim::NumToTensor"), number_to_tensor)
ALLOWED = frozenset({*OPERATORS, *PLAIN, *MAKERS})
"""Every function that is run without `trust=true`."""

_RANDOM = (
    "bernoulli bernoulli_ exponential_ multinomial normal normal_ rand rand_like randint "
    "randint_like randn randn_like randperm uniform uniform_"
)
RANDOM = frozenset(f"aten::{word}" for word in _RANDOM.split())
"""Operators that draw random numbers; refused with a better hint than the others."""


def not_run(name: str) -> Forbidden:
    """Return the error for a function that is not on the list."""
    if name in RANDOM:
        return Forbidden(
            f"draws its actions itself ({name!r}), which no seed could repeat",
            "save a module that returns logits, and rpd draws from them",
        )
    return Forbidden(
        f"uses the operator {name[:100]!r}, which rpd does not run",
        f"{TRUST}, or export the policy to ONNX",
    )
