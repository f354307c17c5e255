"""Compute matrix products and convolutions in 16-bit floats, the rest in float32: TVM's ToMixedPrecision.

There are three kinds of operators:

- ``ALWAYS``: operators that dominate the time. Their operands are 16-bit, their sums and results float32.
  Each is a decision (``decisions``): the 16-bit type, which is the default, or float32.
- Operators that only move values (``Rounding.NEVER``). They work on 16-bit values if their operand or their
  result is rounded to 16 bits.
- All other operators compute in float32.

A value that some ``ALWAYS`` operator reads is rounded to 16 bits once, where it is computed, and all its
readers read the rounded value. So one tensor of half the size is stored between kernels, and the epilogue of
a product (a bias, an activation, a residual sum) reads the unrounded sums. ``narrow_links`` rounds other
values that are stored between kernels.

If the processor has no 16-bit float arithmetic (``has_16_bit_products``), a product of 16-bit floats would
widen both operands before each multiply-add. Then the same values are rounded, but stored as float32: a
weight is rounded at compile time, a result in the kernel that computes it, and products are those of float32.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from tvmlite.core.errors import ConfigError
from tvmlite.core.node import postorder
from tvmlite.machine.target import Target
from tvmlite.relay.ir import op as operators
from tvmlite.relay.ir.infer import type_of
from tvmlite.relay.ir.nodes import Call, Constant, Expr, Module, Tuple, TupleGetItem, Var, canonical
from tvmlite.relay.ir.op import Rounding, make
from tvmlite.relay.ir.types import TensorType, TupleType
from tvmlite.relay.passes.decisions import Decisions, decide
from tvmlite.relay.passes.graph_pass import map_functions

DTYPES = ("bfloat16", "float16")

ALWAYS = frozenset(
    "nn.dense nn.matmul nn.batch_matmul nn.attention nn.conv1d nn.conv2d nn.conv3d "
    "nn.conv1d_transpose nn.conv2d_transpose nn.conv3d_transpose".split()
)

WIDE_OPERANDS = ("mask",)
"""Operands of ``ALWAYS`` operators that stay float32: masks, which are added to sums and may be any float."""

ARITHMETIC = ("avx512bf16", "avx512fp16", "amx-bf16", "amx-fp16")
"""Instruction sets that multiply 16-bit floats."""


def has_16_bit_products(target: Target) -> bool:
    """Whether products on ``target`` read operands that are stored as 16-bit floats.

    In C source they do: it is for any machine, including small ones, on which 32-bit weights may not fit.
    """
    return target.kind == "c" or any(map(target.has, ARITHMETIC))


def to_mixed_precision(
    dtype: str = "bfloat16",
    target: Target | None = None,
    decisions: Decisions | None = None,
) -> Callable[[Module], Module]:
    """The pass to ``dtype``, bfloat16 or float16; inputs and outputs of the module keep their types.

    If ``target`` does not multiply 16-bit floats, they are stored as float32. ``decisions`` may choose
    float32 for single products. Another dtype is a ConfigError.
    """
    if dtype not in DTYPES:
        raise ConfigError(f"precision is {dtype!r}, expected {' or '.join(map(repr, DTYPES))}")

    stored = dtype if target is None or has_16_bit_products(target) else "float32"

    def to_mixed_precision(module: Module) -> Module:
        return map_functions(module, lambda body: _Mixed(body, dtype, stored, decisions).body())

    return to_mixed_precision


@dataclass
class _Mixed:
    """The rewriting of one body: each value gets a ``wide`` form, a ``narrow`` form, or both.

    Narrow values are rounded to ``dtype`` and stored in the dtype ``stored``.
    """

    root: Expr
    dtype: str
    stored: str
    decisions: Decisions | None
    products: set[Expr] = field(default_factory=set)
    rounded: set[Expr] = field(default_factory=set)
    wide: dict[Expr, Expr] = field(default_factory=dict)
    narrow: dict[Expr, Expr] = field(default_factory=dict)

    def body(self) -> Expr:
        nodes = [node for node in postorder(self.root) if isinstance(node, Expr)]
        self.products = {node for node in nodes if self._is_product(node)}
        for node in reversed(nodes):
            self._mark(node)
        for node in nodes:
            if not isinstance(node, Tuple):  # tuples are rebuilt in their readers
                self._make(node)
        return self._as_wide(self.root)

    def _mark(self, node: Expr) -> None:
        """Add the operands of ``node`` that must be rounded to ``rounded``; its readers have been visited."""
        if node in self.products:
            self.rounded.update(self._operands(node))
        elif node in self.rounded and (isinstance(node, TupleGetItem) or _is_data_movement(node)):
            self.rounded.update(_float_operands(node))

    def _is_product(self, node: Expr) -> bool:
        """Whether ``node`` takes its operands in 16 bits: it can, and the decision says so."""
        if not (isinstance(node, Call) and node.op in ALWAYS and _dtypes(node) == {"float32"}):
            return False
        alternatives = self.dtype, "float32"
        return decide(self.decisions, "precision", lambda: [[node]], alternatives, self.dtype) == self.dtype

    def _operands(self, node: Expr) -> set[Expr]:
        """The operands that the ``ALWAYS`` operator ``node`` reads in 16 bits."""
        assert isinstance(node, Call)
        return rounded_operands(node)

    def _make(self, node: Expr) -> None:
        """Rebuild ``node`` on rewritten children, in the precision that it is computed in."""
        if self._is_narrow_data_movement(node):
            self.narrow[node] = self._read(node, _float_operands(node))
            return
        made = self._read(node, self._operands(node) if node in self.products else set())
        if node in self.products:
            assert isinstance(made, Call)
            made = replace(made, attrs=canonical({**dict(made.attrs), "out_dtype": "float32"}))
        if node in self.rounded and _is_computed(node) and isinstance(type_of(node), TensorType):
            self.narrow[node] = self._rounded(made)
        else:
            self.wide[node] = made

    def _is_narrow_data_movement(self, node: Expr) -> bool:
        """Whether ``node`` moves values that are 16-bit already, or is to be rounded to 16 bits."""
        if isinstance(node, TupleGetItem):
            return node.value in self.narrow
        if not _is_data_movement(node):
            return False
        floats = _float_operands(node)
        return node in self.rounded or all(_is_computed(one) and one in self.narrow for one in floats)

    def _read(self, node: Expr, narrow: set[Expr]) -> Expr:
        """``node`` with its children rewritten, those in ``narrow`` as 16-bit values."""

        def read(child: Expr) -> Expr:
            if isinstance(child, Tuple):
                return child.map_children(read)
            return self._as_narrow(child) if child in narrow else self._as_wide(child)

        return node.map_children(read)

    def _as_narrow(self, value: Expr) -> Expr:
        """The narrow form of ``value``; a cast is made once."""
        if value not in self.narrow:
            self.narrow[value] = self._rounded(self.wide[value])
        return self.narrow[value]

    def _as_wide(self, value: Expr) -> Expr:
        """``value`` in its original type; a cast is made once."""
        if isinstance(value, Tuple):
            return value.map_children(self._as_wide)
        if value not in self.wide:
            made, type_ = self.narrow[value], type_of(value)
            if self.stored == "float32":
                self.wide[value] = made
            elif isinstance(type_, TupleType):
                fields = (TupleGetItem(made, index) for index in range(len(type_.fields)))
                self.wide[value] = Tuple(tuple(self._cast(one, "float32") for one in fields))
            else:
                self.wide[value] = self._cast(made, "float32")
        return self.wide[value]

    def _rounded(self, value: Expr) -> Expr:
        """The narrow form of the float32 ``value``."""
        rounded = self._cast(value, self.dtype)
        return rounded if self.stored == self.dtype else self._cast(rounded, self.stored)

    def _cast(self, value: Expr, dtype: str) -> Expr:
        """``value``, which is float32 or 16-bit, as ``dtype``."""
        match value:
            case Call("cast", (source,)) if _dtypes(source) == {dtype} == {self.dtype}:
                return source
        return make("cast", value, dtype=dtype, span=getattr(value, "span", None))


def rounded_operands(call: Call) -> set[Expr]:
    """The operands that a product in ``ALWAYS`` reads in 16 bits."""
    names = operators.get(str(call.op), call.span).argument_names
    wide = {arg for name, arg in zip(names, call.args, strict=False) if name in WIDE_OPERANDS}
    return _float_operands(call) - wide


def _float_operands(node: Expr) -> set[Expr]:
    """The float32 operands of ``node``, including the fields of tuples."""
    children = [child for child in node.children() if isinstance(child, Expr)]
    fields = [one for child in children for one in (child.fields if isinstance(child, Tuple) else (child,))]
    return {one for one in fields if _dtypes(one) == {"float32"}}


def _is_data_movement(node: Expr) -> bool:
    """Whether the floats of ``node`` are those of its only float argument, at other positions. Operators that
    replace some elements of a tensor (``tensor_scatter``) have two, and may be done in place."""
    if not (isinstance(node, Call) and isinstance(node.op, str)):
        return False
    moves = operators.get(node.op, node.span).rounding is Rounding.NEVER
    return moves and _dtypes(node) == {"float32"} and sum("float32" in _dtypes(one) for one in node.args) == 1


def _is_computed(node: Expr) -> bool:
    return not isinstance(node, (Var, Constant))


def _dtypes(value: Expr) -> set[str]:
    """The dtypes of ``value``, a tensor or a tuple of tensors."""
    type_ = type_of(value)
    kinds = type_.fields if isinstance(type_, TupleType) else (type_,)
    return {one.dtype if isinstance(one, TensorType) else "" for one in kinds}
