"""``tvm.IRModule``: named functions, which may call each other."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import Any

from tvmlite.core.errors import TypeInferError
from tvmlite.core.node import postorder
from tvmlite.core.span import Span
from tvmlite.relay.ir import nodes
from tvmlite.relay.ir.attributes import show
from tvmlite.tvm.absent import missing
from tvmlite.tvm.lazy import later
from tvmlite.tvm.relay.expr import Function, GlobalVar, Var, adopt
from tvmlite.tvm.relay.graph.attrs import Attrs, plain_attrs

_astext = later("relay.text.printer", "astext")
_pretty = later("relay.text.printer", "pretty")


class _Modules(type):
    """The metaclass of ``IRModule``, which makes the results of ``tvm.lower`` instances of it."""

    def __instancecheck__(cls, instance: Any) -> bool:
        lowered = sys.modules.get("tvmlite.tvm.driver.lowered")
        if lowered is not None and cls is IRModule and isinstance(instance, lowered.LoweredModule):
            return True
        return super().__instancecheck__(instance)


class IRModule(metaclass=_Modules):
    """A mutable map from ``GlobalVar`` to immutable functions: ``mod["main"]``, ``mod[gv] = f``.

    Functions that are not Relay functions, such as lowered ones, are stored unchanged.
    """

    def __init__(
        self,
        functions: Mapping[Any, Any] | None = None,
        type_definitions: Any = None,
        attrs: Any = None,
        global_infos: Any = None,
    ) -> None:
        if type_definitions:
            missing("IRModule with type_definitions", "there are no algebraic data types")()
        self.functions: dict[GlobalVar, Any] = {}
        self.attrs = Attrs(sorted(plain_attrs(attrs).items()))
        self.core: tuple[tuple[str, ...], Any] = ((), ())
        """The output names and the attributes of the ``tvmlite.relay`` module that this one was made from."""
        for var, function in (functions or {}).items():
            self[var] = function

    @property
    def type_definitions(self) -> dict[Any, Any]:
        """The algebraic data types of the module: always empty, as they are not supported."""
        return {}

    @staticmethod
    def from_expr(expr: Any, functions: Mapping[Any, Any] | None = None, type_defs: Any = None) -> IRModule:
        """Return a module whose ``main`` is the function ``expr``; any other expression becomes a function of
        its free variables."""
        made = IRModule(functions, type_defs)
        made["main"] = expr if _is_other(expr) else as_function(expr)
        return made

    def __getitem__(self, var: Any) -> Any:
        name = _name(var)
        for one, function in self.functions.items():
            if one.name == name:
                return function
        raise ValueError(f"the module has no function @{name}; it has {_names(self)}")

    def __setitem__(self, var: Any, function: Any) -> None:
        self.update_func(var, function)

    def __contains__(self, var: Any) -> bool:
        return any(one.name == _name(var) for one in self.functions)

    def __len__(self) -> int:
        return len(self.functions)

    def __iter__(self) -> Iterator[GlobalVar]:
        return iter(self.functions)

    def update_func(self, var: Any, function: Any) -> None:
        """Set the function named ``var``."""
        if not _is_other(function):
            function = as_function(function)
        key = next((one for one in self.functions if one.name == _name(var)), None)
        named = var if isinstance(var, GlobalVar) else GlobalVar(_name(var))
        self.functions[key or named] = function

    def update(self, other: Any) -> None:
        """Add or replace functions by those of another module or a dict."""
        for var, function in getattr(other, "functions", other).items():
            self[var] = function

    def functions_items(self) -> list[tuple[GlobalVar, Any]]:
        """Return the pairs of ``GlobalVar`` and function, sorted by name."""
        return sorted(self.functions.items(), key=lambda item: item[0].name)

    def get_global_var(self, name: str) -> GlobalVar:
        """Return the ``GlobalVar`` of the function ``name``; raises a ValueError if there is none."""
        for one in self.functions:
            if one.name == name:
                return one
        raise ValueError(f"the module has no function @{name}; it has {_names(self)}")

    def get_global_vars(self) -> list[GlobalVar]:
        """Return the ``GlobalVar`` of every function."""
        return list(self.functions)

    def get_attr(self, attr_key: str) -> Any:
        """Return the attribute ``attr_key`` of the module, or None."""
        return self.attrs.get(attr_key)

    def with_attr(self, attr_key: str, attr_value: Any) -> IRModule:
        """Return a copy of the module with the attribute set."""
        made = self.copy()
        made.attrs = Attrs(sorted({**dict(self.attrs), **plain_attrs({attr_key: attr_value})}.items()))
        return made

    def copy(self) -> IRModule:
        """Return a new module with the same functions and attributes."""
        made = IRModule(self.functions)
        made.attrs, made.core = self.attrs, self.core
        return made

    def __copy__(self) -> IRModule:
        return self.copy()

    def __deepcopy__(self, memo: object) -> IRModule:
        return self.copy()

    def same_as(self, other: object) -> bool:
        """Whether ``other`` is the same object."""
        return self is other

    def import_from_std(self, file_to_import: str) -> None:
        """Do nothing for ``core.rly``, which declares only a type for TVM's own passes. Raises an error for
        TVM's other files, which declare algebraic data types."""
        if file_to_import != "core.rly":
            missing(f"IRModule.import_from_std({file_to_import!r})", "there are no algebraic data types")()

    def _add(self, var: Any, function: Any, update: bool = False) -> None:
        """The name that ``update_func`` has in older programs."""
        self.update_func(var, function)

    def astext(self, show_meta_data: bool = True, annotate: Any = None) -> str:
        """Return the module in TVM's text format."""
        return _astext(self, show_meta_data, annotate)

    def __str__(self) -> str:
        return _pretty(self)

    __repr__ = __str__

    def __getattr__(self, name: str) -> Any:
        if name in ("get_constructor", "get_type", "get_global_type_var", "add_type"):
            return missing(f"IRModule.{name}", "there are no algebraic data types")
        raise AttributeError(f"'IRModule' object has no attribute {name!r}")


def as_function(expr: Any) -> Function:
    """``expr`` if it is a function, else a function of its free variables with ``expr`` as the body."""
    if not isinstance(expr, nodes.Expr):
        expr = getattr(expr, "tuple_value", expr)
    if not isinstance(expr, nodes.Expr):
        raise TypeInferError(f"a function is {show(expr)}, expected a relay function", Span.of_caller())
    expr = adopt(expr)
    if isinstance(expr, Function):
        return expr
    free = nodes.free_variables(node for node in postorder(expr) if not isinstance(node, GlobalVar))  # type: ignore[arg-type]
    return Function([var for var in free if isinstance(var, Var)], expr)


def _is_other(function: Any) -> bool:
    """Whether ``function`` is a function of another IR than Relay."""
    return not isinstance(function, nodes.Expr) and hasattr(function, "body") and hasattr(function, "params")


def _name(var: Any) -> str:
    name = getattr(var, "name", var)
    if not isinstance(name, str):
        raise TypeInferError(
            f"a function's name is {show(var)}, expected a string or a GlobalVar", Span.of_caller()
        )
    return name


def _names(module: IRModule) -> str:
    return ", ".join(f"@{var.name}" for var in module.functions) or "none"
