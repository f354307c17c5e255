"""Scalar expressions: the formulas of tensor elements, and the arithmetic in loops.

Semantics:

- Integers wrap around in two's complement. ``FloorDiv``/``FloorMod`` round towards minus infinity (Python's
  ``//`` and ``%``), ``TruncDiv``/``TruncMod`` towards zero (C's). Division by zero gives 0 and
  ``INT_MIN / -1`` gives ``INT_MIN``; the remainders give 0. No division traps.
- Floats are IEEE, and each operation is rounded: a product and a sum are two roundings. Only a
  ``ContractedAdd``, in a reduction or in tvmlite's polynomials, may be fused with a product into one
  multiply-add. ``Min`` and ``Max`` of floats give NaN if either operand is NaN.
- ``Cast`` from float to int truncates, saturates at the limits of the type, and converts NaN to 0.
- ``And``/``Or`` evaluate both operands and have no effects; ``if_then_else`` evaluates one alternative.
- A vector has ``lanes`` > 1; binary nodes need equal lanes, operators broadcast a scalar.

``nodes`` defines the nodes, ``constructors`` builds them from values, and ``operators`` has Python's
operators, which call the constructors.
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
