"""Dense layers over packed weights of 4 or 8 bits, in groups: made floats in registers.

Two operators differ in zero points: ``nn.contrib_dense_group_pack`` has none but the middle code, as
symmetric weights do, ``nn.contrib_dense_group_pack_offset`` has one a group.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tvmlite.relay.ir.nodes import Call
from tvmlite.relay.ir.op import REQUIRED
from tvmlite.relay.ir.types import TensorType, same_shape, show_shape
from tvmlite.relay.ops import loops
from tvmlite.relay.ops.common import fault, product_of, unravelled
from tvmlite.relay.ops.group_quantized import check_groups
from tvmlite.relay.ops.register import statement
from tvmlite.te import expr as e
from tvmlite.te.loop import ir as loop
from tvmlite.te.tensor.tensor import Tensor
from tvmlite.techniques.group_weights.layout import unpacked_codes, unpacked_groups, words_shape
from tvmlite.techniques.group_weights.loops import VECTORS, Product, Sizes

DENSE = "nn.contrib_dense_group_pack"
DENSE_OFFSET = "nn.contrib_dense_group_pack_offset"

ATTRS = {"bits": 4, "group": REQUIRED, "units": REQUIRED}


def dense_type(
    call: Call, data: TensorType, weight: TensorType, scale: TensorType, offset: TensorType | None = None
) -> TensorType:
    """``(..., k)`` by ``(panels, words, columns)`` gives ``(..., units)``."""
    bits, group = check_groups(call)
    if group * bits % 32:
        raise fault(call, f"group is {group}, expected codes of {bits} bits that fill whole words of 32")
    if (data.dtype, weight.dtype) != ("float32", "uint32") or scale.dtype not in ("float32", "float16"):
        given = f"data is {data.dtype}, weight {weight.dtype}, scale {scale.dtype}"
        raise fault(call, f"{given}, expected float32, uint32, and float32 or float16")
    depth, columns = data.shape[-1] if data.ndim else None, weight.shape[-1] if weight.ndim else None
    if not isinstance(depth, int) or not isinstance(columns, int) or columns % VECTORS or not columns:
        raise fault(call, f"data is {show_shape(data.shape)}, weight {show_shape(weight.shape)}")
    wanted = words_shape(call["units"], depth, bits, group, columns)
    if not same_shape(weight.shape, wanted):
        raise fault(call, f"weight is {show_shape(weight.shape)}, expected {show_shape(wanted)}")
    groups = (wanted[0], -(-depth // group), columns)
    for name, one in (("scale", scale), ("offset", offset)):
        if one is not None and not same_shape(one.shape, groups):
            raise fault(call, f"{name} is {show_shape(one.shape)}, expected {show_shape(groups)}")
    if offset is not None and offset.dtype not in ("int8", "int16", "float32"):
        raise fault(call, f"offset is {offset.dtype}, expected int8, int16 or float32")
    return TensorType((*data.shape[:-1], call["units"]), "float32")


def dense_numpy(
    call: Call, data: np.ndarray, weight: np.ndarray, scale: np.ndarray, offset: np.ndarray | None = None
) -> np.ndarray:
    """The reference: the weight is dequantized in float32, and the product computed in float64."""
    bits, group, depth = call["bits"], call["group"], data.shape[-1]

    def spread(values: np.ndarray) -> np.ndarray:
        return np.repeat(unpacked_groups(values).astype("float32"), group, axis=1)

    plain = unpacked_codes(weight, bits).astype("float32") - np.float32(1 << (bits - 1))
    plain = (plain if offset is None else plain - spread(offset)) * spread(scale)
    product = data.astype("float64") @ plain[: call["units"], :depth].T.astype("float64")
    return product.astype("float32")


@statement(DENSE, infer=dense_type, reference=dense_numpy, attrs=ATTRS)
def dense_group(call: Call, data: Tensor, weight: Tensor, scale: Tensor) -> Tensor:
    """Rows of ``data`` times columns of packed codes, less the middle one, times a group's ``scale``."""
    return _dense(call, data, [weight, scale])


@statement(DENSE_OFFSET, infer=dense_type, reference=dense_numpy, attrs=ATTRS)
def dense_group_offset(call: Call, data: Tensor, weight: Tensor, scale: Tensor, offset: Tensor) -> Tensor:
    """As ``nn.contrib_dense_group_pack`` of codes less the middle and the ``offset`` of their group."""
    return _dense(call, data, [weight, scale, offset])


def _dense(call: Call, data: Tensor, packed: list[Tensor]) -> Tensor:
    lead, (depth, columns) = data.shape[:-1], (data.shape[-1], packed[0].shape[-1])
    assert isinstance(depth, int)
    assert isinstance(columns, int)
    sizes = Sizes(product_of(lead), depth, call["units"], columns, call["bits"], call["group"])

    def body(rows: loop.Buffer, *given: loop.Buffer) -> loop.Stmt:
        *weights, out = given
        offset = weights[2] if len(weights) > 2 else None

        def read(row: Any, k: Any) -> e.Expr:
            return loops.load(rows, *unravelled(row, lead), k)

        def write(row: Any, column: Any, value: e.Expr) -> loop.Stmt:
            return loops.store(out, (*unravelled(row, lead), column), value)

        return Product(sizes, read, write, weights[0], weights[1], offset).statements()

    shape = (*lead, call["units"])
    return loops.extern("dense_group", [data, *packed], [(shape, "float32")], body)[0]
