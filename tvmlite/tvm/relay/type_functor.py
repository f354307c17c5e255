"""``relay.type_functor``: visitors and mutators of types, with one method for each kind of type."""

from __future__ import annotations

from typing import Any

from tvmlite.core.errors import UnsupportedError
from tvmlite.core.span import Span
from tvmlite.relay.ir.attributes import show
from tvmlite.tvm.absent import refusing
from tvmlite.tvm.relay.ty import FuncType, IncompleteType, TensorType, TupleType

_METHODS = (
    (TensorType, "visit_tensor_type"),
    (TupleType, "visit_tuple_type"),
    (FuncType, "visit_func_type"),
    (IncompleteType, "visit_incomplete_type"),
)


class TypeFunctor:
    """Calls the method for a type's kind; subclasses define the methods."""

    def visit(self, typ: Any) -> Any:
        """The result of the method for the kind of ``typ``."""
        for kind, name in _METHODS:
            if isinstance(typ, kind):
                return getattr(self, name)(typ)
        raise UnsupportedError(f"visit: {show(typ)} given, expected a relay type", Span.of_caller())

    def _refuse(self, typ: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no method for a {type(typ).__name__}")

    visit_tensor_type = visit_tuple_type = visit_func_type = visit_incomplete_type = _refuse


class TypeVisitor(TypeFunctor):
    """Visits a type and the types in it. An overriding method calls ``super()``'s to visit the parts."""

    def visit_tensor_type(self, tt: Any) -> None:
        """Do nothing: a tensor's type contains no other types."""

    def visit_incomplete_type(self, it: Any) -> None:
        """Do nothing."""

    def visit_tuple_type(self, tt: Any) -> None:
        """Visit the fields."""
        for field in tt.fields:
            self.visit(field)

    def visit_func_type(self, ft: Any) -> None:
        """Visit the parameter types, then the result type."""
        for part in (*ft.arg_types, ft.ret_type):
            self.visit(part)


class TypeMutator(TypeFunctor):
    """Rebuilds a type from the results for its parts; overriding methods replace some of them."""

    def visit_tensor_type(self, tt: Any) -> Any:
        """The type itself."""
        return tt

    def visit_incomplete_type(self, it: Any) -> Any:
        """The type itself."""
        return it

    def visit_tuple_type(self, tt: Any) -> Any:
        """The tuple type of the visited fields."""
        return TupleType([self.visit(field) for field in tt.fields])

    def visit_func_type(self, ft: Any) -> Any:
        """The function type of the visited parameter types and result type."""
        return FuncType([self.visit(one) for one in ft.arg_types], self.visit(ft.ret_type))


__getattr__ = refusing(__name__)
