"""``tvm.tir.ir_builder``: builds loop nests by hand, with TVM's names and defaults."""

from __future__ import annotations

from typing import Any

from tvmlite import te
from tvmlite.core import arguments
from tvmlite.core.errors import UnsupportedError
from tvmlite.core.span import Span
from tvmlite.te import expr as e
from tvmlite.te.intrin import ir_builder
from tvmlite.te.intrin.ir_builder import BufferVar as BufferVar
from tvmlite.te.intrin.ir_builder import Scope
from tvmlite.te.loop import ir
from tvmlite.tvm.absent import MissingName, refusing
from tvmlite.tvm.marks import mark, with_marked_constants
from tvmlite.tvm.te.threads import ThreadAxis, bound


class IRBuilder(ir_builder.IRBuilder):
    """Like the builder of ``te.ir_builder``, with TVM's parameters."""

    def for_range(  # type: ignore[override]
        self,
        begin: Any,
        end: Any,
        name: str = "i",
        dtype: str | None = None,
        kind: str = "serial",
        for_type: str | None = None,
    ) -> Scope:
        """Open a loop over ``begin ... end - 1``. Its variable is an int64 unless ``dtype`` is given.
        ``for_type`` is the older name of ``kind``."""
        return super().for_range(begin, end, name, e.INDEX if dtype is None else dtype, for_type or kind)

    def allocate(
        self, dtype: str, shape: Any, name: str = "buf", axis_separators: Any = None, scope: str = ""
    ) -> BufferVar:  # type: ignore[override]
        """Allocate scratch memory that lives until the enclosing scope closes."""
        if isinstance(axis_separators, str):
            axis_separators, scope = None, axis_separators
        if axis_separators:
            raise UnsupportedError("allocate: axis_separators are not supported", Span.of_caller())
        made = super().allocate(dtype, shape, name, scope or "local")
        mark(made.buffer)
        return made

    def buffer_ptr(self, buf: ir.Buffer, shape: Any = None) -> BufferVar:  # type: ignore[override]
        """Return an indexable view of a buffer that was passed to ``te.extern``'s function. ``shape`` is
        ignored."""
        return super().buffer_ptr(buf)

    def if_scope(self, cond: Any) -> Scope:  # type: ignore[override]
        """Open a scope whose statements are executed if ``cond`` holds."""
        return super().if_scope(cond)

    def let(self, var_name: str, value: Any) -> e.Var:  # type: ignore[override]
        """Evaluate ``value`` once and return a variable for it, valid until the enclosing scope closes."""
        return super().let(var_name, value)

    def likely(self, expr: Any) -> e.Expr:  # type: ignore[override]
        """Return the condition ``expr`` with the hint that it usually holds."""
        return super().likely(expr)

    def pointer(self, content_type: str, name: str = "ptr", scope: str = "") -> BufferVar:
        """Declare a one-dimensional buffer of ``content_type``, whose extent is that of the array passed for
        it to the ``PrimFunc``."""
        made = te.decl_buffer((e.SizeVar(f"{name}_extent"),), content_type, name)
        return super().buffer_ptr(mark(made))

    def emit(self, stmt: Any) -> None:
        """Add a statement, or an expression that is evaluated for its side effects. TVM's nodes that tvmlite
        cannot compile are kept for inspection."""
        super().emit(stmt)

    def get(self) -> ir.Stmt:
        """Return everything that was emitted, as one statement."""
        return with_marked_constants(super().get())

    def new_scope(self) -> Scope:
        """Open a scope that limits allocations, variables and thread bindings made inside it."""
        return Scope(self, None, lambda body: body)

    def scope_attr(self, node: Any, attr_key: str, value: Any) -> None:
        """Set an attribute of the rest of the scope. With ``"thread_extent"`` or ``"virtual_thread"`` it runs
        in ``value`` threads of the axis ``node``: such loops can be inspected, but ``tvm.build`` refuses
        them. ``"storage_scope"`` and pragmas have no effect; other keys raise an UnsupportedError."""
        if attr_key == "storage_scope" or attr_key.startswith("pragma_"):
            return
        if attr_key in ("thread_extent", "virtual_thread"):
            axis = arguments.instance("scope_attr: node", node, ThreadAxis, "a te.thread_axis")
            self._around_rest(lambda rest: bound(axis, value, rest))
            return
        raise UnsupportedError(
            f"ir_builder.scope_attr: {attr_key!r} is not supported: there is code for CPUs only",
            Span.of_caller(),
        )

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        raise MissingName(f"IRBuilder.{name} is not in tvmlite", Span.of_caller())


def create() -> IRBuilder:
    """Return an empty builder."""
    return IRBuilder()


__getattr__ = refusing(__name__)
