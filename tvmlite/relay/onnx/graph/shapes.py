"""Shape arithmetic at import: the elements of small tensors, numbers or expressions over dimensions.

A rule takes the node and its inputs and returns the elements of its outputs as object arrays, or None if they
are not known. There are rules for the operators that exporters compute shapes with.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tvmlite.core import dtype as dtypes
from tvmlite.relay.ir.nodes import Constant, Expr
from tvmlite.relay.onnx.graph import dims
from tvmlite.relay.onnx.graph.dims import Ratio, Unknown
from tvmlite.relay.onnx.graph.node import MAX_KNOWN_ELEMENTS, OnnxNode
from tvmlite.te import expr as e

Rule = Callable[..., Any]
_rules: dict[str, Rule] = {}


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Register the decorated function as the rule of the ONNX operators ``names``."""

    def register(function: Rule) -> Rule:
        for name in names:
            assert name not in _rules, name
            _rules[name] = function
        return function

    return register


def infer_elements(node: OnnxNode, inputs: Sequence[Expr | None]) -> list[np.ndarray] | None:
    """Return the elements of the node's outputs, or None if they are not known, or are too many."""
    function = _rules.get(node.op_type)
    if function is None or node.proto.domain not in ("", "ai.onnx"):
        return None
    if node.opset < 7 and node.has("axis") and node.has("broadcast"):  # not numpy's broadcasting
        return None
    if node.op_type not in ("Shape", "Size", "Constant") and any(
        x is not None and node.known(x) is None for x in inputs
    ):
        return None
    try:
        made = function(node, *inputs)
    except Unknown:
        return None
    if made is None:
        return None
    outputs = made if isinstance(made, list) else [made]
    dtype = result_dtype(node, inputs)
    return outputs if all(o.size <= MAX_KNOWN_ELEMENTS and _fits_dtype(o, dtype) for o in outputs) else None


def _fits_dtype(elements: np.ndarray, dtype: str) -> bool:
    """Whether the integers among ``elements`` fit into ``dtype``: the operator's own would wrap around."""
    if not dtypes.is_int(dtype):
        return True
    low, high = dtypes.limits(dtype)
    return all(low <= x <= high for x in elements.ravel().tolist() if isinstance(x, int))


_BOOLEAN = ("Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Not", "And", "Or")


def result_dtype(node: OnnxNode, inputs: Sequence[Expr | None]) -> str:
    """Return the dtype of the outputs of a node that has a rule."""
    match node.op_type:
        case "Shape" | "Size":
            return "int64"
        case "Cast":
            return node.dtype_attr("to")
        case "ConstantOfShape":
            value = node.attr("value")
            return "float32" if value is None else dtypes.check(value.dtype)
        case name if name in _BOOLEAN:
            return "bool"
    source = inputs[1 if node.op_type == "Where" else 0]
    assert source is not None
    return node.dtype(source)


def materialise(node: OnnxNode, elements: np.ndarray, dtype: str) -> Expr:
    """Return a tensor of known ``elements``: a Constant, or a shape_value if they contain dimensions."""
    flat = elements.ravel().tolist()
    if not any(isinstance(x, e.Expr | Ratio) for x in flat):
        return Constant(np.array(flat, dtype=dtypes.numpy_of(dtype)).reshape(elements.shape), node.span)
    kind = dtype if dtype in ("int32", "int64") else "int64"
    ratios = [dims.ratio(_number(x)) for x in flat]
    value = node.make("shape_value", values=tuple(r.num for r in ratios), dtype=kind)
    value = node.cast(node.reshape(value, elements.shape), dtype)
    if any(r.den != 1 for r in ratios):
        below = np.array([r.den for r in ratios]).reshape(elements.shape)
        value = node.make("divide", value, node.const(below, dtype))
    return value


def _number(value: Any) -> Any:
    """A bool expression as 0 or 1."""
    if isinstance(value, e.Expr) and value.dtype == "bool":
        return e.Select(value, e.const(1, "int64"), e.const(0, "int64"))
    return value


def elements_of(node: OnnxNode, value: Expr) -> np.ndarray:
    """Return the known elements of ``value`` as Python objects."""
    found = node.known(value)
    if found is None:
        raise Unknown
    return found if found.dtype == object else found.astype(object)


def objects(values: Sequence[Any], shape: Sequence[int] | None = None) -> np.ndarray:
    """Return an object array of ``values``, of rank 1 unless a ``shape`` is given."""
    made = np.empty(len(values), object)
    made[:] = list(values)
    return made if shape is None else made.reshape(shape)


def _map_elements(function: Callable[..., Any], *arrays: np.ndarray) -> np.ndarray:
    try:
        made = np.frompyfunc(function, len(arrays), 1)(*arrays)
    except ValueError:  # shapes that do not broadcast: the converter reports it
        raise Unknown from None
    return made if isinstance(made, np.ndarray) else objects([made], ())


# Sources of known values


@rule("Shape")
def _shape(node: OnnxNode, data: Expr) -> np.ndarray:
    shape = node.shape(data)
    return objects([dims.simplify(d) for d in shape[node.attr("start") : node.attr("end", len(shape))]])


@rule("Size")
def _size(node: OnnxNode, data: Expr) -> np.ndarray:
    return objects([dims.simplify(math.prod(node.shape(data), start=1))], ())


@rule("Range")
def _range(node: OnnxNode, start: Expr, limit: Expr, delta: Expr) -> np.ndarray:
    bounds = [elements_of(node, v) for v in (start, limit, delta)]
    if any(b.size != 1 for b in bounds):
        raise Unknown
    first, last, step = (b.reshape(()).item() for b in bounds)
    if not all(isinstance(v, int) for v in (first, last, step)) or step == 0:
        raise Unknown
    if (last - first) // step > MAX_KNOWN_ELEMENTS:
        raise Unknown
    return objects(list(range(first, last, step)))


@rule("ConstantOfShape")
def _constant_of_shape(node: OnnxNode, shape: Expr) -> np.ndarray:
    extents = [dims.whole(x) for x in elements_of(node, shape).ravel()]
    value = node.attr("value")
    if value is not None and value.size != 1:
        node.bad(f"value is {value.shape}, expected one element")
    if not all(isinstance(d, int) and 0 <= d <= MAX_KNOWN_ELEMENTS for d in extents):
        raise Unknown
    sizes = [int(d) for d in extents if isinstance(d, int)]
    if math.prod(sizes) > MAX_KNOWN_ELEMENTS:
        raise Unknown
    return objects([0.0 if value is None else value.item()] * math.prod(sizes), sizes)


# Element by element


def _arithmetic(
    on_ints: Callable[[Any, Any], Any],
    on_ratios: Callable[[Ratio, Ratio], Any],
    on_floats: Callable[[Any, Any], Any],
) -> Rule:
    def convert(node: OnnxNode, a: Expr, b: Expr) -> np.ndarray:
        dtype = node.dtype(a)
        if dtypes.is_float(dtype):
            cell = _float_cell(on_ratios, on_floats, dtypes.numpy_of(dtype).type)
        else:
            cell = int_cell(on_ints)
        return _map_elements(cell, elements_of(node, a), elements_of(node, b))

    return convert


def int_cell(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Wrap ``function`` of two elements that are integers or dimensions; Unknown beyond 64 bits."""

    def cell(x: Any, y: Any) -> Any:
        made = dims.simplify(function(_number(x), _number(y)))
        if isinstance(made, int) and not -(2**63) <= made < 2**64:
            raise Unknown
        return made

    return cell


def _float_cell(
    on_ratios: Callable[[Ratio, Ratio], Any], on_floats: Callable[[Any, Any], Any], scalar: Any
) -> Callable[[Any, Any], Any]:
    def cell(x: Any, y: Any) -> Any:
        if not isinstance(x, e.Expr | Ratio) and not isinstance(y, e.Expr | Ratio):
            with np.errstate(all="ignore"):
                return float(on_floats(scalar(x), scalar(y)))
        made = on_ratios(dims.ratio(x), dims.ratio(y))
        return float(scalar(made)) if isinstance(made, float) else made

    return cell


def _ratio_div(x: Ratio, y: Ratio) -> Any:
    if not isinstance(y.num, int):
        if dims.equal(x.num, y.num):
            return dims.reduced(y.den, x.den)
        raise Unknown
    if y.num == 0:
        raise Unknown
    return dims.reduced(x.num * y.den, x.den * y.num)


def _mod(x: Any, y: Any) -> Any:
    if isinstance(y, int) and y == 0:
        raise Unknown
    return x % y


_rules["Add"] = _arithmetic(
    operator.add, lambda x, y: dims.reduced(x.num * y.den + y.num * x.den, x.den * y.den), operator.add
)
_rules["Sub"] = _arithmetic(
    operator.sub, lambda x, y: dims.reduced(x.num * y.den - y.num * x.den, x.den * y.den), operator.sub
)
_rules["Mul"] = _arithmetic(
    operator.mul, lambda x, y: dims.reduced(x.num * y.num, x.den * y.den), operator.mul
)
_rules["Div"] = _arithmetic(dims.trunc_div, _ratio_div, operator.truediv)


@rule("Mod")
def _mod_rule(node: OnnxNode, a: Expr, b: Expr) -> np.ndarray:
    if node.flag("fmod") or dtypes.is_float(node.dtype(a)):
        raise Unknown
    return _map_elements(int_cell(_mod), elements_of(node, a), elements_of(node, b))


@rule("Min", "Max")
def _min_max(node: OnnxNode, *values: Expr) -> np.ndarray:
    pick = dims.minimum if node.op_type == "Min" else dims.maximum
    if dtypes.is_float(node.dtype(values[0])):
        raise Unknown
    made = elements_of(node, values[0])
    for value in values[1:]:
        made = _map_elements(int_cell(pick), made, elements_of(node, value))
    return made


@rule("Neg")
def _neg(node: OnnxNode, a: Expr) -> np.ndarray:
    if dtypes.is_float(node.dtype(a)):
        raise Unknown
    return _map_elements(lambda x: dims.simplify(0 - x), elements_of(node, a))


@rule("Floor", "Ceil")
def _rounding(node: OnnxNode, a: Expr) -> np.ndarray:
    up = node.op_type == "Ceil"

    def cell(x: Any) -> Any:
        exact = dims.ratio(x)
        if up:
            return dims.ceil_div(exact.num, exact.den)
        return dims.simplify(exact.num // exact.den)

    return _map_elements(cell, elements_of(node, a))


@rule("Cast")
def _cast(node: OnnxNode, a: Expr) -> np.ndarray:
    to, elements = node.dtype_attr("to"), elements_of(node, a)
    if to == "bfloat16" or dtypes.is_narrow(to) or dtypes.is_narrow(node.dtype(a)):
        raise Unknown
    return _map_elements(lambda x: _cast_cell(x, to), elements)


def _cast_cell(x: Any, to: str) -> Any:
    if isinstance(x, Ratio):
        if dtypes.is_float(to):
            return x
        if not dims.non_negative(x.num):
            raise Unknown
        return dims.simplify(x.num // x.den)
    if isinstance(x, e.Expr):
        if to == "bool":
            made = x if x.dtype == "bool" else dims.proves(x != 0)
            return (x != 0) if made is None else made
        return _number(x)
    if isinstance(x, float) and not (math.isfinite(x) or dtypes.is_float(to)):
        raise Unknown
    if to == "bool":
        return bool(x)
    if dtypes.is_float(to):
        return float(dtypes.numpy_of(to).type(x))
    low, high = dtypes.limits(to)
    if not low <= int(x) <= high:
        raise Unknown
    return int(x)


def _comparison(make: Callable[[Any, Any], Any]) -> Rule:
    def convert(node: OnnxNode, a: Expr, b: Expr) -> np.ndarray:
        return _map_elements(cell, elements_of(node, a), elements_of(node, b))

    def cell(x: Any, y: Any) -> Any:
        if isinstance(x, Ratio) or isinstance(y, Ratio):
            raise Unknown
        if not isinstance(x, e.Expr) and not isinstance(y, e.Expr):
            return bool(make(x, y))
        left, right = dims.whole(_number(x)), dims.whole(_number(y))
        if left is None or right is None:
            raise Unknown
        condition = make(left, right)
        certain = dims.proves(condition)
        return condition if certain is None else certain

    return convert


_rules["Equal"] = _comparison(operator.eq)
_rules["Less"] = _comparison(operator.lt)
_rules["LessOrEqual"] = _comparison(operator.le)
_rules["Greater"] = _comparison(operator.gt)
_rules["GreaterOrEqual"] = _comparison(operator.ge)


@rule("Not")
def _not(node: OnnxNode, a: Expr) -> np.ndarray:
    return _map_elements(lambda x: e.Not(x) if isinstance(x, e.Expr) else not x, elements_of(node, a))


@rule("And", "Or")
def _and_or(node: OnnxNode, a: Expr, b: Expr) -> np.ndarray:
    neutral = node.op_type == "And"

    def cell(x: Any, y: Any) -> Any:
        if isinstance(x, bool):
            return y if x == neutral else x
        if isinstance(y, bool):
            return x if y == neutral else y
        return e.And(x, y) if neutral else e.Or(x, y)

    return _map_elements(cell, elements_of(node, a), elements_of(node, b))


@rule("Where")
def _where(node: OnnxNode, condition: Expr, a: Expr, b: Expr) -> np.ndarray:
    def cell(c: Any, x: Any, y: Any) -> Any:
        if isinstance(c, bool):
            return x if c else y
        left, right = dims.whole(x), dims.whole(y)
        if left is None or right is None:
            raise Unknown
        return dims.simplify(e.Select(c, e.convert(left, "int64"), e.convert(right, "int64")))

    return _map_elements(cell, *(elements_of(node, v) for v in (condition, a, b)))
