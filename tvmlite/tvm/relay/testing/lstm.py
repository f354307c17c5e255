"""An LSTM (long short-term memory) with unrolled steps."""

from __future__ import annotations

from typing import Any

from tvmlite.tvm.relay.analysis import free_vars
from tvmlite.tvm.relay.expr import Call, Function, Tuple, TupleGetItem, Var
from tvmlite.tvm.relay.op.functions import find
from tvmlite.tvm.relay.scope_builder import ScopeBuilder
from tvmlite.tvm.relay.testing import layers
from tvmlite.tvm.relay.testing.init import create_workload
from tvmlite.tvm.relay.ty import TensorType, TupleType

_WEIGHTS = ("i2h_weight", "i2h_bias", "h2h_weight", "h2h_bias")


def lstm_cell(num_hidden: int, batch_size: int = 1, dtype: str = "float32", name: str = "") -> Function:
    """One step, a function of inputs, two states and four weights: returns the output and the new states."""
    plane, state, weights = _types(num_hidden, batch_size, dtype)
    inputs, states = Var("inputs", plane), Var("states", state)
    params = [Var(one, weights[one]) for one in _WEIGHTS]
    units, scope = 4 * num_hidden, ScopeBuilder()
    i2h = scope.let("i2h", layers.dense_add_bias(inputs, params[0], params[1], units, name=f"{name}i2h"))
    hidden = TupleGetItem(states, 0)
    h2h = scope.let("h2h", layers.dense_add_bias(hidden, params[2], params[3], units, name=f"{name}h2h"))
    gates = scope.let("gates", find("add")(i2h, h2h))
    parts = scope.let("slice_gates", find("split")(gates, indices_or_sections=4, axis=1).astuple())
    entry, forget, change, out = (
        scope.let(title, find(kind)(TupleGetItem(parts, index)))
        for index, (title, kind) in enumerate(
            [
                ("in_gate", "sigmoid"),
                ("forget_gate", "sigmoid"),
                ("in_transform", "tanh"),
                ("out_gate", "sigmoid"),
            ]
        )
    )
    kept = find("multiply")(forget, TupleGetItem(states, 1))
    cell = scope.let("next_c", find("add")(kept, find("multiply")(entry, change)))
    shown = scope.let("next_h", find("multiply")(out, find("tanh")(cell)))
    scope.ret(scope.let("ret", Tuple([shown, Tuple([shown, cell])])))
    return Function([inputs, states, *params], scope.get(), TupleType([plane, state]))


def get_net(iterations: int, num_hidden: int, batch_size: int = 1, dtype: str = "float32") -> Function:
    """``iterations`` steps from zero states. Each step has its own ``data`` and weights: ``i2h_0_weight``,
    ``i2h_0_bias``, ``h2h_0_weight``, ``h2h_0_bias``, then those of step 1."""
    plane, _, weights = _types(num_hidden, batch_size, dtype)
    scope = ScopeBuilder()
    out: Any = scope.let("zeros", find("zeros")((batch_size, num_hidden), dtype))
    states = scope.let("init_states", Tuple([out, out]))
    for step in range(iterations):
        params = [Var(one.replace("_", f"_{step}_"), weights[one]) for one in _WEIGHTS]
        cell = lstm_cell(num_hidden, batch_size, dtype, f"lstm_{step}")
        called = scope.let(f"call_{step}", Call(cell, [Var("data", plane), states, *params]))
        out = scope.let(f"out_{step}", TupleGetItem(called, 0))
        states = scope.let(f"states_{step}", TupleGetItem(called, 1))
    scope.ret(out)
    body = scope.get()
    return Function(free_vars(body), body, plane)


def _types(num_hidden: int, batch_size: int, dtype: str) -> tuple[Any, Any, dict[str, Any]]:
    """The types of an input or output, of the pair of states, and of each weight by name."""
    plane = TensorType((batch_size, num_hidden), dtype)
    weight = TensorType((4 * num_hidden, num_hidden), dtype)
    bias = TensorType((4 * num_hidden,), dtype)
    named = {name: weight if name.endswith("weight") else bias for name in _WEIGHTS}
    return plane, TupleType([plane, plane]), named


def get_workload(iterations: int, num_hidden: int, batch_size: int = 1, dtype: str = "float32") -> Any:
    """The network as a module, and its parameters."""
    return create_workload(get_net(iterations, num_hidden, batch_size, dtype))
