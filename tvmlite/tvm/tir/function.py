"""``tvm.tir.PrimFunc``: a function in loop IR."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from tvmlite.core.errors import UnsupportedError
from tvmlite.core.node import postorder
from tvmlite.core.span import Span
from tvmlite.te import expr as e
from tvmlite.te.extensions import extend
from tvmlite.te.intrin.ir_builder import BufferVar
from tvmlite.te.loop import ir
from tvmlite.tvm.absent import refusing
from tvmlite.tvm.te.op_attributes import OpAttributes
from tvmlite.tvm.tir.by_hand import widened, with_output
from tvmlite.tvm.tir.nodes import Named


def _make(
    params: Sequence[Any],
    body: ir.Stmt,
    ret_type: Any = None,
    buffer_map: Mapping[Any, ir.Buffer] | None = None,
    attrs: Any = None,
) -> ir.Function:
    """The function of ``params``, buffers or variables, named ``main``. Buffers that are stored to are its
    outputs."""
    given: tuple[Any, ...] = tuple((buffer_map or {}).get(one, one) for one in params)
    given = tuple(one.buffer if isinstance(one, BufferVar) else one for one in given)
    for one in given:
        if not isinstance(one, (ir.Buffer, e.Var)):
            raise UnsupportedError(
                f"PrimFunc: a parameter is a {type(one).__name__}, expected a buffer or a var",
                Span.of_caller(),
            )
    body, returned = with_output(body)
    given, body = widened(given if returned is None else (*given, returned), body)
    stored = {node.buffer for node in postorder(body) if isinstance(node, ir.Store)}
    outputs = tuple(one for one in given if isinstance(one, ir.Buffer) and one in stored)
    extents = {
        n: None for one in given if isinstance(one, ir.Buffer) for n in one.shape if isinstance(n, e.Var)
    }
    sizes = tuple(n for n in extents if n not in given)
    return ir.Function("main", given, outputs, sizes, body)


PrimFunc = Named(
    "PrimFunc",
    (),
    {"ours": ir.Function, "make": staticmethod(_make), "__doc__": _make.__doc__, "__module__": __name__},
)


class FunctionNames:
    """Methods that TVM's functions have."""

    def with_attr(self: Any, attr_key_or_dict: Any, attr_value: Any = None) -> ir.Function:
        """The function with its name (``"global_symbol"``) or further attributes set."""
        given = attr_key_or_dict if isinstance(attr_key_or_dict, Mapping) else {attr_key_or_dict: attr_value}
        function: ir.Function = self
        for key, value in given.items():
            if key == "global_symbol":
                function = replace(function, name=str(value))
            else:
                function = replace(function, attrs=OpAttributes((*function.attrs, (key, value))))
        return function


extend(ir.Function, FunctionNames)

__getattr__ = refusing(__name__)
