"""``tvm.tir.ir_builder``: loop nests written by hand, with TVM's names and defaults."""

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
    """As ``te.ir_builder``'s; loop variables are of ``dtype`` int32."""

    def for_range(  # type: ignore[override]
        self,
        begin: Any,
        end: Any,
        name: str = "i",
        dtype: str | None = None,
        kind: str = "serial",
        for_type: str | None = None,
    ) -> Scope:
        """A loop over ``begin ... end - 1``. ``for_type`` is the older name of ``kind``."""
        return super().for_range(begin, end, name, e.INDEX if dtype is None else dtype, for_type or kind)

    def allocate(
        self, dtype: str, shape: Any, name: str = "buf", axis_separators: Any = None, scope: str = ""
    ) -> BufferVar:  # type: ignore[override]
        """Scratch memory until the scope it is made in closes."""
        if isinstance(axis_separators, str):
            axis_separators, scope = None, axis_separators
        if axis_separators:
            raise UnsupportedError("allocate: axis_separators are not supported", Span.of_caller())
        made = super().allocate(dtype, shape, name, scope or "local")
        mark(made.buffer)
        return made

    def buffer_ptr(self, buf: ir.Buffer, shape: Any = None) -> BufferVar:  # type: ignore[override]
        """A buffer given to ``te.extern``'s function, to index, by one index or one an axis."""
        return super().buffer_ptr(buf)

    def if_scope(self, cond: Any) -> Scope:  # type: ignore[override]
        """What is written inside happens if ``cond`` holds."""
        return super().if_scope(cond)

    def let(self, var_name: str, value: Any) -> e.Var:  # type: ignore[override]
        """``value``, evaluated here once, by a name; good until the scope it is made in closes."""
        return super().let(var_name, value)

    def likely(self, expr: Any) -> e.Expr:  # type: ignore[override]
        """``expr``, a condition, which mostly holds."""
        return super().likely(expr)

    def pointer(self, content_type: str, name: str = "ptr", scope: str = "") -> BufferVar:
        """A vector of ``content_type`` to index, of the extent that the array has which ``PrimFunc`` is
        given for it."""
        made = te.decl_buffer((e.SizeVar(f"{name}_extent"),), content_type, name)
        return super().buffer_ptr(mark(made))

    def emit(self, stmt: Any) -> None:
        """Add a statement, or an expression evaluated for its effect; nodes of TVM's that the compiler does
        not have stay, to be looked at."""
        super().emit(stmt)

    def get(self) -> ir.Stmt:
        """All that was written, as it was written."""
        return with_marked_constants(super().get())

    def new_scope(self) -> Scope:
        """What is allocated, named or bound to threads inside ends with it."""
        return Scope(self, None, lambda body: body)

    def scope_attr(self, node: Any, attr_key: str, value: Any) -> None:
        """With ``"thread_extent"`` what follows in the scope is to be carried out by ``value`` threads of the
        axis ``node``: loops to look at, which ``tvm.build`` refuses. ``"storage_scope"`` and pragmas change
        nothing; all others are errors."""
        if attr_key == "storage_scope" or attr_key.startswith("pragma_"):
            return
        if attr_key in ("thread_extent", "virtual_thread"):
            axis = arguments.instance("scope_attr: node", node, ThreadAxis, "a te.thread_axis")
            self._wrap_rest(lambda rest: bound(axis, value, rest))
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
    """A builder with nothing in it."""
    return IRBuilder()


__getattr__ = refusing(__name__)
