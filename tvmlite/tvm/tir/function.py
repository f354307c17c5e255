"""``tvm.tir.PrimFunc``: a hand-written function of statements and expressions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from tvmlite.core.errors import UnsupportedError
from tvmlite.core.node import postorder
from tvmlite.core.span import Span
from tvmlite.te import expr as e
from tvmlite.te.extensions import extend
from tvmlite.te.intrin.ir_builder import BufferVar
from tvmlite.te.loop import ir
from tvmlite.tvm.absent import MissingName, refusing
from tvmlite.tvm.te.op_attributes import OpAttributes
from tvmlite.tvm.tir.by_hand import widened, with_output
from tvmlite.tvm.tir.nodes import Named
from tvmlite.tvm.tir.types import PointerType, PrimType, pointer_var
from tvmlite.tvm.written import Uncompiled, plain


@dataclass(frozen=True, eq=False)
class WrittenFunction:
    """A function as its author wrote it. ``params`` are variables; ``buffer_map`` maps those that are arrays
    to buffers. ``lowered`` returns the form that is compiled."""

    params: tuple[e.Var, ...]
    body: ir.Stmt
    ret_type: Any
    buffer_map: Mapping[e.Var, ir.Buffer]
    attrs: OpAttributes | None = None
    compared_fields: ClassVar[tuple[str, ...]] = ("buffer_map", "ret_type", "body", "attrs")
    binders: ClassVar[tuple[str, ...]] = ("params",)

    def lowered(self) -> ir.Function:
        """Return the function in tvmlite's loop IR. Buffers that are stored to are its outputs."""
        known = vars(self).get("_lowered")
        if known is None:
            known = _function(self)
            object.__setattr__(self, "_lowered", known)
        return known

    def with_attr(self, attr_key_or_dict: Any, attr_value: Any = None) -> WrittenFunction:
        """Return the function with an attribute, or a dict of them, set; ``"global_symbol"`` is its name."""
        given = attr_key_or_dict if isinstance(attr_key_or_dict, Mapping) else {attr_key_or_dict: attr_value}
        old = [one for one in self.attrs or () if one[0] not in given]
        return replace(self, attrs=OpAttributes((*old, *given.items())))

    def with_body(self, new_body: ir.Stmt, span: Any = None) -> WrittenFunction:
        """Return the function with the body ``new_body``."""
        return replace(self, body=new_body)

    def same_as(self, other: object) -> bool:
        """Whether ``other`` is the same object."""
        return self is other

    def astext(self, *_: Any, **__: Any) -> str:
        """Return the loops as text. TVM's arguments are accepted and ignored."""
        return str(self)

    script = astext

    def show(self, *_: Any, **__: Any) -> None:
        """Print the loops."""
        print(self)

    def __str__(self) -> str:
        return str(self.lowered())

    def __getattr__(self, name: str) -> Any:
        if name in ("name", "outputs", "sizes", "buffers"):
            return getattr(self.lowered(), name)
        if name.startswith("_"):
            raise AttributeError(name)
        raise MissingName(f"PrimFunc has no attribute {name!r} in tvmlite", Span.of_caller())


def lowered(function: Any) -> Any:
    """The form of ``function`` that is compiled; a function of tvmlite's loop IR is returned unchanged."""
    return function.lowered() if isinstance(function, WrittenFunction) else function


def _make(
    params: Sequence[Any],
    body: ir.Stmt,
    ret_type: Any = None,
    buffer_map: Mapping[Any, ir.Buffer] | None = None,
    attrs: Any = None,
) -> WrittenFunction:
    """Make a function named ``main``, whose ``params`` are buffers or variables. Buffers that are stored to
    are its outputs."""
    buffers = dict(buffer_map or {})
    given: list[e.Var] = []
    for one in params:
        param = one.buffer if isinstance(one, BufferVar) else one
        if isinstance(param, ir.Buffer):
            var = pointer_var(param.name, PointerType(PrimType(param.dtype)))
            buffers[var], param = param, var
        if not isinstance(param, e.Var):
            raise UnsupportedError(
                f"PrimFunc: a parameter is a {type(one).__name__}, expected a buffer or a var",
                Span.of_caller(),
            )
        given.append(param)
    kept = None if attrs is None else OpAttributes(tuple(dict(attrs).items()))
    made = WrittenFunction(tuple(given), body, ret_type, buffers, kept)
    if not any(isinstance(node, Uncompiled) for node in postorder(body)) and not _has_pointers(made):
        made.lowered()  # so that its errors are reported at the caller's line
    return made


def _has_pointers(function: WrittenFunction) -> bool:
    """Whether a parameter is an address without an entry in ``buffer_map``."""
    return any(one.dtype == "handle" and one not in function.buffer_map for one in function.params)


def _function(written: WrittenFunction) -> ir.Function:
    if _has_pointers(written):
        raise UnsupportedError(
            "PrimFunc: a pointer parameter has no entry in buffer_map",
            Span.of_caller(),
            hint="buffer_map={param: tvm.tir.decl_buffer(shape, dtype)}",
        )
    params: tuple[Any, ...] = tuple(written.buffer_map.get(one, one) for one in written.params)
    body, returned = with_output(plain(written.body))
    params, body = widened(params if returned is None else (*params, returned), body)
    stored = {node.buffer for node in postorder(body) if isinstance(node, ir.Store)}
    outputs = tuple(one for one in params if isinstance(one, ir.Buffer) and one in stored)
    extents = {
        n: None for one in params if isinstance(one, ir.Buffer) for n in one.shape if isinstance(n, e.Var)
    }
    sizes = tuple(n for n in extents if n not in params)
    made = ir.Function("main", params, outputs, sizes, body)
    return made if written.attrs is None else made.with_attr(dict(tuple(written.attrs)))  # type: ignore[attr-defined]


PrimFunc = Named(
    "PrimFunc",
    (),
    {
        "ours": (ir.Function, WrittenFunction),
        "make": staticmethod(_make),
        "__doc__": _make.__doc__,
        "__module__": __name__,
    },
)


class FunctionNames:
    """Methods of TVM's functions that are added to those of tvmlite's loop IR."""

    def with_body(self: Any, new_body: ir.Stmt, span: Any = None) -> ir.Function:
        """Return the function with the body ``new_body``, in which int32 loop variables become int64."""
        params, body = widened(self.params, plain(new_body))
        outputs = tuple(new for old, new in zip(self.params, params, strict=True) if old in self.outputs)
        return replace(self, params=params, outputs=outputs, body=body)

    def with_attr(self: Any, attr_key_or_dict: Any, attr_value: Any = None) -> ir.Function:
        """Return the function with an attribute, or a dict of them, set; ``"global_symbol"`` is its name."""
        given = attr_key_or_dict if isinstance(attr_key_or_dict, Mapping) else {attr_key_or_dict: attr_value}
        function: ir.Function = self
        for key, value in given.items():
            if key == "global_symbol":
                function = replace(function, name=str(getattr(value, "value", value)))
            else:
                function = replace(function, attrs=OpAttributes((*function.attrs, (key, value))))
        return function


extend(ir.Function, FunctionNames)

__getattr__ = refusing(__name__)
