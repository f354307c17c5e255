"""Matrix products and convolutions in 16-bit floats, the rest in float32: TVM's ToMixedPrecision.

Sums add up in float32 whatever the operands are. What an operator does is one of three:

- ``ALWAYS``: its operands become 16 bits wide; such operators are what takes the time. Each is a decision
  (``relay.decisions``): the 16-bit type, the default, or float32;
- ``FOLLOW``: 16 bits if all its float operands but constants are so already, else float32;
- everything else: float32, because it needs the range or the digits (softmax, norms, ``exp``, reductions).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from tvmlite.core.errors import ConfigError
from tvmlite.core.node import postorder
from tvmlite.relay.decisions import decide
from tvmlite.relay.infer import type_of
from tvmlite.relay.ir import Call, Constant, Expr, Module, Tuple, TupleGetItem, canonical
from tvmlite.relay.op import make
from tvmlite.relay.passes.graph_pass import map_functions
from tvmlite.relay.types import TensorType, TupleType

DTYPES = ("bfloat16", "float16")

ALWAYS = frozenset(
    "nn.dense nn.matmul nn.batch_matmul nn.conv1d nn.conv2d nn.conv3d "
    "nn.conv1d_transpose nn.conv2d_transpose nn.conv3d_transpose".split()
)

FOLLOW = frozenset(
    "add subtract multiply divide maximum minimum negative abs clip where copy nn.bias_add nn.relu "
    "nn.leaky_relu nn.prelu nn.gelu nn.silu nn.hard_swish sigmoid tanh reshape expand_dims squeeze transpose "
    "broadcast_to strided_slice take split concatenate stack reverse nn.pad nn.max_pool1d nn.max_pool2d "
    "nn.max_pool3d nn.global_max_pool2d nn.depth_to_space nn.space_to_depth".split()
)


def to_mixed_precision(
    dtype: str = "bfloat16",
    always: frozenset[str] = ALWAYS,
    follow: frozenset[str] = FOLLOW,
) -> Callable[[Module], Module]:
    """The pass to ``dtype``, bfloat16 or float16; inputs and outputs of the module keep their types.

    ``always`` and ``follow`` are names of operators; those in neither compute in float32. Another dtype is a
    ConfigError.
    """
    if dtype not in DTYPES:
        raise ConfigError(f"precision is {dtype!r}, expected {' or '.join(map(repr, DTYPES))}")

    def to_mixed_precision(module: Module) -> Module:
        return map_functions(module, lambda body: _Mixed(body, dtype, always, follow).body())

    return to_mixed_precision


@dataclass
class _Mixed:
    """A body while its operators find their precision."""

    root: Expr
    dtype: str
    always: frozenset[str]
    follow: frozenset[str]
    done: dict[Expr, Expr] = field(default_factory=dict)
    casts: dict[tuple[Expr, str], Expr] = field(default_factory=dict)
    readers: dict[Expr, int] = field(default_factory=dict)

    def body(self) -> Expr:
        for node in postorder(self.root):
            for child in node.children():
                self.readers[child] = self.readers.get(child, 0) + 1  # type: ignore[index]
        for node in postorder(self.root):
            assert isinstance(node, Expr)
            self.done[node] = self._call(node) if isinstance(node, Call) else self._other(node)
        return self._as_typed(self.done[self.root], self.root)

    def _other(self, node: Expr) -> Expr:
        if isinstance(node, (Tuple, TupleGetItem)):
            return node.map_children(self.done.__getitem__)
        return node.map_children(lambda child: self._as_typed(self.done[child], child))

    def _call(self, node: Call) -> Expr:
        """``node`` of rewritten arguments, in the precision it is to have."""
        args = [self.done[arg] for arg in node.args]
        always = node.op in self.always and _dtypes(type_of(node)) == {"float32"} and self._is_narrow(node)
        if always or (node.op in self.follow and self._may_follow(args)):
            args = [self._as(arg, self.dtype, ("float32",)) for arg in args]
        else:
            args = [self._as_typed(arg, old) for arg, old in zip(args, node.args, strict=True)]
        if all(a is b for a, b in zip(args, node.args, strict=True)):
            return node
        return replace(node, args=tuple(args))

    def _is_narrow(self, node: Call) -> bool:
        """Whether it was decided that ``node``, which could, takes its operands in 16 bits."""
        return decide("precision", lambda: [[node]], (self.dtype, "float32"), self.dtype) == self.dtype

    def _may_follow(self, args: Sequence[Expr]) -> bool:
        """Whether all floats among ``args`` that are computed are 16 bits wide, and some are."""
        kinds: set[str] = set()
        for arg in args:
            for one in arg.fields if isinstance(arg, Tuple) else (arg,):
                if not isinstance(one, Constant):
                    kinds |= {
                        kind for kind in _dtypes(type_of(one)) if kind in ("float32", "float64", *DTYPES)
                    }
        return kinds == {self.dtype}

    def _as_typed(self, value: Expr, old: Expr) -> Expr:
        """``value`` with the type that ``old``, which it stands for, has."""
        if _dtypes(type_of(value)) == _dtypes(type_of(old)):
            return value
        type_ = type_of(value)
        if isinstance(type_, TupleType):
            pairs = [(_field(value, index), _field(old, index)) for index in range(len(type_.fields))]
            return Tuple(tuple(self._as_typed(new, one) for new, one in pairs), getattr(old, "span", None))
        if isinstance(value, Call) and value.op in self.always and self.readers.get(old, 1) == 1:
            return replace(value, attrs=canonical({**dict(value.attrs), "out_dtype": "float32"}))
        return self._as(value, "float32", (self.dtype,))

    def _as(self, value: Expr, dtype: str, given: Sequence[str]) -> Expr:
        """``value`` cast to ``dtype`` where it is one of ``given``; each value once."""
        if isinstance(value, Tuple):
            return replace(value, fields=tuple(self._as(one, dtype, given) for one in value.fields))
        type_ = type_of(value)
        if not isinstance(type_, TensorType) or type_.dtype not in given:
            return value
        if isinstance(value, Call) and value.op == "cast" and value in self.casts.values():
            source = value.args[0]
            if _dtypes(type_of(source)) == {dtype}:
                return source
        key = value, dtype
        if key not in self.casts:
            self.casts[key] = make("cast", value, dtype=dtype, span=getattr(value, "span", None))
        return self.casts[key]


def _field(value: Expr, index: int) -> Expr:
    return value.fields[index] if isinstance(value, Tuple) else TupleGetItem(value, index)


def _dtypes(type_: object) -> set[str]:
    """The dtypes in ``type_``."""
    if isinstance(type_, TupleType):
        return {dtype for one in type_.fields for dtype in _dtypes(one)}
    return {type_.dtype} if isinstance(type_, TensorType) else set()
