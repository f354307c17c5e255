"""``relay.expr_functor``: visitors and mutators of expressions, with one method for each kind of node.

Each node is visited once, however often it is used.
"""

from __future__ import annotations

from typing import Any

from tvmlite.core.errors import UnsupportedError
from tvmlite.relay.ir import nodes
from tvmlite.relay.ir.attributes import show
from tvmlite.tvm.absent import refusing
from tvmlite.tvm.relay.expr import Call, Function, GlobalVar, If, Let, Tuple, TupleGetItem, adopt
from tvmlite.tvm.relay.op.op import Op
from tvmlite.tvm.relay.type_functor import TypeFunctor

_METHODS = (
    (GlobalVar, "visit_global_var"), (nodes.Var, "visit_var"), (nodes.Call, "visit_call"),
    (nodes.Constant, "visit_constant"), (nodes.Function, "visit_function"), (nodes.Tuple, "visit_tuple"),
    (nodes.TupleGetItem, "visit_tuple_getitem"), (nodes.Let, "visit_let"), (nodes.If, "visit_if"),
    (Op, "visit_op"),
    (nodes.Loop, "visit_loop"), (nodes.LetDims, "visit_let_dims"),
)  # fmt: skip


class ExprFunctor:
    """Calls the method for a node's kind, once for each node; ``memo_map`` has the results."""

    def __init__(self) -> None:
        self.memo_map: dict[Any, Any] = {}

    def visit(self, expr: Any) -> Any:
        """The result of the method for the kind of ``expr``, from ``memo_map`` after the first visit."""
        if not isinstance(expr, Op):
            expr = adopt(getattr(expr, "tuple_value", expr) if not isinstance(expr, nodes.Expr) else expr)
        if expr in self.memo_map:
            return self.memo_map[expr]
        found = self.memo_map[expr] = self._method(expr)(expr)
        return found

    def _method(self, expr: Any) -> Any:
        for kind, name in _METHODS:
            if isinstance(expr, kind):
                return getattr(self, name)
        raise UnsupportedError(f"visit: {show(expr)} is no relay expression")

    def _refuse(self, expr: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no method for a {type(expr).__name__}")

    visit_function = visit_let = visit_call = visit_var = visit_type = visit_if = visit_tuple = _refuse
    visit_tuple_getitem = visit_global_var = visit_op = visit_constant = visit_constructor = _refuse
    visit_ref_create = visit_ref_write = visit_ref_read = visit_match = visit_loop = visit_let_dims = _refuse


class ExprVisitor(ExprFunctor):
    """Visits every node. An overriding method calls ``super()``'s to visit the node's parts."""

    def visit_tuple(self, tup: Any) -> None:
        """Visit the fields."""
        for field in tup.fields:
            self.visit(field)

    def visit_call(self, call: Any) -> None:
        """Visit the operator or function, and the arguments."""
        self.visit(call.op)
        for arg in call.args:
            self.visit(arg)

    def visit_var(self, var: Any) -> None:
        """Do nothing: a variable has no parts."""

    def visit_let(self, let: Any) -> None:
        """Visit the variable, its value and the body."""
        self.visit(let.var)
        self.visit(let.value)
        self.visit(let.body)

    def visit_function(self, fn: Any) -> None:
        """Visit the parameters and the body."""
        for param in fn.params:
            self.visit(param)
        self.visit(fn.body)

    def visit_if(self, i: Any) -> None:
        """Visit the condition and both branches."""
        self.visit(i.cond)
        self.visit(i.true_branch)
        self.visit(i.false_branch)

    def visit_global_var(self, gv: Any) -> None:
        """Do nothing: a global variable has no parts."""

    def visit_constant(self, const: Any) -> None:
        """Do nothing: a constant has no parts."""

    def visit_op(self, op: Any) -> None:
        """Do nothing: an operator has no parts."""

    def visit_tuple_getitem(self, t: Any) -> None:
        """Visit the tuple."""
        self.visit(t.tuple_value)

    def visit_loop(self, loop: Any) -> None:
        """Visit the children."""
        for child in loop.children():
            self.visit(child)

    visit_let_dims = visit_loop


class ExprMutator(ExprFunctor):
    """Rebuilds every node from the results for its parts; a node whose parts are unchanged is reused."""

    def visit_function(self, fn: Any) -> Any:
        """The function of the visited parameters and body."""
        params = [self.visit(param) for param in fn.params]
        body = self.visit(fn.body)
        if list(params) == list(fn.params) and body is fn.body:
            return fn
        return Function(params, body, getattr(fn, "declared", None), fn.type_params, fn.attrs, span=fn.span)

    def visit_let(self, let: Any) -> Any:
        """The let of the visited variable, value and body."""
        var, value, body = self.visit(let.var), self.visit(let.value), self.visit(let.body)
        return (
            let if (var, value, body) == (let.var, let.value, let.body) else Let(var, value, body, let.span)
        )

    def visit_call(self, call: Any) -> Any:
        """The call of the visited operator and arguments."""
        op = self.visit(call.op)
        args = [self.visit(arg) for arg in call.args]
        return (
            call if op == call.op and args == list(call.args) else Call(op, args, call.attrs, span=call.span)
        )

    def visit_var(self, var: Any) -> Any:
        """The variable itself."""
        return var

    visit_global_var = visit_op = visit_constant = visit_constructor = visit_var

    def visit_if(self, ite: Any) -> Any:
        """The ``If`` of the visited condition and branches."""
        parts = [self.visit(ite.cond), self.visit(ite.true_branch), self.visit(ite.false_branch)]
        return ite if parts == [ite.cond, ite.true_branch, ite.false_branch] else If(*parts, span=ite.span)

    def visit_tuple(self, tup: Any) -> Any:
        """The tuple of the visited fields."""
        fields = [self.visit(field) for field in tup.fields]
        return tup if fields == list(tup.fields) else Tuple(fields, tup.span)

    def visit_tuple_getitem(self, op: Any) -> Any:
        """The same field of the visited tuple."""
        value = self.visit(op.tuple_value)
        return op if value is op.tuple_value else TupleGetItem(value, op.index, op.span)

    def visit_loop(self, loop: Any) -> Any:
        """The loop, or ``LetDims``, of the visited children."""
        return adopt(loop.map_children(self.visit))

    visit_let_dims = visit_loop


__all__ = ["ExprFunctor", "ExprMutator", "ExprVisitor", "TypeFunctor"]

__getattr__ = refusing(__name__)
