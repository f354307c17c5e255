"""``relay.analysis``: functions that analyse graphs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from tvmlite.core.errors import InputError, UnsupportedError
from tvmlite.core.span import Span
from tvmlite.relay.ir import nodes
from tvmlite.relay.ir.infer import type_of, walk
from tvmlite.relay.ir.types import FuncType, TensorType, TupleType
from tvmlite.tvm.absent import refusing
from tvmlite.tvm.ir.module import IRModule
from tvmlite.tvm.ir.structural import structural_equal, structural_hash
from tvmlite.tvm.lazy import later
from tvmlite.tvm.relay.expr import Constant, Function, GlobalVar, Tuple, TupleGetItem, Var, adopt
from tvmlite.tvm.relay.graph.call_graph import CallGraph
from tvmlite.tvm.relay.graph.features import Feature, features
from tvmlite.tvm.relay.graph.multiply_adds import multiply_adds
from tvmlite.tvm.relay.graph.regions import AnnotatedRegionSet
from tvmlite.tvm.relay.graph.visit import in_order, parts_of
from tvmlite.tvm.relay.op.op import Op
from tvmlite.tvm.relay.transform.fusion.fuse_ops import FuseOps
from tvmlite.tvm.relay.transform.infer_type import typed
from tvmlite.tvm.relay.transform.inference import SimplifyInference
from tvmlite.tvm.relay.transform.normal_forms import is_basic_block_normal

_create_executor = later("relay.build_module", "create_executor")


def post_order_visit(expr: Any, fvisit: Callable[[Any], object]) -> None:
    """Call ``fvisit`` with every node and operator of ``expr``, operands first."""
    seen: set[Any] = set()
    for node in in_order(expr, _value_first):
        if node not in seen:
            seen.add(node)
            fvisit(node)


def free_vars(expr: Any) -> list[Var]:
    """The variables in ``expr`` that are not bound in it, in order."""
    bound = set(bound_vars(expr))
    return [var for var in all_vars(expr) if var not in bound]


def bound_vars(expr: Any) -> list[Var]:
    """The variables that functions and lets in ``expr`` bind, the outer ones first."""
    if isinstance(expr, IRModule):
        return [var for function in expr.functions.values() for var in bound_vars(function)]
    bound = {var for node in in_order(expr) for var in _bound_by(node)}
    return [var for var in all_vars(expr) if var in bound]


def _bound_by(node: Any) -> list[Any]:
    """The variables that ``node`` itself binds."""
    found: list[Any] = []
    for name in node.binders if isinstance(node, nodes.Expr) else ():
        value = getattr(node, name)
        found += value if isinstance(value, tuple) else (value,)
    return found


def all_vars(expr: Any) -> list[Any]:
    """Every variable in ``expr``, in order."""
    return [
        node for node in in_order(expr) if isinstance(node, nodes.Var) and not isinstance(node, GlobalVar)
    ]


def _value_first(node: Any) -> list[Any]:
    return [node.value, node.var, node.body] if isinstance(node, nodes.Let) else parts_of(node)


def well_formed(expr: Any) -> bool:
    """Whether no variable is bound twice or used outside its scope. Free variables are allowed."""
    if isinstance(expr, IRModule):
        return all(map(well_formed, expr.functions.values()))
    free: dict[Any, set[Any]] = {}
    bound: Counter[Any] = Counter()
    for node in in_order(expr):
        own = _bound_by(node)
        bound.update(own)
        if not isinstance(node, nodes.Expr) or isinstance(node, nodes.Var):
            free[node] = {node}
            continue
        free[node] = set().union(*(free[part] for part in parts_of(node))).difference(own)
        if isinstance(node, nodes.Let) and not isinstance(node.value, nodes.Function):
            free[node] |= free[node.value]
    outside = free.get(expr, set())
    return all(count == 1 for count in bound.values()) and bound.keys().isdisjoint(outside)


def check_constant(expr: Any) -> bool:
    """Whether ``expr`` is a constant or a tuple of constants, also nested."""
    if isinstance(expr, nodes.Tuple):
        return all(map(check_constant, expr.fields))
    return isinstance(expr, Constant)


def get_total_mac_number(expr: Any) -> int:
    """The number of multiply-adds of the convolutions and matrix products in ``expr``."""
    return sum(multiply_adds(node) for node in walk(adopt(expr)) if isinstance(node, nodes.Call))


def list_op_freqs(mod: Any) -> dict[str, int]:
    """The number of calls of each operator, by name."""
    functions = mod.functions.values() if isinstance(mod, IRModule) else [mod]
    calls = [node for one in functions for node in walk(adopt(one)) if isinstance(node, nodes.Call)]
    return dict(Counter(str(call.op) for call in calls if isinstance(call.op, str)))


def count_layers(expr: Any, valid_ops: Any) -> int:
    """The largest number of calls of ``valid_ops`` (operators or names) on a path through an expression, or
    through ``main`` of a module."""
    if isinstance(expr, IRModule):
        expr = expr["main"]
    names = {str(one) for one in valid_ops}
    depth: dict[Any, int] = {}
    for node in in_order(expr):
        parts = parts_of(node) if isinstance(node, nodes.Expr) else ()
        deepest = max((depth[part] for part in parts), default=0)
        counts = isinstance(node, nodes.Call) and isinstance(node.op, str) and str(node.op) in names
        depth[node] = deepest + counts
    return max(depth.values(), default=0)


def all_dtypes(expr: Any) -> set[str]:
    """The dtypes of all values in ``expr``."""
    found: set[str] = set()
    stack = [type_of(node) for node in in_order(expr) if isinstance(node, nodes.Expr)]
    while stack:
        type_ = stack.pop()
        if isinstance(type_, TensorType):
            found.add(type_.dtype)
        elif isinstance(type_, TupleType):
            stack.extend(type_.fields)
        elif isinstance(type_, FuncType):
            stack.extend((*type_.params, type_.result))
    return found


def check_basic_block_normal_form(expr: Any) -> bool:
    """Return True if ``expr`` is in basic-block normal form. Otherwise, if a value is used in another block
    without a let, raise an InputError."""
    if not is_basic_block_normal(expr):
        raise InputError(
            "check_basic_block_normal_form: a value is used in another block than its own, without a let",
            Span.of_caller(),
            "relay.transform.ToBasicBlockNormalForm() gives it one",
        )
    return True


def extract_intermdeiate_expr(mod: IRModule, expr_id: int) -> IRModule:
    """A module whose result is value ``expr_id`` of those that ``main`` computes: calls, tuples and
    tuple fields, numbered in post-order. (The name is TVM's.)"""
    computed = [node for node in in_order(mod["main"]) if isinstance(node, _COMPUTED)]
    if not 0 <= expr_id < len(computed):
        raise InputError(
            f"extract_intermdeiate_expr: expr_id is {expr_id}, main computes {len(computed)} values",
            Span.of_caller(),
        )
    return IRModule.from_expr(computed[expr_id])


_COMPUTED = (nodes.Call, nodes.Tuple, nodes.TupleGetItem)


def extract_operators(mod: IRModule) -> list[str]:
    """The names of the operators that ``main`` calls, without duplicates, in order."""
    calls = [node for node in in_order(mod["main"]) if isinstance(node, nodes.Call)]
    return list(dict.fromkeys(call.op.name for call in calls if isinstance(call.op, Op)))


def extract_fused_functions(mod: IRModule) -> dict[GlobalVar, Any]:
    """The fused functions of ``main``, by global variables named after their structural hash; structurally
    equal functions appear once."""
    fused = mod
    for one in (SimplifyInference(), FuseOps(3)):
        fused = one(fused)
    functions = [node for node in in_order(fused["main"]) if isinstance(node, nodes.Function)]
    by_hash = {structural_hash(one): one for one in functions if dict(one.attrs).get("Primitive")}
    return {GlobalVar(str(number)): one for number, one in by_hash.items()}


def list_fake_quantized_op_freqs(mod: IRModule) -> dict[str, int]:
    """The number of calls of each operator in float between ``qnn.dequantize`` and ``qnn.quantize``. As in
    FakeQuantizationToInteger, the region between must consist of operator calls, tuples and constants."""
    found: dict[Any, None] = {}
    for node in in_order(mod["main"]):
        if isinstance(node, nodes.Call) and node.op == "qnn.quantize":
            found |= dict.fromkeys(_between(node.args[0]))
    return dict(Counter(str(call.op) for call in found))


def _between(root: Any) -> list[nodes.Call]:
    """The operator calls from ``root`` back to the nearest dequantizations; ``[]`` if other nodes occur."""
    calls: list[nodes.Call] = []
    seen: set[Any] = set()
    stack = [root]
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        if isinstance(node, nodes.Call) and node.op == "qnn.dequantize":
            continue
        if not isinstance(node, (*_COMPUTED, nodes.Constant)):
            return []
        parts = list(node.children())
        if isinstance(node, nodes.Call):
            if isinstance(node.op, nodes.Expr):
                return []
            if node.op == "qnn.quantize":
                parts = parts[:1]
            else:
                calls.append(node)
        stack += parts
    return calls


def get_calibration_data(mod: IRModule, data: Mapping[str, Any]) -> dict[GlobalVar, dict[str, list[Any]]]:
    """Run ``main`` on ``data`` and record the arguments and results of every function that it calls by name:
    ``{function: {"inputs": [...], "outputs": [...]}}``. Several calls of one function are an error."""
    module = typed(mod)
    main = module["main"]
    calls: list[Any] = [
        node for node in walk(main) if isinstance(node, nodes.Call) and isinstance(node.op, GlobalVar)
    ]
    watched: list[tuple[str, int, list[Any]]] = []
    for call in calls:
        if any(name == call.op.name for name, _, _ in watched):
            raise UnsupportedError(
                f"get_calibration_data: @{call.op.name} is called several times, expected once", call.span
            )
        type_ = type_of(call)
        outputs = (
            [TupleGetItem(call, index) for index in range(len(type_.fields))]
            if isinstance(type_, TupleType)
            else [call]
        )
        watched.append((call.op.name, len(call.args), [*call.args, *outputs]))
    module["main"] = Function(main.params, Tuple([one for _, _, values in watched for one in values]))
    results = iter(_create_executor("graph", mod=module).evaluate()(**data) if watched else ())
    found: dict[GlobalVar, dict[str, list[Any]]] = {}
    for name, count, values in watched:
        arrays = [next(results) for _ in values]
        found[mod.get_global_var(name)] = {"inputs": arrays[:count], "outputs": arrays[count:]}
    return found


def detect_feature(a: Any, b: Any = None) -> set[Feature]:
    """The kinds of nodes in an expression or in all functions of a module. Given a module and an expression,
    in either order, only the expression is analysed."""
    expr = b if isinstance(a, IRModule) and b is not None else a
    if isinstance(expr, IRModule):
        return set().union(*(features(one) for one in expr.functions.values()))
    return features(expr)


alpha_equal = structural_equal

__all__ = [
    "AnnotatedRegionSet",
    "CallGraph",
    "Feature",
    "alpha_equal",
    "free_vars",
    "post_order_visit",
    "structural_hash",
]


__getattr__ = refusing(__name__)
