"""Scalar expressions: what a tensor's element is computed from, and what loops compute with.

Semantics, once and for all:

- Integers wrap around in two's complement. ``FloorDiv``/``FloorMod`` round towards minus
  infinity (Python's ``//`` and ``%``), ``TruncDiv``/``TruncMod`` towards zero (C's). Division by
  zero and ``INT_MIN / -1`` give 0 and ``INT_MIN``; the remainders give 0: no signal, ever.
- Floats are IEEE, and each operation is rounded: a product and a sum are two roundings. Only a
  ``ContractedAdd``, in a reduction or a polynomial of ours, may be one multiply-add with a product.
  ``Min`` and ``Max`` of floats give NaN when either side is NaN.
- ``Cast`` float to int truncates, saturates at the limits of the type, and takes NaN to 0.
- ``And``/``Or`` evaluate both sides and have no effects; ``if_then_else`` evaluates one side.
- A vector has ``lanes`` > 1; binary nodes need equal lanes, operators broadcast a scalar.

``nodes`` is what there is, ``constructors`` builds it from values, ``operators`` are Python's, which call
the constructors.
"""

from tvmlite.te.expr.constructors import (
    all_of,
    any_of,
    broadcast,
    cast,
    const,
    contracted,
    convert,
    div,
    fold,
    is_const,
    lanes_of,
    match,
    scalar,
    scalars,
)
from tvmlite.te.expr.nodes import (
    Add,
    And,
    Binary,
    Broadcast,
    Call,
    Cast,
    Compare,
    Const,
    ContractedAdd,
    ContractedSub,
    Div,
    Equal,
    Expr,
    FloorDiv,
    FloorMod,
    Foreign,
    Less,
    LessEqual,
    Max,
    Min,
    Mul,
    Not,
    NotEqual,
    Or,
    Ramp,
    Select,
    SizeVar,
    Sub,
    TruncDiv,
    TruncMod,
    Value,
    Var,
)
from tvmlite.te.expr.operators import Operators

INDEX = "int64"
"""The dtype of all index arithmetic after lowering (axes and ``te.var`` start as int32, as in TVM)."""

__all__ = [
    "Add",
    "all_of",
    "And",
    "any_of",
    "Binary",
    "Broadcast",
    "broadcast",
    "Call",
    "Cast",
    "cast",
    "Compare",
    "Const",
    "const",
    "contracted",
    "ContractedAdd",
    "ContractedSub",
    "convert",
    "Div",
    "div",
    "Equal",
    "Expr",
    "FloorDiv",
    "FloorMod",
    "fold",
    "Foreign",
    "INDEX",
    "is_const",
    "lanes_of",
    "Less",
    "LessEqual",
    "match",
    "Max",
    "Min",
    "Mul",
    "Not",
    "NotEqual",
    "Operators",
    "Or",
    "Ramp",
    "scalar",
    "scalars",
    "Select",
    "SizeVar",
    "Sub",
    "TruncDiv",
    "TruncMod",
    "Value",
    "Var",
]
