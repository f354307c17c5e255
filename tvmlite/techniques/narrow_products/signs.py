"""The pass that converts bytes to the signedness that the target multiplies, by an offset of 128.

Codes that are dequantized get the offset where they are quantized, so that all readers read the same codes.
Products of bytes of the other signedness become products of offset bytes, minus the contribution of 128 to
each sum. This is exact, as int32 wraps.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np

from tvmlite.core.node import rewrite
from tvmlite.machine.target import Target
from tvmlite.relay.ir.infer import tensor_type_of
from tvmlite.relay.ir.nodes import Call, Constant, Expr, Module, canonical, constant
from tvmlite.relay.ir.op import make
from tvmlite.relay.ops import windows
from tvmlite.relay.ops.convolutions.conv import WEIGHT_LAYOUTS
from tvmlite.techniques.common.dot import quads_of
from tvmlite.techniques.narrow_products.quantized import CONVOLUTIONS, SIGN_OFFSET, codes_with_sign

OTHER_SIGN = {"uint8": "int8", "int8": "uint8"}


def signs(target: Target) -> Callable[[Module], Module]:
    """The pass for ``target``; it does nothing if ``target`` has no instruction for products of bytes."""

    def signs(module: Module) -> Module:
        main, found = module.main, quads_of(target)
        if found is None:
            return module
        body = rewrite(main.body, lambda node: _with_sign(node, found.data))
        return module if body is main.body else module.with_main(dataclasses.replace(main, body=body))

    return signs


def _with_sign(node: Expr, sign: str) -> Expr:
    match node:
        case Call(
            "qnn.dequantize", (Call("qnn.quantize", (_, _, Constant())) as codes, scale, Constant(zero))
        ) if codes["out_dtype"] == OTHER_SIGN[sign] and np.issubdtype(zero.dtype, np.integer):
            by = SIGN_OFFSET if sign == "uint8" else -SIGN_OFFSET
            point = constant(zero.astype(np.int32) + by, "int32")
            return Call(node.op, (codes_with_sign(codes, sign), scale, point), node.attrs, node.span)
        case Call(op=str() as name, args=(data, Constant(weight))) if (
            (name == "nn.dense" or name in CONVOLUTIONS)
            and (tensor_type_of(data).dtype, weight.dtype.name) == (OTHER_SIGN[sign], "int8")
            and tensor_type_of(node).dtype == "int32"
        ):
            return _product(node, data, weight, sign)
    return node


def _product(node: Call, data: Expr, weight: np.ndarray, sign: str) -> Expr:
    """``node`` with data of dtype ``sign``, padded with the code that 0 became."""
    by, rank = SIGN_OFFSET if sign == "uint8" else -SIGN_OFFSET, CONVOLUTIONS.get(str(node.op), 0)
    attrs, moved = dict(node.attrs), codes_with_sign(data, sign)
    sums = weight.reshape(weight.shape[0], -1).sum(1, dtype=np.int32)
    if rank:
        layouts = node["data_layout"], node["kernel_layout"], node["out_layout"] or node["data_layout"]
        if layouts != (windows.LAYOUTS[rank], WEIGHT_LAYOUTS[rank], windows.LAYOUTS[rank]):
            return node
        begins, ends = windows.padding_of(node, rank)
        if any((*begins, *ends)):
            widths = ((0, 0), (0, 0), *zip(begins, ends, strict=True))
            moved = make("nn.pad", moved, pad_width=widths, pad_value=float(by), span=node.span)
            attrs["padding"] = (0,) * (2 * rank)
    made = Call(node.op, (moved, node.args[1]), canonical(attrs), node.span)
    less = constant((-by * sums.astype(np.int64)).astype(np.int32).reshape(-1, *(1,) * rank), "int32")
    return make("add", made, less, span=node.span)
