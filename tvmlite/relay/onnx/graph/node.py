"""A converter's view of its ONNX node: attributes, input types, known values, and functions to make calls."""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import onnx

from tvmlite.core import dtype as dtypes
from tvmlite.core.errors import ModelError, UnsupportedError
from tvmlite.core.span import Span
from tvmlite.relay.ir import infer, op
from tvmlite.relay.ir.equal_extents import with_equal_extents
from tvmlite.relay.ir.nodes import Constant, Expr, Tuple, TupleGetItem
from tvmlite.relay.ir.types import Dim, Shape, TensorType
from tvmlite.relay.onnx.graph import dims
from tvmlite.relay.onnx.graph.arithmetic import Arithmetic
from tvmlite.relay.onnx.graph.data_dependent_dims import as_extents, dim_elements, may_be_negative
from tvmlite.relay.onnx.reading import loader, registry, schemas
from tvmlite.te import expr as e

if TYPE_CHECKING:
    from tvmlite.relay.onnx.importer import Importer, Scope

NOTHING = Tuple(())
"""The value of an empty optional; no sequence is this tuple."""

LARGEST_TABLE = 2**27
"""The most elements of a constant that a converter computes."""

MAX_KNOWN_ELEMENTS = 4096
"""The most elements of a value that is followed at import."""


class OnnxNode(Arithmetic):
    """The node being converted. Its calls carry its name, so that later errors do as well."""

    def __init__(
        self,
        proto: onnx.NodeProto,
        opsets: Mapping[str, int],
        importer: Importer,
        scope: Scope,
        label: str,
    ) -> None:
        self.proto = proto
        self.opsets = opsets
        self.domain = "" if proto.domain == "ai.onnx" else proto.domain
        self.op_type = proto.op_type
        self.opset = opsets.get(self.domain, 0)
        self.importer = importer
        self.scope = scope
        self.label = label
        self.span = Span(importer.source, note=label)
        self.defaults = schemas.defaults(self.domain, self.op_type, self.opset)
        self._attributes = {a.name: a for a in proto.attribute}

    @property
    def num_outputs(self) -> int:
        """The number of outputs that the node lists, including those without a name."""
        return len(self.proto.output)

    def has_output(self, index: int) -> bool:
        """Whether the node's output ``index`` has a name."""
        return index < len(self.proto.output) and bool(self.proto.output[index])

    def unsupported(self, reason: str, hint: str | None = None) -> NoReturn:
        """Reject the node: it is valid ONNX that tvmlite does not support."""
        raise UnsupportedError(f"{self.proto.op_type}: {reason}", self.span, hint)

    def bad(self, reason: str) -> NoReturn:
        """Reject the node: it is not valid ONNX."""
        raise ModelError(f"{self.proto.op_type}: {reason}", self.span)

    # Attributes

    def has(self, name: str) -> bool:
        """Whether the node itself has the attribute; defaults of the schema do not count."""
        return name in self._attributes

    def attr(self, name: str, default: Any = None) -> Any:
        """Return an attribute as a Python value: int, float, str, list of those, ndarray, or a GraphProto.

        A missing one has the default of the operator's schema, or else ``default``. One of another type than
        ``default`` is rejected, because not every operator has a schema that checks it.
        """
        found = self._attributes.get(name)
        if found is None and name in self.defaults:
            value = self._value_of(self.defaults[name], name)
            # a schema stores floats as float32: 1e-5 means that number, not the nearest float32
            return float(str(np.float32(value))) if isinstance(value, float) else value
        if found is None:
            return default
        value = self._value_of(found, name)
        for kinds, said in (((int, float), "a number"), (str, "a text"), ((list, tuple), "a list")):
            if isinstance(default, kinds) and not isinstance(value, kinds):
                self.bad(f"attribute {name!r} is {value!r}, expected {said}")
        return value

    def _value_of(self, found: onnx.AttributeProto, name: str) -> Any:
        kinds = onnx.AttributeProto
        match found.type:
            case kinds.TENSOR:
                return loader.array_of(
                    found.t, self.importer.data, f"{self.op_type}: attribute {name!r}", self.span
                )
            case kinds.STRING:
                return found.s.decode("utf-8", "replace")
            case kinds.STRINGS:
                return [s.decode("utf-8", "replace") for s in found.strings]
            case kinds.INT | kinds.INTS | kinds.FLOAT | kinds.FLOATS | kinds.GRAPH | kinds.GRAPHS:
                value = onnx.helper.get_attribute_value(found)
                return list(value) if found.type in (kinds.INTS, kinds.FLOATS, kinds.GRAPHS) else value
            case _:
                return self.unsupported(f"attribute {name!r} of kind {kinds.AttributeType.Name(found.type)}")

    def required(self, name: str) -> Any:
        """Return an attribute that must be present."""
        value = self.attr(name)
        if value is None:
            self.bad(f"attribute {name!r} is missing")
        return value

    def flag(self, name: str) -> bool:
        """Whether the numeric attribute ``name`` is not 0."""
        return bool(self.attr(name, 0))

    def choice(self, name: str, *allowed: str) -> str:
        """Return an attribute, one of the texts ``allowed``; the first if neither node nor schema has it."""
        value = self.attr(name, allowed[0])
        if value not in allowed:
            self.bad(f"{name} is {value!r}, expected {', '.join(allowed[:-1])} or {allowed[-1]}")
        return value

    def dtype_attr(self, name: str, default: str | None = None) -> str:
        """Return an attribute that holds an element type."""
        value = self.attr(name)
        if value is None or (value == 0 and default is not None):
            if default is None:
                self.bad(f"attribute {name!r} is missing")
            return default
        if isinstance(value, str):  # the name of one, before opset 6
            kinds = onnx.TensorProto.DataType
            if value.upper() not in dict(kinds.items()):
                self.bad(f"attribute {name!r} is {value!r}, expected an element type")
            value = kinds.Value(value.upper())
        return loader.dtype_of(int(value), f"attribute {name!r}", self.span)

    # Types

    def type(self, value: Expr) -> TensorType:
        """Return the type of a tensor; a sequence is rejected as invalid here."""
        made = infer.type_of(value)
        if not isinstance(made, TensorType):
            self.bad("one of its values is a sequence, expected a tensor")
        return made

    def shape(self, value: Expr) -> Shape:
        """Return the extents of a tensor: ints, or expressions over named dimensions."""
        return self.type(value).shape

    def dtype(self, value: Expr) -> str:
        """Return the element type of a tensor, by tvmlite's name."""
        return self.type(value).dtype

    def rank(self, value: Expr) -> int:
        """Return the number of axes of a tensor, which is always known."""
        return len(self.shape(value))

    def axis(self, axis: int, rank: int, what: str = "axis") -> int:
        """Return ``axis`` counted from the front; an error if it is outside ``[-rank, rank)``."""
        if not -rank <= axis < rank:
            self.bad(f"{what} {axis} is outside [{-rank}, {rank - 1}]")
        return axis + rank if axis < 0 else axis

    def axes(self, axes: Sequence[Any], rank: int) -> list[int]:
        """Return ``axes`` counted from the front; an error if two are equal."""
        made = [self.axis(int(a), rank, "axes: axis") for a in axes]
        if len(set(made)) != len(made):
            self.bad(f"axes {list(axes)} name one axis twice")
        return made

    # Values known at import

    def known(self, value: Expr | None) -> np.ndarray | None:
        """Return the elements of ``value`` (numbers or expressions over dimensions), if known and few."""
        if value is None:
            return None
        if isinstance(value, Constant):
            return value.data if value.data.size <= MAX_KNOWN_ELEMENTS else None
        followed = self.importer.known.get(value)
        if followed is None and any(isinstance(d, int) and d == 0 for d in self.shape(value)):
            shape = self.shape(value)
            return np.empty([d for d in shape if isinstance(d, int)], object) if self._static(shape) else None
        return followed

    def known_truth(self, value: Expr | None) -> bool | None:
        """Return the truth of ``value``, of one element; None if it depends on data or sizes."""
        followed = self.known(value)
        test = None if followed is None or followed.size != 1 else followed.reshape(-1)[0]
        return None if test is None or isinstance(test, e.Expr) else bool(test)

    @staticmethod
    def _static(shape: Shape) -> bool:
        return all(isinstance(d, int) for d in shape)

    def ints(self, value: Expr, what: str) -> list[Dim]:
        """Return the elements of an integer tensor of rank 0 or 1; new dimensions for data-dependent ones."""
        return self._whole(dim_elements(self, value, what), what)

    def extents(self, value: Expr, what: str, count: int | None = None) -> list[Dim]:
        """As ``ints``, for ``count`` extents, if that is given: a run in which one is negative stops."""
        found = self._whole(dim_elements(self, value, what, non_negative=True), what)
        if count is not None and len(found) != count:
            self.bad(f"{what} has {len(found)} elements, expected {count}")
        return as_extents(self, found, what)

    def _whole(self, found: np.ndarray, what: str) -> list[Dim]:
        if found.ndim > 1:
            self.bad(f"input {what!r} is {found.shape}, expected a vector")
        flat = [dims.whole(x) for x in found.ravel().tolist()]
        if any(x is None for x in flat):
            self.unsupported(f"input {what!r} is not made of whole numbers")
        return [x for x in flat if x is not None]

    def check_table(self, *extents: int) -> None:
        """Reject a table of these extents that would be computed at import, if it is too large."""
        if min(extents, default=0) < 0:
            self.bad(f"negative extent in {extents}")
        if math.prod(extents) > LARGEST_TABLE:
            self.unsupported(f"needs a table of {extents} elements, at most {LARGEST_TABLE} are made")

    def ints_or_attr(self, value: Expr | None, name: str) -> list[Dim] | None:
        """Return ``ints`` of ``value``; if missing, the attribute that older operator sets have instead."""
        return self.attr(name) if value is None else self.ints(value, name)

    def is_dynamic(self, value: Expr) -> bool:
        """Whether some elements of ``value`` are known only at run time."""
        found = self.known(value)
        return found is None or any(may_be_negative(self, x) for x in found.ravel().tolist())

    def one_int(self, value: Expr, what: str) -> Dim:
        """Return the one element of an integer tensor; otherwise as ``ints``."""
        found = self.ints(value, what)
        if len(found) != 1:
            self.bad(f"input {what!r} has {len(found)} elements, expected 1")
        return found[0]

    def static_ints(self, value: Expr, what: str) -> list[int]:
        """Return the elements of an integer tensor that must be numbers."""
        if self.known(value) is None:
            self.unsupported(f"input {what!r} depends on the data; it must follow from the input shapes")
        made: list[int] = []
        for item in self.ints(value, what):
            if not isinstance(item, int):
                self.unsupported(f"input {what!r} depends on a dynamic dimension: {item}")
            made.append(item)
        return made

    def number(self, value: Expr | None, what: str, default: Any = None) -> Any:
        """Return the one element of a constant input, as a Python number; ``default`` if it is missing."""
        if value is None:
            return default
        found = self.known(value)
        if found is None or found.size != 1 or isinstance(found.reshape(()).item(), e.Expr | dims.Ratio):
            self.unsupported(f"input {what!r} must be a constant of one element")
        return found.reshape(()).item()

    # Making calls

    def plain(self, op_type: str, *inputs: Expr | None, opset: int = 0) -> Any:
        """Convert this node as ONNX's own operator ``op_type``, of ``opset`` or else the newest."""
        plain = copy.copy(self)
        plain.domain, plain.op_type = "", op_type
        plain.opset = opset or schemas.NEWEST
        plain.defaults = schemas.defaults("", op_type, plain.opset)
        function = registry.find("", op_type, plain.opset)
        assert function is not None, op_type
        return function(plain, *inputs)

    def make(self, name: str, *args: Any, **attrs: Any) -> Expr:
        """Call a Relay operator; Python numbers become constants of the first tensor's dtype.

        Extents that must be equal and may be are made so, with a check at run time (``with_equal_extents``).
        """
        tensors = [a for a in args if isinstance(a, Expr)]
        made = [a if isinstance(a, Expr) else self.const(a, self.dtype(tensors[0])) for a in args]
        return with_equal_extents(op.make(name, *made, span=self.span, **attrs))

    def const(self, value: Any, dtype: str) -> Constant:
        """Return a constant, its value converted (values out of range are our own bug)."""
        return Constant(np.asarray(value).astype(dtypes.numpy_of(dtype)), self.span)

    def many(self, name: str, args: Sequence[Expr], **attrs: Any) -> Expr:
        """Call a variadic operator."""
        return with_equal_extents(op.make(name, Tuple(tuple(args), self.span), span=self.span, **attrs))

    def joined(self, values: Sequence[Expr], axis: int) -> Expr:
        """Concatenate ``values`` along ``axis``; a single one is returned as it is."""
        return values[0] if len(values) == 1 else self.many("concatenate", values, axis=axis)

    def field(self, value: Expr, index: int) -> Expr:
        """Return result ``index`` of a call that has several."""
        return TupleGetItem(value, index, self.span)

    def cast(self, value: Expr, dtype: str) -> Expr:
        """Return ``value`` converted to ``dtype``; itself if it has that already."""
        return value if self.dtype(value) == dtype else self.make("cast", value, dtype=dtype)

    def reshape(self, value: Expr, shape: Sequence[Dim]) -> Expr:
        """Return ``value`` with ``shape``; itself if it has that already."""
        if dims.same(self.shape(value), shape):
            return value
        if any(isinstance(d, int) and d == 0 for d in shape):  # the operator takes 0 for the old extent
            return self.full(0, shape, self.dtype(value))
        open_ = not all(
            isinstance(d, int) for d in shape
        )  # a run-time extent may be 0, which is then not a code
        return self.make("reshape", value, newshape=tuple(shape), allowzero=open_)

    def transpose(self, value: Expr, axes: Sequence[int]) -> Expr:
        """Return ``value`` with its axes permuted; a constant immediately, as a view."""
        if list(axes) == list(range(len(axes))):
            return value
        if isinstance(value, Constant):
            return Constant(value.data.transpose(axes), self.span)
        return self.make("transpose", value, axes=tuple(axes))

    def slice(
        self,
        value: Expr,
        axes: Sequence[int],
        begin: Sequence[Dim],
        end: Sequence[Dim],
        strides: Sequence[int] | None = None,
    ) -> Expr:
        """Return ``value[begin:end:strides]`` along some axes."""
        steps = tuple(strides or [1] * len(axes))
        bounds = {"begin": tuple(begin), "end": tuple(end), "strides": steps}
        return self.make("strided_slice", value, **bounds, axes=tuple(axes))

    def split(self, value: Expr, axis: int, sizes: Sequence[Dim]) -> list[Expr]:
        """Return consecutive parts of ``sizes`` along ``axis``."""
        ends = list(itertools.accumulate(sizes, lambda a, b: dims.simplify(a + b)))
        return [self.slice(value, [axis], [a], [b]) for a, b in zip([0, *ends], ends, strict=False)]

    def pick(self, value: Expr, axis: int, index: int) -> Expr:
        """Return row ``index`` along ``axis``, without that axis."""
        part = self.slice(value, [axis], [index], [index + 1])
        return self.reshape(part, [d for i, d in enumerate(self.shape(value)) if i != axis])

    def broadcast_to(self, value: Expr, shape: Sequence[Dim]) -> Expr:
        """Return ``value`` broadcast to ``shape`` as in numpy; itself if it has that shape already."""
        if dims.same(self.shape(value), shape):
            return value
        return self.make("broadcast_to", value, shape=tuple(shape))

    def arange(self, count: Dim, dtype: str = "int64") -> Expr:
        """Return ``0, 1, ..., count - 1``."""
        return self.make("arange", start=0, stop=count, step=1, dtype=dtype)

    def scalar(self, value: Dim, dtype: str = "int64") -> Expr:
        """Return a dimension as a tensor of rank 0."""
        whole = self.make("shape_value", values=(value,), dtype="int64")
        return self.cast(self.reshape(whole, ()), dtype)

    def full(self, value: Any, shape: Sequence[Dim], dtype: str) -> Expr:
        """Return a tensor with all elements equal to ``value``."""
        return self.make("full", self.const(value, dtype), shape=tuple(shape), dtype=dtype)

    def expand_to_rank(self, value: Expr, rank: int) -> Expr:
        """Return ``value`` with leading axes of extent 1, up to ``rank`` axes."""
        shape = self.shape(value)
        return self.reshape(value, (1,) * (rank - len(shape)) + tuple(shape))

    def product(self, shape: Sequence[Dim]) -> Dim:
        """Return the number of elements of ``shape``, simplified; 1 for a scalar."""
        return dims.simplify(math.prod(shape, start=1))
