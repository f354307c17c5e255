"""Gradients of neural network layers."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence
from typing import Any

from tvmlite.core.errors import UnsupportedError
from tvmlite.relay.ir import nodes
from tvmlite.relay.ir.infer import tensor_type_of
from tvmlite.relay.ir.op import make
from tvmlite.tvm.relay.transform.gradient.rule import Rule, summed_like, whole_extents


def _dense(call: nodes.Call, gradient: Any) -> list[Any]:
    data, weight = call.args
    if tensor_type_of(data).ndim != 2:
        raise UnsupportedError(
            "gradient: nn.dense of data of other than 2 axes", call.span, "reshape the data before"
        )
    by_column, rows = (make("transpose", one) for one in (gradient, data))
    return [make("nn.dense", gradient, make("transpose", weight)), make("nn.dense", by_column, rows)]


def _product(call: nodes.Call, gradient: Any) -> list[Any]:
    """The gradients of a matrix product whose operands may be transposed."""
    a, b = call.args
    flipped, other = bool(call["transpose_a"]), bool(call["transpose_b"])

    def product(left: Any, right: Any, left_flipped: bool, right_flipped: bool) -> Any:
        return make(str(call.op), left, right, transpose_a=left_flipped, transpose_b=right_flipped)

    of_a = product(b, gradient, other, True) if flipped else product(gradient, b, False, not other)
    of_b = product(gradient, a, True, flipped) if other else product(a, gradient, not flipped, False)
    return [summed_like(of_a, a), summed_like(of_b, b)]


def _bias_add(call: nodes.Call, gradient: Any) -> list[Any]:
    return [gradient, make("sum", gradient, axis=(call["axis"],), exclude=True)]


def _softmax(call: nodes.Call, gradient: Any) -> list[Any]:
    shares = make("sum", gradient * call, axis=(call["axis"],), keepdims=True)
    return [(gradient - shares) * call]


def _log_softmax(call: nodes.Call, gradient: Any) -> list[Any]:
    total = make("sum", gradient, axis=(call["axis"],), keepdims=True)
    return [gradient - make("exp", call) * total]


def _global_avg_pool2d(call: nodes.Call, gradient: Any) -> list[Any]:
    extents = dict(zip(call["layout"], whole_extents(call, call.args[0]), strict=True))
    return [make("broadcast_to_like", gradient, call.args[0]) / float(extents["H"] * extents["W"])]


def _check_pooling(call: nodes.Call) -> None:
    if call["layout"] != "NCHW" or call["ceil_mode"] or call["out_layout"] not in ("", "NCHW"):
        raise UnsupportedError(
            f"gradient: {call.op} of another layout than NCHW, or with ceil_mode", call.span
        )


def _max_pool2d(call: nodes.Call, gradient: Any) -> list[Any]:
    """A window's first maximal element gets its whole gradient. For each position within the windows: take
    the elements there, test whether they are that maximum, and scatter their gradients to the image."""
    _check_pooling(call)
    (data,) = call.args
    extents, counts = whole_extents(call, data)[2:], whole_extents(call, call)[2:]
    strides, before, behind = call["strides"], call["padding"][:2], call["padding"][2:]
    around = ((0, 0), (0, 0), *zip(before, behind, strict=True))
    padded = make("nn.pad", data, pad_width=around, pad_value=-math.inf)
    whole = [sum(one) for one in zip(extents, before, behind, strict=True)]
    free = make("ones_like", make("equal", call, call))
    placed: list[nodes.Expr] = []
    for place in itertools.product(*map(range, call["pool_size"])):
        begin = [index * step for index, step in zip(place, call["dilation"], strict=True)]
        end = [at + (n - 1) * step + 1 for at, n, step in zip(begin, counts, strides, strict=True)]
        there = make("strided_slice", padded, begin=begin, end=end, strides=strides, axes=(2, 3))
        found = make("logical_and", make("equal", there, call), free)
        free = make("logical_and", free, make("logical_not", found))
        share = make("where", found, gradient, make("zeros_like", gradient))
        spread = make("nn.dilate", share, strides=(1, 1, *strides))
        rest = ((at, n - last) for at, n, last in zip(begin, whole, end, strict=True))
        placed.append(make("nn.pad", spread, pad_width=((0, 0), (0, 0), *rest)))
    total = functools.reduce(lambda left, right: make("add", left, right), placed)
    last = [at + n for at, n in zip(before, extents, strict=True)]
    return [make("strided_slice", total, begin=before, end=last, axes=(2, 3))]


def _avg_pool2d(call: nodes.Call, gradient: Any) -> list[Any]:
    """Distribute a window's gradient equally over its elements by a grouped transposed convolution."""
    _check_pooling(call)
    (data,) = call.args
    _, channels, *extents = whole_extents(call, data)
    window = math.prod(call["pool_size"])
    same = {name: call[name] for name in ("pool_size", "strides", "dilation", "padding")}
    inside = make("nn.avg_pool2d", make("ones_like", data), **same, count_include_pad=True)
    share = gradient / (float(window) if call["count_include_pad"] else inside * float(window))
    kernel = make("ones", shape=(channels, 1, *call["pool_size"]), dtype=tensor_type_of(data).dtype)
    how = {name: call[name] for name in ("strides", "padding", "dilation")}
    rest = _left_over(call, extents, call["pool_size"])
    return [make("nn.conv2d_transpose", share, kernel, **how, groups=channels, output_padding=rest)]


def _left_over(call: nodes.Call, extents: Sequence[int], kernel: Sequence[int]) -> tuple[int, ...]:
    """The number of elements after the last window along each axis."""
    strides, dilation, padding = call["strides"], call["dilation"], call["padding"]
    return tuple(
        (extents[axis] + padding[axis] + padding[2 + axis] - (kernel[axis] - 1) * dilation[axis] - 1)
        % strides[axis]
        for axis in range(2)
    )


def _cross_entropy(call: nodes.Call, gradient: Any) -> list[Any]:
    predictions, targets = call.args
    share = gradient / float(whole_extents(call, predictions)[0])
    if call.op == "nn.cross_entropy_with_logits":
        return [-share * targets, -share * predictions]
    return [-share * targets / predictions, -share * make("log", predictions)]


def _conv2d(call: nodes.Call, gradient: Any) -> list[Any]:
    """The data's gradient is a transposed convolution. The weight's is, for each group, a convolution of the
    data with the gradient as its kernel, which sums over the batch."""
    layouts = call["data_layout"], call["kernel_layout"], call["out_layout"]
    if layouts[:2] != ("NCHW", "OIHW") or layouts[2] not in ("", "NCHW"):
        raise UnsupportedError("gradient: nn.conv2d of other layouts than NCHW and OIHW", call.span)
    data, weight = call.args
    batch, _, *extents = whole_extents(call, data)
    _, inputs, *kernel = whole_extents(call, weight)
    strides, dilation, padding, groups = (call[name] for name in ("strides", "dilation", "padding", "groups"))
    rest = _left_over(call, extents, kernel)
    how = {"strides": strides, "padding": padding, "dilation": dilation, "groups": groups}
    of_data = make("nn.conv2d_transpose", gradient, weight, **how, output_padding=rest)
    parts = make("reshape", data, newshape=(batch, groups, inputs, *extents))
    parts = make("transpose", parts, axes=(2, 1, 0, 3, 4))
    parts = make("reshape", parts, newshape=(inputs, groups * batch, *extents))
    filters = make("transpose", gradient, axes=(1, 0, 2, 3))
    turned = {"strides": dilation, "padding": padding, "dilation": strides, "groups": groups}
    found = make("transpose", make("nn.conv2d", parts, filters, **turned), axes=(1, 0, 2, 3))
    return [of_data, make("strided_slice", found, begin=(0, 0), end=kernel, axes=(2, 3))]


def _pad(call: nodes.Call, gradient: Any) -> list[Any]:
    if call["pad_mode"] != "constant":
        raise UnsupportedError(f"gradient: nn.pad with pad_mode {call['pad_mode']!r}", call.span)
    begin = [before for before, _ in call["pad_width"]]
    end = [at + n for at, n in zip(begin, whole_extents(call, call.args[0]), strict=True)]
    return [make("strided_slice", gradient, begin=begin, end=end)]


RULES: dict[str, Rule] = {
    "nn.avg_pool2d": _avg_pool2d,
    "nn.batch_matmul": _product,
    "nn.bias_add": _bias_add,
    "nn.conv2d": _conv2d,
    "nn.cross_entropy": _cross_entropy,
    "nn.cross_entropy_with_logits": _cross_entropy,
    "nn.dense": _dense,
    "nn.global_avg_pool2d": _global_avg_pool2d,
    "nn.log_softmax": _log_softmax,
    "nn.matmul": _product,
    "nn.max_pool2d": _max_pool2d,
    "nn.pad": _pad,
    "nn.softmax": _softmax,
}
