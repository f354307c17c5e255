"""``tvm.relay``: the graph IR, its types, operators, passes, text format, frontends and executors.

Operators are attributes: ``relay.add(a, b)``, ``relay.nn.conv2d(data, weight)``. A name's module is loaded
when the name is first used.
"""

from __future__ import annotations

from tvmlite.tvm.lazy import attributes, later

__getattr__, __all__ = attributes(  # pyright: ignore[reportUnsupportedDunderAll]
    __name__,
    """
        analysis backend build_module data_dep_optimization dataflow_pattern expr expr_functor frontend loops
        op qnn quantize scope_builder testing transform ty type_functor vm
    """,
    {
        ".expr": """
            Call Constant Expr=RelayExpr Function GlobalVar If Let RelayExpr
            Tuple TupleGetItem TupleWrapper Var bind const var
        """,
        ".ty": """
            Any FuncType IncompleteType TensorType TupleType Type TypeKind scalar_type
        """,
        ".adt": """
            Clause Constructor Match Pattern=Match PatternConstructor PatternTuple PatternVar
            PatternWildcard Prelude TypeData
        """,
        ".expr_functor": "ExprFunctor ExprMutator ExprVisitor",
        ".scope_builder": "ScopeBuilder",
        ".type_functor": "TypeFunctor TypeMutator TypeVisitor",
        ".build_module": "GraphExecutor=GraphExecutorFactory build build_config create_executor optimize",
        "tvmlite.tvm.ir.module": "Module=IRModule",
        "tvmlite.tvm.ir.source": "SourceName Span",
        ".text.printer": "astext",
        "tvmlite.tvm.parser": "fromtext parse parse_expr",
        "tvmlite.tvm.runtime_params": "load_param_dict save_param_dict",
    },
    later("relay.op.functions", "find"),
)


def __dir__() -> list[str]:
    from tvmlite.relay.ir import op  # the operator table, for its names

    return sorted({*__all__, *(name for name in op.names() if "." not in name)})
