"""Tensors and the operations that produce them: placeholder, compute, reduce.

A tensor's shape holds a Python int for each known extent, and an expression of size variables for others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NoReturn, TypeAlias

from tvmlite.core import arguments
from tvmlite.core import dtype as dtypes
from tvmlite.core.errors import TensorExpressionError
from tvmlite.core.node import Node, postorder
from tvmlite.core.span import Span
from tvmlite.te import expr as e
from tvmlite.te.expr import Expr, Operators
from tvmlite.te.extensions import extension

Extent: TypeAlias = int | Expr
Shape: TypeAlias = tuple[Extent, ...]

KINDS = ("data", "reduce", "ordered")
"""The kinds of axes: see ``IterVar``."""

MOST_EXTENT = (1 << 63) - 1
"""The largest extent: indices are int64."""


@dataclass(frozen=True, eq=False)
class Range(Node):
    """``min, min + 1, ..., min + extent - 1``."""

    min: Expr
    extent: Expr
    children_in: ClassVar[tuple[str, ...]] = ("min", "extent")


@dataclass(frozen=True, eq=False)
class IterVar(Operators, Node):
    """An axis: a variable and its range.

    ``kind`` is ``"data"`` (independent iterations), ``"reduce"`` (iterations combine, in any order), or
    ``"ordered"`` (a scan). Axes created by split and fuse have ``dom`` None until bounds are inferred.
    """

    dom: Range | None
    var: e.Var
    kind: str = "data"

    def __post_init__(self) -> None:
        if not isinstance(self.var, e.Var):
            raise arguments.refused("IterVar: var", self.var, "a te.var")
        if self.dom is not None and not isinstance(self.dom, Range):
            raise arguments.refused("IterVar: dom", self.dom, "a range or None")
        if not isinstance(self.kind, str) or self.kind not in KINDS:
            raise arguments.refused("IterVar: kind", self.kind, f"one of {', '.join(KINDS)}")

    def as_expr(self) -> Expr:
        """The value of the axis: its variable."""
        return self.var

    def __repr__(self) -> str:
        return f"IterVar({self.var.name}, {self.kind})"


@dataclass(frozen=True, eq=False)
class Operation(Node):
    """The producer of one or more tensors; a stage of a schedule computes one operation."""

    name: str
    kind: ClassVar[str] = ""
    """The extension that lowers the operation, one of ``extensions.MODULES``; "" if the core does."""
    takes_inputs: ClassVar[str] = ""
    """The role of an input in an operation without a formula, for error messages."""

    @property
    def num_outputs(self) -> int:
        """The number of tensors produced."""
        return 1

    @property
    def loop_axes(self) -> tuple[IterVar, ...]:
        """The axes of the loops that compute the operation by default."""
        return ()

    def row_axis(self, op: Operation) -> IterVar | None:
        """The axis of this operation whose iterations each compute one row of ``op``, or None."""
        return None

    def with_inputs(self, replacements: Mapping[Tensor, Tensor]) -> Operation:
        """The operation with its inputs replaced as ``replacements`` says."""
        raise NotImplementedError

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """The tensors read, each once, in order of first use."""
        return ()

    def output_shape(self, index: int) -> Shape:
        """The shape of the ``index``-th result."""
        raise NotImplementedError

    def output_dtype(self, index: int) -> str:
        """The dtype of the ``index``-th result."""
        raise NotImplementedError

    def output(self, index: int) -> Tensor:
        """The ``index``-th result; the same object in each call."""
        return self.outputs[index]

    @property
    def outputs(self) -> tuple[Tensor, ...]:
        """All results, in order; the same objects in each call."""
        cached = self.__dict__.get("_outputs")
        if cached is None:
            cached = tuple(Tensor(self, i) for i in range(self.num_outputs))
            object.__setattr__(self, "_outputs", cached)
        return cached


@dataclass(frozen=True, eq=False)
class PlaceholderOp(Operation):
    """An input tensor."""

    shape: Shape
    dtype: str
    span: Span | None = None

    def output_shape(self, index: int) -> Shape:
        """The shape that the placeholder was declared with."""
        return self.shape

    def output_dtype(self, index: int) -> str:
        """The dtype that the placeholder was declared with."""
        return self.dtype


@dataclass(frozen=True, eq=False)
class ComputeOp(Operation):
    """``output[axis...] = body``; several outputs share the axes.

    ``reduce_axis`` holds the axes of the body's ``Reduce`` (which is then the whole body). ``tag`` gives
    schedule templates the kind of operation (``"conv2d"``, ``"injective"``, ...), ``attrs`` more details.
    """

    axis: tuple[IterVar, ...]
    reduce_axis: tuple[IterVar, ...]
    body: tuple[Expr, ...]
    tag: str = ""
    attrs: tuple[tuple[str, Any], ...] = ()
    span: Span | None = None
    reads_earlier_rows: ClassVar[bool] = False
    """Whether it reads rows before the first of a placeholder, which only the update of a scan may do."""

    @property
    def num_outputs(self) -> int:
        """The number of expressions in the body."""
        return len(self.body)

    @property
    def loop_axes(self) -> tuple[IterVar, ...]:
        """The data axes, then the reduce axes."""
        return (*self.axis, *self.reduce_axis)

    def axis_ranges(self) -> dict[e.Var, tuple[Any, Any]]:
        """The begin and extent of each axis, ints where known, by its variable."""
        axes = (*self.axis, *self.reduce_axis)
        return {a.var: (extent_of(a.dom.min), extent_of(a.dom.extent)) for a in axes if a.dom}

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """The tensors that the body reads, each once, in order of first use."""
        cached = self.__dict__.get("_inputs")
        if cached is None:
            cached = tensors_read(self.body)
            object.__setattr__(self, "_inputs", cached)
        return cached

    @property
    def input_tensors(self) -> tuple[Tensor, ...]:
        """``inputs``, under TVM's name."""
        return self.inputs

    def output_shape(self, index: int) -> Shape:
        """The extents of the data axes, which all outputs share."""
        return tuple(extent_of(a.dom.extent) for a in self.axis if a.dom is not None)

    def output_dtype(self, index: int) -> str:
        """The dtype of the ``index``-th expression of the body."""
        return self.body[index].dtype


@dataclass(frozen=True, eq=False)
class Tensor(Node):
    """The ``value_index``-th result of ``op``; indexed with an expression for each axis."""

    op: Operation
    value_index: int = 0

    def __post_init__(self) -> None:
        if not isinstance(self.op, Operation):
            raise arguments.refused("Tensor: op", self.op, "an operation")
        if type(self.value_index) is not int or not 0 <= self.value_index < self.op.num_outputs:
            expected = f"0 to {self.op.num_outputs - 1}, the results of {self.op.name}"
            raise arguments.refused("Tensor: value_index", self.value_index, expected)

    @property
    def shape(self) -> Shape:
        """The extent of each axis."""
        return self.op.output_shape(self.value_index)

    @property
    def dtype(self) -> str:
        """The dtype of its elements."""
        return self.op.output_dtype(self.value_index)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def axis(self) -> tuple[IterVar, ...]:
        """The data axes of the operation, ``tensor.op.axis``; a placeholder has none."""
        return getattr(self.op, "axis", ())

    @property
    def name(self) -> str:
        """The operation's name, with a number if it has several results."""
        return self.op.name if self.op.num_outputs == 1 else f"{self.op.name}_{self.value_index}"

    def __call__(self, *indices: Any) -> Expr:
        """The element at ``indices``: ``t(i, j)`` is ``t[i, j]``."""
        return self[indices]

    def __getitem__(self, indices: Any) -> Any:
        indices = indices if isinstance(indices, tuple) else (indices,)
        return TensorSlice(self, ())[indices]

    def as_expr(self) -> Expr:
        """The value of a rank-0 tensor."""
        return TensorSlice(self, ()).as_expr() if self.ndim else self[()]

    def __iter__(self) -> NoReturn:
        """Raise an error: Python would iterate by indices without end, since tensors have no bounds
        checks."""
        raise _not_iterable(self)

    def __repr__(self) -> str:
        return f"Tensor({self.name}, shape={self.shape}, dtype={self.dtype})"


@dataclass(frozen=True, eq=False)
class TensorSlice(Operators):
    """A tensor indexed on its first axes only, such as ``A[i]`` in ``A[i][j]``."""

    tensor: Tensor
    indices: tuple[Expr, ...]

    def __getitem__(self, indices: Any) -> Any:
        more = indices if isinstance(indices, tuple) else (indices,)
        if any(isinstance(one, slice) for one in more):
            return extension("windows").window(self.tensor, (*self.indices, *more))
        every = (*self.indices, *(e.convert(i) for i in more))
        rank = self.tensor.ndim
        if len(every) > rank:
            raise TensorExpressionError(
                f"tensor {self.tensor.name!r} has {rank} axes, indexed with {len(every)}", Span.of_caller()
            )
        for index in every:
            if not dtypes.is_int(index.dtype):
                raise TensorExpressionError(
                    f"tensor {self.tensor.name!r} is indexed with a {index.dtype} value, expected an int",
                    Span.of_caller(),
                )
        return TensorRead(self.tensor, every) if len(every) == rank else TensorSlice(self.tensor, every)

    def __iter__(self) -> NoReturn:
        """Raise an error, as for tensors."""
        raise _not_iterable(self.tensor)

    def as_expr(self, *_: object) -> Expr:
        """Raise a TensorExpressionError, as indices are missing."""
        raise TensorExpressionError(
            f"tensor {self.tensor.name!r} has {self.tensor.ndim} axes, indexed with {len(self.indices)}",
            Span.of_caller(),
        )

    __bool__ = __float__ = __int__ = __index__ = as_expr  # type: ignore[assignment]


@dataclass(frozen=True, eq=False)
class TensorRead(Expr):
    """The element of ``tensor`` at ``indices``; undefined if out of bounds."""

    tensor: Tensor
    indices: tuple[Expr, ...]
    dtype: str = field(init=False)
    lanes: int = field(init=False)
    children_in: ClassVar[tuple[str, ...]] = ("indices",)

    def __post_init__(self) -> None:
        self._typed(self.tensor.dtype, 1)


@dataclass(frozen=True, eq=False)
class CommReducer(Node):
    """A commutative, associative combination of (tuples of) values.

    ``result`` combines ``left`` and ``right``, tuples of variables of equal length; ``identity`` is neutral;
    ``free`` are other variables in these, such as an axis. ``name`` is "sum", "min" or the user's.
    """

    name: str
    left: tuple[e.Var, ...]
    right: tuple[e.Var, ...]
    result: tuple[Expr, ...]
    identity: tuple[Expr, ...]
    free: tuple[e.Var, ...] = ()
    children_in: ClassVar[tuple[str, ...]] = ("result", "identity")
    binders: ClassVar[tuple[str, ...]] = ("left", "right", "free")


@dataclass(frozen=True, eq=False)
class Reduce(Expr):
    """The reduction of ``source`` by ``combiner`` over all values of ``axis`` for which ``condition`` holds.

    It must be a compute's whole body. ``value_index`` selects one of the combiner's results; ``init``, if not
    empty, is the initial value in place of the identity; ``free_values`` are the values of the combiner's
    free variables.
    """

    combiner: CommReducer
    source: tuple[Expr, ...]
    axis: tuple[IterVar, ...]
    condition: Expr
    value_index: int = 0
    init: tuple[Expr, ...] = ()
    free_values: tuple[Expr, ...] = ()
    dtype: str = field(init=False)
    lanes: int = field(init=False)
    children_in: ClassVar[tuple[str, ...]] = ("source", "condition", "init", "free_values")

    def __post_init__(self) -> None:
        self._typed(self.source[self.value_index].dtype, 1)


def _not_iterable(tensor: Tensor) -> TensorExpressionError:
    return TensorExpressionError(
        f"tensor {tensor.name!r} cannot be iterated over",
        Span.of_caller(),
        hint="te.compute(shape, lambda i: ...) gives each element by a formula",
    )


def tensors_read(body: Sequence[Node]) -> tuple[Tensor, ...]:
    """The tensors read anywhere in ``body``, each once, in order of first use."""
    found: dict[Tensor, None] = {}
    for root in body:
        for node in postorder(root):
            if isinstance(node, TensorRead):
                found[node.tensor] = None
    return tuple(found)


def shape_of(shape: Any) -> Shape:
    """A user's ``shape`` as a tuple of extents; a single extent is the shape of a vector."""
    given = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    return tuple(extent_of(n) for n in given)


def extent_of(value: Any) -> Extent:
    """A user's extent ``value``, as an int or an integer expression."""
    if isinstance(value, e.Const):
        return int(value.value)
    if isinstance(value, Expr):
        if not dtypes.is_int(value.dtype):
            raise TensorExpressionError(
                f"an extent of a shape is {value.dtype}, expected an int", Span.of_caller()
            )
        return value
    whole = int(value) if isinstance(value, float) and value.is_integer() else value  # as in TVM's ``N / 32``
    extent = arguments.whole("an extent of a shape", whole, least=0)
    if extent > MOST_EXTENT:
        raise TensorExpressionError(
            f"an extent of a shape is {extent}, expected at most {MOST_EXTENT}", Span.of_caller()
        )
    return extent
