"""Decorators that register operators: by a formula for one element, or by loops.

The formula is a function of the call, the indices of the element and the tensors that are read::

    @injective("reverse", infer=reverse_type, reference=reverse_numpy, attrs={"axis": REQUIRED})
    def reverse(call: Call, i: Indices, data: Tensor) -> e.Expr:
        axis = call["axis"] % data.ndim
        return data[(*i[:axis], data.shape[axis] - 1 - i[axis], *i[axis + 1 :])]

The shape of the result is that of the type relation.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

from tvmlite.relay.ir.nodes import Call
from tvmlite.relay.ir.op import Fuse, Rounding, operator
from tvmlite.relay.ir.types import TensorType
from tvmlite.relay.ops.common import short_name
from tvmlite.te import expr as e
from tvmlite.te.templates import anchors
from tvmlite.te.tensor.declare import compute
from tvmlite.te.tensor.tensor import Tensor

Indices: TypeAlias = tuple[Any, ...]
"""The indices of an element."""

Element: TypeAlias = Callable[..., e.Expr]


def _of_one_element(
    fuse: Fuse, tag: str, name: str, *, infer: Callable[..., TensorType], **columns: Any
) -> Callable[[Element], Element]:
    """Register the decorated formula for one element as the operator ``name``."""

    def register(element: Element) -> Element:
        def apply(call: Call, *tensors: Tensor) -> Tensor:
            shape = infer(call, *(TensorType(one.shape, one.dtype) for one in tensors)).shape
            return compute(shape, lambda *i: element(call, i, *tensors), name=short_name(call), tag=tag)

        signature = inspect.signature(element)
        call, _, *arguments = signature.parameters.values()
        apply.__signature__ = signature.replace(parameters=[call, *arguments])  # type: ignore[attr-defined]
        apply.__doc__ = element.__doc__
        apply.__module__ = element.__module__  # a kernel is cached if all its operators are of the package
        operator(name, infer=infer, fuse=fuse, **columns)(apply)
        return element

    return register


elemwise = partial(_of_one_element, Fuse.ELEMWISE, "elemwise")
"""Element i of the result reads only element i of the arguments."""

broadcast = partial(_of_one_element, Fuse.BROADCAST, "broadcast")
"""Arguments are broadcast, then computed element by element."""

injective = partial(_of_one_element, Fuse.INJECTIVE, "injective", rounding=Rounding.NEVER)
"""Each element is an element of an argument: it is selected by its index, and nothing is computed."""

statement = partial(operator, fuse=Fuse.OPAQUE, schedule=anchors.STATEMENT)
"""A kernel of loops, for operators that no formula per element describes."""

reduction = partial(operator, fuse=Fuse.COMM_REDUCE, schedule=anchors.REDUCTION)
"""A reduction over axes of the data."""

anchored = partial(operator, fuse=Fuse.OUT_ELEMWISE_FUSABLE)
"""The anchor of a fused group, with a ``schedule``; element-wise operators may follow in its kernel."""
