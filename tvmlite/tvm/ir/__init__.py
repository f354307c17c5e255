"""``tvm.ir``: modules, types, operators, structural equality, passes, and custom intrinsics."""

from tvmlite.tvm.lazy import attributes

__getattr__, __all__ = attributes(  # pyright: ignore[reportUnsupportedDunderAll]
    __name__,
    "instrument module supply transform",
    {
        "tvmlite.tvm": "container",
        "tvmlite.tvm.relay.ty": "FuncType IncompleteType TensorType TupleType Type TypeKind",
        "tvmlite.tvm.relay.expr": "GlobalVar RelayExpr",
        ".module": "IRModule",
        "tvmlite.tvm.relay.op.op": "Op",
        "tvmlite.tvm.relay.transform.precision.affine_type": "TensorAffineType TupleAffineType",
        "tvmlite.tvm.tir.types": "PointerType PrimType",
        "tvmlite.te.expr": "PrimExpr=Expr",
        "tvmlite.tvm.tir.axis": "Range",
        "tvmlite.tvm.container": "Array Map",
        ".transform": "PassContext",
        ".source": "SourceName Span",
        ".supply": "GlobalVarSupply NameSupply",
        ".structural": """
            assert_structural_equal get_first_structural_mismatch structural_equal structural_hash
        """,
        ".attrs": "DictAttrs EnvFunc make_node",
        ".json": "load_json save_json",
        ".intrinsics": "register_intrin_lowering register_op_attr",
    },
)
