"""TVM's ``relay.type_functor``: classes with a method for each kind of type, to look at types and to change
them."""

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
    """Calls the method of a type's kind, which those who derive from it have."""

    def visit(self, typ: Any) -> Any:
        """What the method of ``typ`` gives."""
        for kind, name in _METHODS:
            if isinstance(typ, kind):
                return getattr(self, name)(typ)
        raise UnsupportedError(f"visit: {show(typ)} given, expected a relay type", Span.of_caller())

    def _refuse(self, typ: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no method for a {type(typ).__name__}")

    visit_tensor_type = visit_tuple_type = visit_func_type = visit_incomplete_type = _refuse


class TypeVisitor(TypeFunctor):
    """Visits every type in a type; methods that are overridden say when to visit the parts, with
    ``super()``."""

    def visit_tensor_type(self, tt: Any) -> None:
        """Nothing: a tensor's type has no types in it."""

    def visit_incomplete_type(self, it: Any) -> None:
        """Nothing."""

    def visit_tuple_type(self, tt: Any) -> None:
        """Visit the fields."""
        for field in tt.fields:
            self.visit(field)

    def visit_func_type(self, ft: Any) -> None:
        """Visit the types of the parameters, then that of the result."""
        for part in (*ft.arg_types, ft.ret_type):
            self.visit(part)


class TypeMutator(TypeFunctor):
    """Gives every type anew, of what its parts became; methods that are overridden change some."""

    def visit_tensor_type(self, tt: Any) -> Any:
        """The type itself."""
        return tt

    def visit_incomplete_type(self, it: Any) -> Any:
        """The type itself."""
        return it

    def visit_tuple_type(self, tt: Any) -> Any:
        """The type of the fields visited."""
        return TupleType([self.visit(field) for field in tt.fields])

    def visit_func_type(self, ft: Any) -> Any:
        """The type of the parameters and the result visited."""
        return FuncType([self.visit(one) for one in ft.arg_types], self.visit(ft.ret_type))


__getattr__ = refusing(__name__)
