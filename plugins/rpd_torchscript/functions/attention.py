"""Attention; torch trusts its arguments here, so all of them are checked first."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from rpd_torchscript.functions.elementwise import broadcast_count, torch_function
from rpd_torchscript.functions.function import Function
from rpd_torchscript.limits import Fault, Forbidden, Meter, check_count
from rpd_torchscript.values import check_int, check_number, check_tensor


def _scaled_dot_product(
    meter: Meter,
    query: Any,
    key: Any,
    value: Any,
    mask: Any = None,
    dropout: Any = 0.0,
    is_causal: Any = False,
    *,
    scale: Any = None,
    enable_gqa: Any = False,
) -> Tensor:
    q, k, v = check_tensor(query), check_tensor(key), check_tensor(value)
    if check_number(dropout):
        raise Forbidden("leaves numbers out at random (attention in training mode)")
    if enable_gqa or not 2 <= q.dim() <= 5 or not q.dim() == k.dim() == v.dim():
        raise Fault("attention is called in a way that is not supported")
    same = q.shape[:-2] == k.shape[:-2] == v.shape[:-2]
    fits = q.size(-1) == k.size(-1) and k.size(-2) == v.size(-2)
    if not same or not fits or not q.numel() or not k.numel() or not v.numel():
        shapes = [tuple(part.shape) for part in (q, k, v)]
        raise Fault(f"attention does not take the shapes {shapes}")
    stacks = q.numel() // (q.size(-1) * q.size(-2))
    weights = (*q.shape[:-2], q.size(-2), k.size(-2))
    check_count(stacks * q.size(-2) * max(k.size(-2), v.size(-1)))
    if mask is not None:
        if (
            is_causal
            or broadcast_count([tuple(check_tensor(mask).shape), weights])
            != (stacks * q.size(-2) * k.size(-2))
            or mask.dim() > q.dim()
        ):
            raise Fault(f"attention does not take a mask of shape {tuple(mask.shape)}")
        if mask.dtype not in (torch.bool, q.dtype):
            raise Fault(f"attention does not take a mask of {mask.dtype}")
    meter.worked(stacks * q.size(-2) * k.size(-2) * (q.size(-1) + v.size(-1) + 20))
    factor = None if scale is None else float(check_number(scale))
    return meter.made(
        torch._C._nn.scaled_dot_product_attention(q, k, v, mask, 0.0, bool(is_causal), scale=factor)
    )


def _check_heads(rows: Tensor, width: Any, heads: Any) -> None:
    size, count = check_int(width), check_int(heads)
    if rows.dim() != 3 or rows.size(2) != size or not rows.numel():
        raise Fault(f"attention over {size} numbers does not take shape {tuple(rows.shape)}")
    if count < 1 or size % count:
        raise Fault(f"attention cannot divide {size} numbers among {count} heads")


def _check_shapes(expected: dict[str, tuple[Any, tuple[int, ...]]]) -> None:
    for name, (tensor, shape) in expected.items():
        if tuple(check_tensor(tensor).shape) != shape:
            raise Fault(f"the {name} of attention has {tuple(tensor.shape)} numbers, not {shape}")


def _check_mask(mask: Any, kind: Any, rows: Tensor, heads: int) -> None:
    if mask is None:
        return
    lanes, length = rows.size(0), rows.size(1)
    shapes = {0: (length, length), 1: (lanes, length), 2: (lanes, heads, length, length)}
    if kind not in shapes or tuple(check_tensor(mask).shape) != shapes[kind]:
        raise Fault(f"attention does not take a mask of shape {tuple(mask.shape)}")
    if mask.dtype != torch.bool:
        raise Fault(f"attention does not take a mask of {mask.dtype}")


def _spend(meter: Meter, rows: Tensor, heads: int, weights: int) -> None:
    lanes, length, width = rows.shape
    check_count(lanes * heads * length * length)
    check_count(3 * rows.numel())
    meter.worked(lanes * length * (weights + 2 * length * width + 20 * heads * length))


def _multi_head(
    meter: Meter,
    query: Any,
    key: Any,
    value: Any,
    width: Any,
    heads: Any,
    qkv_weight: Any,
    qkv_bias: Any,
    out_weight: Any,
    out_bias: Any,
    mask: Any = None,
    need_weights: Any = True,
    average: Any = True,
    mask_type: Any = None,
) -> tuple[Any, ...]:
    rows = check_tensor(query)
    if key is not query or value is not query:
        raise Fault("attention is called in a way that is not supported")
    _check_heads(rows, width, heads)
    _check_shapes(
        {
            "weight": (qkv_weight, (3 * width, width)),
            "bias": (qkv_bias, (3 * width,)),
            "output weight": (out_weight, (width, width)),
            "output bias": (out_bias, (width,)),
        }
    )
    _check_mask(mask, mask_type, rows, heads)
    _spend(meter, rows, heads, 4 * width * width)
    weights = (qkv_weight, qkv_bias, out_weight, out_bias)
    flags = (mask, bool(need_weights), bool(average), mask_type)
    made = torch._native_multi_head_attention(rows, rows, rows, width, heads, *weights, *flags)
    return meter.made(made[0]), made[1]


def _encoder_layer(
    meter: Meter,
    value: Any,
    width: Any,
    heads: Any,
    qkv_weight: Any,
    qkv_bias: Any,
    out_weight: Any,
    out_bias: Any,
    use_gelu: Any,
    norm_first: Any,
    eps: Any,
    *rest: Any,
) -> Tensor:
    """Run a layer of a transformer, as torch does in one piece."""
    rows = check_tensor(value)
    _check_heads(rows, width, heads)
    if not 8 <= len(rest) <= 10:
        raise Fault("a transformer layer is called in a way that is not supported")
    norm_1, shift_1, norm_2, shift_2, wide, wide_bias, narrow, narrow_bias = rest[:8]
    inner = check_tensor(wide).size(0) if check_tensor(wide).dim() else 0
    _check_shapes(
        {
            "weight": (qkv_weight, (3 * width, width)),
            "bias": (qkv_bias, (3 * width,)),
            "output weight": (out_weight, (width, width)),
            "output bias": (out_bias, (width,)),
            "first norm": (norm_1, (width,)),
            "first shift": (shift_1, (width,)),
            "second norm": (norm_2, (width,)),
            "second shift": (shift_2, (width,)),
            "first layer": (wide, (inner, width)),
            "first bias": (wide_bias, (inner,)),
            "second layer": (narrow, (width, inner)),
            "second bias": (narrow_bias, (width,)),
        }
    )
    mask, mask_type = [*rest[8:], None, None][:2]
    _check_mask(mask, mask_type, rows, heads)
    check_count(rows.size(0) * rows.size(1) * inner)
    _spend(meter, rows, heads, 4 * width * width + 2 * width * inner)
    weights = (qkv_weight, qkv_bias, out_weight, out_bias)
    flags = (bool(use_gelu), bool(norm_first), float(check_number(eps)))
    made = torch_function("_transformer_encoder_layer_fwd")(
        rows, width, heads, *weights, *flags, *rest[:8], mask, mask_type
    )
    return meter.made(made)


FUNCTIONS = {
    "aten::_native_multi_head_attention": Function(_multi_head),
    "aten::_transformer_encoder_layer_fwd": Function(_encoder_layer),
    "aten::scaled_dot_product_attention": Function(_scaled_dot_product),
}
