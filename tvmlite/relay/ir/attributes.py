"""The kinds of operator attributes: one kind per attribute, checked wherever a call's type is inferred.

Attributes with the same name mean the same in all operators, so most kinds are in one table by name. The kind
of an attribute that is not in the table follows from its default: a bool, a number, a text, a tuple of
integers. The default itself is always valid. Other attributes without a default are not checked.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tvmlite.core import dtype as dtypes
from tvmlite.core.errors import TypeInferError, UnsupportedError
from tvmlite.core.node import postorder
from tvmlite.core.span import Span
from tvmlite.te import expr as te

INT64_LIMIT = 2**63
"""Integers are in -LARGEST .. LARGEST - 1: extents and values computed from them are int64."""


@dataclass(frozen=True)
class Kind:
    """The set of values that an attribute may have.

    ``holds`` tests whether a value is in the set; ``expected`` describes the set in errors. ``convert``
    converts other notations that users may write to such a value, and returns anything else unchanged.
    """

    expected: str
    holds: Callable[[Any], bool]
    convert: Callable[[Any], Any] = lambda value: value


REQUIRED = inspect.Parameter.empty
"""The default of an attribute that must be given."""


@dataclass(frozen=True)
class Attribute:
    """An attribute as an operator declares it: its default, and a function that narrows its kind."""

    default: Any = REQUIRED
    narrow: Callable[[Kind], Kind] = lambda kind: kind

    def kind(self, name: str) -> Kind:
        """The kind of this attribute, whose name is ``name``."""
        return self.narrow(kind_of(name, self.default))


def choice(*values: str) -> Attribute:
    """An attribute that is one of ``values``; the first of them is the default."""
    names = ", ".join(value or "''" for value in values)
    return Attribute(values[0], lambda _: Kind(f"one of {names}", values.__contains__))


def at_least(least: int, default: Any = REQUIRED) -> Attribute:
    """An attribute of integers, one or a tuple, that are at least ``least``; dimensions are not tested."""

    def narrow(kind: Kind) -> Kind:
        def holds(value: Any) -> bool:
            values = value if isinstance(value, tuple) else (value,)
            return kind.holds(value) and all(not isinstance(one, int) or one >= least for one in values)

        return Kind(f"{kind.expected}, at least {least}", holds, kind.convert)

    return Attribute(default, narrow)


def kind_of(name: str, default: Any) -> Kind:
    """The kind of the attribute ``name`` whose default is ``default``."""
    if isinstance(default, bool):
        return BOOL
    known = (default is None or default is REQUIRED) and _WITHOUT_DEFAULT.get(name)
    if found := known or _BY_NAME.get(name):
        return found
    for type_, kind in _BY_DEFAULT.items():
        if isinstance(default, type_):
            return kind
    return ANY


MAX_NESTING = 16
"""The maximum nesting depth of tuples in an attribute."""


def canonical_value(value: Any, depth: int = 0) -> Any:
    """``value`` in the form that a Call stores: tuples for lists, and Python's numbers for numpy's and te's.

    Raise a TypeInferError if it is nested too deeply, as a value that contains itself is.
    """
    if isinstance(value, (list, tuple)):
        if depth == MAX_NESTING:
            raise TypeInferError(f"an attribute nests more than {MAX_NESTING} deep", Span.of_caller())
        return tuple([canonical_value(v, depth + 1) for v in value])
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, te.Const):
        return bool(value.value) if value.dtype == "bool" else value.value
    if isinstance(value, int) and type(value) is not bool:
        return int(value)
    return value


def describe(value: Any) -> str:
    """The type of ``value`` in words, for errors."""
    return "None" if value is None else f"a {type(value).__name__}"


def show(value: Any, depth: int = 0) -> str:
    """``value`` as text for an error: the value if it is short and plain, otherwise its type."""
    if isinstance(value, str):
        text = repr(value if len(value) < _LONG else value[: _LONG // 2] + "...")
    elif value is None or isinstance(value, (bool, int, float, type)):
        text = repr(value)
    elif isinstance(value, (te.Var, te.Binary)):
        text = str(value)
    elif isinstance(value, tuple) and depth < MAX_NESTING:
        inside = [show(one, depth + 1) for one in value[:_SHOWN]] + ["..."] * (len(value) > _SHOWN)
        text = f"({', '.join(inside)}{',' * (len(value) == 1)})" if sum(map(len, inside)) < _LONG else ""
    else:
        text = ""
    return text if text and len(text) <= _LONG else describe(value)


_SHOWN, _LONG = 8, 80


# --- tests of values --------------------------------------------------------------------------------


def is_integer(value: Any) -> bool:
    """Whether ``value`` is an int that fits in 64 bits; bools are not."""
    return type(value) is int and -INT64_LIMIT <= value < INT64_LIMIT


def is_dimension(value: Any) -> bool:
    """Whether ``value`` is an integer, or an integer expression over named dimensions."""
    return is_integer(value) or (
        isinstance(value, te.Expr) and dtypes.is_int(value.dtype) and _is_closed(value)
    )


def is_condition(value: Any) -> bool:
    """Whether ``value`` is a bool, or a boolean expression over named dimensions."""
    return type(value) is bool or (isinstance(value, te.Expr) and value.dtype == "bool" and _is_closed(value))


def is_number(value: Any) -> bool:
    """Whether ``value`` is an int or a float."""
    return type(value) is float or is_integer(value)


def is_quantity(value: Any) -> bool:
    """Whether ``value`` is a number or a dimension."""
    return type(value) is float or is_dimension(value)


def is_text(value: Any) -> bool:
    """Whether ``value`` is a string; instances of subclasses of str are not."""
    return type(value) is str


def is_bool(value: Any) -> bool:
    """Whether ``value`` is True or False; numpy's bools and the ints 0 and 1 are not."""
    return type(value) is bool


def is_dtype(value: Any) -> bool:
    """Whether ``value`` is the name of a dtype."""
    return type(value) is str and dtypes.is_known(value)


def is_activation(value: Any) -> bool:
    """Whether ``value`` is a tuple of a function's name and its two parameters."""
    return type(value) is tuple and len(value) == 3 and is_text(value[0]) and all(map(is_number, value[1:]))


def _is_integral(dtype: str) -> bool:
    return dtypes.is_int(dtype) or dtype == "bool"


def _is_closed(value: te.Expr) -> bool:
    """Whether ``value`` depends on named dimensions only and can be evaluated at run time."""
    if type(value) is te.SizeVar:
        return True
    return all(isinstance(node, _EVALUABLE) and _is_integral(node.dtype) for node in postorder(value))


_EVALUABLE = (te.SizeVar, te.Const, te.Binary, te.Select, te.Not, te.Cast)


def _several(holds: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: type(value) is tuple and all(map(holds, value))


def _one_or_several(holds: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: holds(value) or (type(value) is tuple and all(map(holds, value)))


# --- what users may write instead ---------------------------------------------------------------------


def _as_bool(value: Any) -> Any:
    """Convert 0, 1 and None to bools, as TVM does."""
    return bool(value) if value is None or (type(value) is int and value in (0, 1)) else value


def _as_dtype(value: Any) -> Any:
    """Convert numpy's dtypes and types to names."""
    if isinstance(value, (np.dtype, type)):
        try:
            return dtypes.check(value)
        except (TypeError, UnsupportedError):
            return value
    return value


def _as_text(value: Any) -> Any:
    return "" if value is None else value


def _as_tuple(value: Any) -> Any:
    """Convert a single extent to a shape with one axis."""
    return (value,) if is_dimension(value) else value


def _as_several(value: Any) -> Any:
    return () if value is None else value


ANY = Kind("a value", lambda value: True)
INTEGER = Kind("an integer", is_integer)
INTEGERS = Kind("an integer or a tuple of integers", _one_or_several(is_integer))
DIMENSION = Kind("an integer or a dimension", is_dimension)
DIMENSIONS = Kind("a tuple of integers and dimensions", _several(is_dimension), _as_tuple)
EXTENTS = Kind("an integer or a tuple of integers and dimensions", _one_or_several(is_dimension))
NUMBER = Kind("a number", is_number)
QUANTITY = Kind("a number or a dimension", is_quantity)
BOOL = Kind("True or False", is_bool, _as_bool)
TEXT = Kind("a text", is_text, _as_text)
DTYPE = Kind("the name of a dtype", is_dtype, _as_dtype)
QUANTITIES = Kind("a tuple of numbers", _several(is_quantity), _as_several)
WIDTHS = Kind("a tuple of pairs of integers and dimensions", _several(_several(is_dimension)))

_BY_NAME: Mapping[str, Kind] = {
    "axis": INTEGERS,
    "index_rank": INTEGER,
    "axes": Kind("a tuple of integers", _several(is_integer), _as_tuple),
    **dict.fromkeys(("kernel_size", "output_size", "pool_size", "size", "reps"), EXTENTS),
    **dict.fromkeys(("strides", "padding", "dilation", "pooled_size", "crop"), INTEGERS),
    **dict.fromkeys(("indices_or_sections", "begin", "end"), EXTENTS),
    **dict.fromkeys(("shape", "newshape", "image_shape", "values", "extents"), DIMENSIONS),
    **dict.fromkeys(("channels", "units", "count", "depth", "repeats", "k"), DIMENSION),
    **dict.fromkeys(("block_size", "tile_size", "width", "stride", "num_newaxis", "batch_dims"), INTEGER),
    **dict.fromkeys(("groups", "num_groups", "deformable_groups", "sample_ratio", "cubic_exclude"), INTEGER),
    **dict.fromkeys(("seq_axis", "batch_axis"), INTEGER),
    **dict.fromkeys(("start", "stop", "step"), QUANTITY),
    **dict.fromkeys(("a_min", "a_max", "clip", "pad_value", "mask_value", "spatial_scale", "scale"), NUMBER),
    **dict.fromkeys(("alpha", "beta", "bias", "epsilon", "eps", "rate", "cubic_alpha"), NUMBER),
    "extrapolation_value": NUMBER,
    **dict.fromkeys(("src_layout", "dst_layout", "message"), TEXT),
    **dict.fromkeys(("dtype", "out_dtype"), DTYPE),
    "pad_width": WIDTHS,
    "conditions": Kind("a tuple of conditions on dimensions", _several(is_condition)),
    **dict.fromkeys(("scales", "roi"), QUANTITIES),
    "activations": Kind("a tuple of (name, alpha, beta)", _several(is_activation)),
}

_WITHOUT_DEFAULT: Mapping[str, Kind] = {"strides": EXTENTS}
"""``strides`` without a default are those of slices, which may be dimensions, unlike those of windows."""

_BY_DEFAULT: Mapping[type, Kind] = {int: DIMENSION, float: QUANTITY, str: TEXT, tuple: INTEGERS}
