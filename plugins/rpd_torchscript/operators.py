"""The TorchScript operators that a stranger's policy may use, each by its exact name.

Left out on purpose: whatever touches files (`aten::save`, `aten::from_file`), prints, draws random
numbers (they would not be keyed to the episode), changes the module (`prim::SetAttr`), reaches
memory by address (`aten::as_strided`, `aten::set_`), calls what is not in the graph
(`prim::CallMethod`, `prim::PythonOp`), or starts threads (`prim::fork`).
"""

from __future__ import annotations


def _named(prefix: str, words: str) -> frozenset[str]:
    return frozenset(f"{prefix}::{word}" for word in words.split())


_STRUCTURE = _named(
    "prim",
    "Constant DictConstruct GetAttr If ListConstruct ListUnpack Loop NumToTensor RaiseException "
    "TupleConstruct TupleIndex TupleSlice TupleUnpack Uninitialized abs data device dtype "
    "is_cuda is_nested isinstance itemsize layout max min requires_grad tolist type unchecked_cast "
    "unchecked_unwrap_optional",
)
_SCALARS = _named(
    "aten",
    "Bool Float FloatImplicit Int IntImplicit ScalarImplicit __and__ __contains__ "
    "__derive_index __getitem__ __is__ __isnot__ __not__ __or__ __range_length "
    "__round_to_zero_floordiv __xor__ _set_item append ceil dict extend floor floordiv format get "
    "is_autocast_enabled is_contiguous is_floating_point is_grad_enabled item items keys len list "
    "values warn",
)
_ARITHMETIC = _named(
    "aten",
    "abs add add_ addcdiv addcmul addmm baddbmm bmm clamp clamp_ clamp_max clamp_min cos cosh "
    "cumprod cumsum div div_ dot einsum erf exp expm1 frac hypot lerp linear log log10 "
    "log1p log2 logsumexp matmul mm mul mul_ mv neg norm pow reciprocal remainder round rsqrt "
    "rsub sign sin sinh sqrt square sub sub_ tan true_divide trunc",
)
_COMPARISON = _named(
    "aten",
    "all allclose any bitwise_and bitwise_not bitwise_or bitwise_xor eq equal ge gt isfinite "
    "isinf isnan le logical_and logical_not logical_or logical_xor lt masked_fill masked_fill_ "
    "maximum minimum ne where",
)
_REDUCTION = _named(
    "aten",
    "amax amin argmax argmin argsort max mean median min prod sort std std_mean sum topk var "
    "var_mean",
)
_SHAPE = _named(
    "aten",
    "broadcast_tensors broadcast_to cat chunk clone contiguous copy_ cpu detach device dim expand "
    "expand_as fill_ flatten flip full full_like gather index index_select meshgrid "
    "movedim narrow new_full new_ones new_zeros numel one_hot ones ones_like permute "
    "repeat repeat_interleave reshape reshape_as roll scatter scatter_ select size slice split "
    "split_with_sizes squeeze stack swapaxes t tensor tile to transpose tril triu type_as "
    "unbind unflatten unfold unsqueeze view view_as zero_ zeros zeros_like arange eye linspace "
    "scalar_tensor hstack vstack dstack concat concatenate ravel "
    "index_put index_put_ numpy_T unsafe_chunk",
)
_LAYERS = _named(
    "aten",
    "_convolution _native_multi_head_attention _transformer_encoder_layer_fwd _unwrap_optional "
    " adaptive_avg_pool1d adaptive_avg_pool2d adaptive_max_pool2d "
    "alpha_dropout avg_pool1d avg_pool2d batch_norm bilinear celu constant_pad_nd conv1d conv2d "
    "conv3d conv_transpose2d cosine_similarity dropout dropout_ elu elu_ embedding "
    "feature_dropout gelu glu group_norm gru gru_cell hardsigmoid hardswish hardtanh hardtanh_ "
    "instance_norm layer_norm leaky_relu leaky_relu_ log_sigmoid log_softmax lstm lstm_cell "
    "max_pool1d max_pool2d max_pool2d_with_indices mish pad pixel_shuffle prelu relu relu6 relu6_ "
    "relu_ rms_norm rnn_relu rnn_relu_cell rnn_tanh rnn_tanh_cell scaled_dot_product_attention "
    "selu selu_ sigmoid sigmoid_ silu silu_ softmax softplus tanh tanh_ "
    "threshold upsample_bilinear2d upsample_nearest2d",
)

ALLOWED = _STRUCTURE | _SCALARS | _ARITHMETIC | _COMPARISON | _REDUCTION | _SHAPE | _LAYERS
"""Every operator that is let through without `trust=true`."""

RANDOM = _named(
    "aten",
    "bernoulli bernoulli_ exponential_ multinomial normal normal_ rand rand_like randint "
    "randint_like randn randn_like randperm uniform uniform_",
)
"""Operators that draw random numbers; refused with a better hint than the others."""
