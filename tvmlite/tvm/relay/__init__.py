"""TVM's ``relay``: graphs, their types, operators, passes, text, frontends and executors.

Operators are attributes: ``relay.add(a, b)``, ``relay.nn.conv2d(data, weight)``. A name's module is loaded
when the name is first used.
"""

from __future__ import annotations

import importlib
import typing

from tvmlite.tvm import absent

_HERE = "tvmlite.tvm.relay"

_MODULES = (
    "adt", "analysis", "backend", "build_module", "dataflow_pattern", "expr", "expr_functor", "frontend",
    "function", "op", "param_dict", "qnn", "quantize", "scope_builder", "testing", "transform", "ty", "vm",
)  # fmt: skip
"""The modules that are names here."""

_NAMES = {
    "expr": (
        "Call", "Constant", "GlobalVar", "If", "Let", "RefCreate", "RefRead", "RefWrite", "Tuple",
        "TupleGetItem", "TupleWrapper", "Var", "Function", "bind", "const", "var",
    ),
    "ty": (
        "Any", "FuncType", "GlobalTypeVar", "IncompleteType", "RefType", "TensorType", "TupleType", "Type",
        "TypeCall", "TypeConstraint", "TypeFunctor", "TypeKind", "TypeMutator", "TypeRelation", "TypeVar",
        "TypeVisitor", "scalar_type",
    ),
    "adt": (
        "Clause", "Constructor", "Match", "PatternConstructor", "PatternTuple", "PatternVar",
        "PatternWildcard", "Prelude", "TypeData",
    ),
    "expr_functor": ("ExprFunctor", "ExprMutator", "ExprVisitor"),
    "scope_builder": ("ScopeBuilder",),
    "build_module": ("build", "build_config", "create_executor", "optimize"),
}  # fmt: skip

_PLACES: dict[str, tuple[str, str]] = {
    **{name: (f"{_HERE}.{module}", name) for module, names in _NAMES.items() for name in names},
    "Expr": (f"{_HERE}.expr", "RelayExpr"),
    "RelayExpr": (f"{_HERE}.expr", "RelayExpr"),
    "Pattern": (f"{_HERE}.adt", "Match"),
    "GraphExecutor": (f"{_HERE}.build_module", "GraphExecutorFactory"),
    "Module": ("tvmlite.tvm.ir.module", "IRModule"),
    "SourceName": ("tvmlite.tvm.ir.source", "SourceName"),
    "Span": ("tvmlite.tvm.ir.source", "Span"),
    "astext": (f"{_HERE}.text.printer", "astext"),
    "fromtext": ("tvmlite.tvm.parser", "fromtext"),
    "load_param_dict": ("tvmlite.tvm.runtime_params", "load_param_dict"),
    "parse": ("tvmlite.tvm.parser", "parse"),
    "parse_expr": ("tvmlite.tvm.parser", "parse_expr"),
    "save_param_dict": ("tvmlite.tvm.runtime_params", "save_param_dict"),
}
"""Names of functions and classes: the module that has each, and its name there."""


def __getattr__(name: str) -> typing.Any:
    if name in _MODULES:
        return importlib.import_module(f"{_HERE}.{name}")
    if name in _PLACES:
        module, own = _PLACES[name]
        return getattr(importlib.import_module(module), own)
    if name.startswith("__"):
        raise AttributeError(name)
    if absent.is_absent(f"relay.{name}"):
        return absent.module(f"relay.{name}")
    return importlib.import_module(f"{_HERE}.op.functions").find(name)


def __dir__() -> list[str]:
    from tvmlite.relay.ir import op  # the operators' names

    return sorted({*_MODULES, *_PLACES, *(name for name in op.names() if "." not in name)})
