"""Dense layers with packed weights of 4 or 8 bits, in groups: for float data, or for data in codes.

Operators whose names end in ``_offset`` have a zero point per group; in the others the middle code is the
zero point, as in symmetric weights. ``nn.contrib_dense_group_pack`` takes float data and converts weights to
floats in registers; ``nn.contrib_dense_group_pack_codes`` takes the results of ``nn.contrib_group_codes``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tvmlite.relay.ir.nodes import Call
from tvmlite.relay.ir.op import REQUIRED, at_least
from tvmlite.relay.ir.types import Dim, Shape, TensorType, same_shape, show_shape
from tvmlite.relay.ops import loops
from tvmlite.relay.ops.common import fault, product_of, unravelled
from tvmlite.relay.ops.quantized.group_quantized import check_groups, check_sums, scaled_sums_numpy
from tvmlite.relay.ops.register import statement
from tvmlite.te import expr as e
from tvmlite.te.loop import ir as loop
from tvmlite.te.tensor.tensor import Tensor
from tvmlite.techniques.group_weights.integer_loops import IntegerProduct
from tvmlite.techniques.group_weights.layout import WORD, unpacked_codes, unpacked_groups, words_shape
from tvmlite.techniques.group_weights.loops import Product
from tvmlite.techniques.group_weights.panels import VECTORS, Sizes, Write

DENSE = "nn.contrib_dense_group_pack"
DENSE_OFFSET = "nn.contrib_dense_group_pack_offset"
DENSE_CODES = "nn.contrib_dense_group_pack_codes"
DENSE_CODES_OFFSET = "nn.contrib_dense_group_pack_codes_offset"

ATTRS = {"bits": 4, "group": at_least(1, 32), "units": REQUIRED}


def dense_type(
    call: Call, data: TensorType, weight: TensorType, scale: TensorType, offset: TensorType | None = None
) -> TensorType:
    """The type relation: ``(..., k)`` and ``(panels, words, columns)`` give ``(..., units)``."""
    if data.dtype != "float32":
        raise fault(call, f"data is {data.dtype}, expected float32")
    depth = data.shape[-1] if data.ndim else None
    if not isinstance(depth, int):
        raise fault(call, f"data is {show_shape(data.shape)}, expected a last extent that is a number")
    _check_packed(call, depth, weight, scale, offset)
    return TensorType((*data.shape[:-1], call["units"]), "float32")


def dense_codes_type(
    call: Call,
    data: TensorType,
    data_scale: TensorType,
    data_sum: TensorType,
    weight: TensorType,
    scale: TensorType,
    offset: TensorType | None = None,
) -> TensorType:
    """The type relation: ``(..., parts * groups * group)``, with scales and sums ``(..., groups)``, gives
    ``(..., units)``."""
    kinds = tuple(one.dtype for one in (data, data_scale, data_sum))
    if kinds != ("int8", "float32", "int32"):
        given = "data is {}, data_scale {}, data_sum {}".format(*kinds)
        raise fault(call, f"{given}, expected int8, float32, int32")
    length, counts = (one.shape[-1] if one.ndim else None for one in (data, data_scale))
    counts = counts if isinstance(counts, int) else 0
    depth, parts = counts * call["group"], 1 if length == counts * call["group"] else 2
    if not depth or length != parts * depth:
        given = f"data is {show_shape(data.shape)}, data_scale {show_shape(data_scale.shape)}"
        raise fault(call, f"{given}, expected bytes of whole groups of {call['group']}, and as many scales")
    groups = (*data.shape[:-1], counts)
    for name, one in (("data_scale", data_scale), ("data_sum", data_sum)):
        if not same_shape(one.shape, groups):
            raise fault(call, f"{name} is {show_shape(one.shape)}, expected {show_shape(groups)}")
    check_sums(call, call["group"], 8 * parts)
    _check_packed(call, depth, weight, scale, offset)
    return TensorType((*data.shape[:-1], call["units"]), "float32")


def _check_packed(
    call: Call, depth: int, weight: TensorType, scale: TensorType, offset: TensorType | None
) -> None:
    """Raise an error unless these are a packed weight with rows of ``depth`` terms."""
    bits, group = check_groups(call)
    if group * bits % WORD:
        raise fault(call, f"group is {group}, expected codes of {bits} bits that fill whole words of 32")
    if weight.dtype != "uint32" or scale.dtype not in ("float32", "float16"):
        given = f"weight is {weight.dtype}, scale {scale.dtype}"
        raise fault(call, f"{given}, expected uint32, and float32 or float16")
    columns = weight.shape[-1] if weight.ndim else None
    if not isinstance(columns, int) or columns % VECTORS or not columns:
        raise fault(call, f"weight is {show_shape(weight.shape)}, expected columns in {VECTORS} vectors")
    if not isinstance(call["units"], int):
        raise fault(call, f"units is {call['units']}, expected a number")
    wanted = words_shape(call["units"], depth, bits, group, columns)
    if not same_shape(weight.shape, wanted):
        raise fault(call, f"weight is {show_shape(weight.shape)}, expected {show_shape(wanted)}")
    groups = (wanted[0], -(-depth // group), columns)
    for name, one in (("scale", scale), ("offset", offset)):
        if one is not None and not same_shape(one.shape, groups):
            raise fault(call, f"{name} is {show_shape(one.shape)}, expected {show_shape(groups)}")
    if offset is not None and offset.dtype not in ("int8", "int16", "float32"):
        raise fault(call, f"offset is {offset.dtype}, expected int8, int16 or float32")


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


def dense_codes_numpy(
    call: Call,
    data: np.ndarray,
    data_scale: np.ndarray,
    data_sum: np.ndarray,
    weight: np.ndarray,
    scale: np.ndarray,
    offset: np.ndarray | None = None,
) -> np.ndarray:
    """The reference: the sums of a group are integers, which are scaled in float64."""
    factors = unpacked_groups(scale)
    middle = np.full(factors.shape, 1 << (call["bits"] - 1), np.float32)
    middle = middle if offset is None else middle + unpacked_groups(offset)
    low, *high = np.split(data.astype(np.int32), data.shape[-1] // (data_scale.shape[-1] * call["group"]), -1)
    whole = low + 256 * high[0] if high else low
    codes = unpacked_codes(weight, call["bits"])
    product = scaled_sums_numpy(whole, data_scale, data_sum, codes, factors, middle)
    return product[..., : call["units"]].astype(np.float32)


@statement(DENSE, infer=dense_type, reference=dense_numpy, attrs=ATTRS)
def dense_group(call: Call, data: Tensor, weight: Tensor, scale: Tensor) -> Tensor:
    """Rows of ``data`` times columns of packed codes, minus the middle code, times a group's ``scale``."""
    return _dense(call, data, [weight, scale])


@statement(DENSE_OFFSET, infer=dense_type, reference=dense_numpy, attrs=ATTRS)
def dense_group_offset(call: Call, data: Tensor, weight: Tensor, scale: Tensor, offset: Tensor) -> Tensor:
    """``nn.contrib_dense_group_pack`` with codes minus the middle code and their group's ``offset``."""
    return _dense(call, data, [weight, scale, offset])


@statement(DENSE_CODES, infer=dense_codes_type, reference=dense_codes_numpy, attrs=ATTRS)
def dense_group_codes(
    call: Call, data: Tensor, data_scale: Tensor, data_sum: Tensor, weight: Tensor, scale: Tensor
) -> Tensor:
    """``nn.contrib_dense_group_pack`` with data quantized by ``nn.contrib_group_codes``: sums of a group are
    integers, which are then multiplied by both scales."""
    return _dense_codes(call, [data, data_scale, data_sum], [weight, scale])


@statement(DENSE_CODES_OFFSET, infer=dense_codes_type, reference=dense_codes_numpy, attrs=ATTRS)
def dense_group_codes_offset(
    call: Call,
    data: Tensor,
    data_scale: Tensor,
    data_sum: Tensor,
    weight: Tensor,
    scale: Tensor,
    offset: Tensor,
) -> Tensor:
    """``nn.contrib_dense_group_pack_codes`` with codes minus the middle code and their group's ``offset``."""
    return _dense_codes(call, [data, data_scale, data_sum], [weight, scale, offset])


def _dense(call: Call, data: Tensor, packed: list[Tensor]) -> Tensor:
    lead = data.shape[:-1]

    def body(rows: loop.Buffer, *given: loop.Buffer) -> loop.Stmt:
        weight, scale, *more, out = given
        offset = more[0] if more else None

        def read(row: Any, k: Any) -> e.Expr:
            return loops.load(rows, *unravelled(row, lead), k)

        made = Product(
            _sizes(call, data, packed, data.shape[-1]), _store_results(out, lead), weight, scale, offset, read
        )
        return made.statements()

    shape = (*lead, call["units"])
    return loops.extern("dense_group", [data, *packed], [(shape, "float32")], body)[0]


def _dense_codes(call: Call, data: list[Tensor], packed: list[Tensor]) -> Tensor:
    lead, length, depth = data[0].shape[:-1], data[0].shape[-1], data[1].shape[-1] * call["group"]
    assert isinstance(length, int)
    parts = length // depth

    def body(codes: loop.Buffer, factor: loop.Buffer, total: loop.Buffer, *given: loop.Buffer) -> loop.Stmt:
        weight, scale, *more, out = given
        offset = more[0] if more else None
        sizes = _sizes(call, data[0], packed, depth)
        made = IntegerProduct(
            sizes, _store_results(out, lead), weight, scale, offset, codes, factor, total, lead, parts
        )
        return made.statements()

    shape = (*lead, call["units"])
    return loops.extern("dense_group_codes", [*data, *packed], [(shape, "float32")], body)[0]


def _sizes(call: Call, data: Tensor, packed: list[Tensor], depth: Dim) -> Sizes:
    columns = packed[0].shape[-1]
    assert isinstance(depth, int)
    assert isinstance(columns, int)
    return Sizes(product_of(data.shape[:-1]), depth, call["units"], columns, call["bits"], call["group"])


def _store_results(out: loop.Buffer, lead: Shape) -> Write:
    return lambda row, column, value: loops.store(out, (*unravelled(row, lead), column), value)
