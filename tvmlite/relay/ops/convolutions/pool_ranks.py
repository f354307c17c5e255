"""Global and adaptive poolings of one and three spatial axes, written as those of two."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np

from tvmlite.relay.ir.infer import tensor_type_of
from tvmlite.relay.ir.nodes import Call, Expr
from tvmlite.relay.ir.op import make
from tvmlite.relay.ir.types import Shape, num_elements
from tvmlite.relay.ops import windows
from tvmlite.relay.ops.common import fault
from tvmlite.relay.ops.convolutions.conv import sum_dtype
from tvmlite.relay.ops.written_out import reshaped, written_out


def _output_size(call: Call, sizes: Shape) -> tuple[Any, ...]:
    size = call.get("output_size", 1)
    if size is None or size == ():
        return tuple(sizes)
    given = size if isinstance(size, tuple) else (size,)
    given = given * len(sizes) if len(given) == 1 else given
    if len(given) != len(sizes):
        raise fault(call, f"output_size is {size}, expected {len(sizes)} values")
    return given


def _adaptive_pool(call: Call, data: Expr, kind: str, rank: int) -> Expr:
    """Pool the planes, then the depth: regions along one axis do not depend on the other axes."""
    windows.check_layout(call, "layout", rank)
    type_ = tensor_type_of(data)
    windows.check_rank(call, "data", type_, rank + 2)
    batch, channels, *sizes = type_.shape
    size = _output_size(call, tuple(sizes))
    name = f"nn.adaptive_{kind}_pool2d"
    if rank == 1:
        plane = reshaped(data, (batch, channels, 1, sizes[0]))
        return reshaped(make(name, plane, output_size=(1, *size)), (batch, channels, *size))
    planes = reshaped(data, (batch, channels * sizes[0], *sizes[1:]))
    planes = make(name, planes, output_size=size[1:])
    pixels = num_elements(size[1:])
    columns = reshaped(planes, (batch, channels, sizes[0], pixels))
    made = make(name, columns, output_size=(size[0], pixels))
    return reshaped(made, (batch, channels, *size))


def _numpy(kind: str, rank: int) -> Callable[..., np.ndarray]:
    def reference(call: Call, data: np.ndarray) -> np.ndarray:
        sizes = data.shape[2:]
        cuts = tuple(_output_size(call, sizes))
        work = sum_dtype(data.dtype.name) if kind == "avg" else data.dtype
        result = np.empty((*data.shape[:2], *cuts), data.dtype)
        for at in product(*map(range, cuts)):
            region = tuple(
                slice(i * n // m, -(-(i + 1) * n // m)) for i, n, m in zip(at, sizes, cuts, strict=True)
            )
            part = data[(slice(None), slice(None), *region)].astype(work)
            axes = tuple(range(2, rank + 2))
            result[(slice(None), slice(None), *at)] = (
                part.mean(axis=axes) if kind == "avg" else part.max(axis=axes)
            )
        return result

    return reference


def _register(kind: str, rank: int) -> None:
    def rule(call: Call, data: Expr) -> Expr:
        return _adaptive_pool(call, data, kind, rank)

    what = "The mean" if kind == "avg" else "The greatest element"
    layout = {"layout": windows.LAYOUTS[rank], "out_layout": ""}
    reference = _numpy(kind, rank)
    rule.__doc__ = f"{what} of each of ``output_size`` regions along {rank} axes;\nneighbours may overlap."
    written_out(
        f"nn.adaptive_{kind}_pool{rank}d",
        reference=reference,
        attrs={"output_size": None, **layout},
        open_attrs=("output_size",),
    )(rule)

    def global_rule(call: Call, data: Expr) -> Expr:
        return _adaptive_pool(call, data, kind, rank)

    global_rule.__doc__ = f"{what} over all elements along {rank} axes."
    written_out(f"nn.global_{kind}_pool{rank}d", reference=reference, attrs=layout)(global_rule)


for _rank in (1, 3):
    for _kind in ("avg", "max"):
        _register(_kind, _rank)
