"""Check that passes keep what a model computes, by interpreting it after each of them on random inputs.

The interpreter evaluates operators by their numpy references and shares no code with the passes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tvmlite.core import dtype as dtypes
from tvmlite.core.errors import VerifyError
from tvmlite.core.node import Node
from tvmlite.core.span import Span
from tvmlite.relay.ir.infer import dependencies, walk
from tvmlite.relay.ir.interpret import Value, interpret, trace
from tvmlite.relay.ir.nodes import Call, Expr, Module
from tvmlite.relay.ir.random_inputs import random_inputs
from tvmlite.te.expr.minifloat import CODES

TOLERANCES = {"float64": 1e-9, "float32": 1e-4, "float16": 2e-2, "bfloat16": 1e-1}
TOLERANCES |= {name: 2.0**-form.fraction for name, form in CODES.items()}  # one step
TOLERANCES[dtypes.POWER_OF_TWO] = 1.0
"""The largest error relative to a tensor's largest value. Integers and bools must be equal."""


class ReferenceRun:
    """The results of a module for one input, against which transformed modules are compared.

    ``inputs`` are arrays by name; without them random inputs are drawn (``random_inputs``). ``precision`` is
    the dtype in which passes may compute what is float32 in the model.
    """

    def __init__(
        self,
        module: Module,
        inputs: Mapping[str, Any] | None = None,
        precision: str = "float32",
    ) -> None:
        self.precision = "float64" if precision == "float32" else precision
        if inputs is None:
            self.arguments, self.expected = random_inputs(module.main)
        else:
            self.expected = interpret(module, inputs)
            self.arguments = [np.asarray(inputs[p.name]) for p in module.main.params]
        self.module = module

    def after(self, name: str, module: Module) -> None:
        """Raise a VerifyError if ``module``, the output of the pass ``name``, computes anything else."""
        self.compare(
            f"pass {name!r} changed what the model computes", module, interpret(module, self.arguments)
        )
        self.module = module

    def compare(self, what: str, module: Module, found: Value) -> None:
        """Raise a VerifyError that begins with ``what`` if ``found``, the results of ``module``, is wrong."""
        for index, (want, got) in enumerate(zip(_arrays(self.expected), _arrays(found), strict=True)):
            gap = difference(want, got, self.precision)
            if gap:
                names = module.output_names
                output = repr(names[index]) if index < len(names) else str(index)
                node = _first_difference(
                    trace(self.module, self.arguments), module, trace(module, self.arguments)
                )
                first = (
                    f"; it begins at {node.op}" if isinstance(node, Call) and isinstance(node.op, str) else ""
                )
                raise VerifyError(f"{what}: output {output}: {gap}{first}", getattr(node, "span", None))


def difference(want: np.ndarray, got: np.ndarray, precision: str = "float64") -> str:
    """How ``got`` differs, beyond rounding to its dtype or to ``precision``; empty if it does not."""
    if want.shape != got.shape or want.dtype != got.dtype:
        return f"{got.dtype}{list(got.shape)}, expected {want.dtype}{list(want.shape)}"
    dtype = dtypes.check(want.dtype)
    if not dtypes.is_float(dtype):
        wrong = int(np.count_nonzero(want != got))
        return f"{wrong} of {want.size} elements differ" if wrong else ""
    a, b = want.astype(np.float64).reshape(-1), got.astype(np.float64).reshape(-1)
    finite = np.isfinite(a)
    if not np.array_equal(a[~finite], b[~finite], equal_nan=True) or not np.isfinite(b[finite]).all():
        return "other elements are infinite or NaN"
    largest = float(np.max(np.abs(a[finite]), initial=0))
    gap = float(np.max(np.abs(a[finite] - b[finite]), initial=0))
    narrow = max(dtype, precision, key=TOLERANCES.__getitem__)
    if gap <= TOLERANCES[narrow] * largest:
        return ""
    allowed = f"{narrow} allows {TOLERANCES[narrow]:g} of it"
    return f"off by {gap:.2g} where the largest value is {largest:.2g} ({allowed})"


def _first_difference(
    before: Mapping[Expr, Value], module: Module, after: Mapping[Expr, Value]
) -> Expr | None:
    """The first node of ``module`` whose value is wrong although the values it depends on are right.

    Nodes before and after a pass correspond if they have the same ``span``. A node is right if a
    corresponding node had the same value before; if none has its shape, the nodes that it depends on decide.
    """
    known: dict[Span, list[np.ndarray]] = {}
    for node, value in before.items():
        span = getattr(node, "span", None)
        if span is not None and isinstance(value, np.ndarray):
            known.setdefault(span, []).append(value)
    wrong = _reached_by_wrong(known, module, after)
    return next((node for node in walk(module.main.body) if node in wrong), None)


def _reached_by_wrong(
    known: Mapping[Span, list[np.ndarray]], module: Module, after: Mapping[Expr, Value]
) -> set[Node]:
    """The wrong nodes on paths from the outputs towards the inputs that contain no right node."""
    wrong: set[Node] = set()
    done: set[Node] = set()
    stack: list[Any] = [module.main.body]
    while stack:
        node = stack.pop()
        if node in done:
            continue
        done.add(node)
        value, candidates = after.get(node), known.get(getattr(node, "span", None), [])  # type: ignore[arg-type]
        if isinstance(value, np.ndarray):
            comparable = [c for c in candidates if c.shape == value.shape and c.dtype == value.dtype]
            if any(not difference(one, value) for one in comparable):
                continue
            if comparable:
                wrong.add(node)
        stack.extend(_dependencies_of(node))
    return wrong


def _dependencies_of(node: Any) -> list[Expr]:
    """The expressions that the value of ``node`` depends on: for a call of a function, its body first."""
    return [getattr(one, "body", one) for one in reversed(list(dependencies(node)))]


def _arrays(value: Value) -> list[np.ndarray]:
    if isinstance(value, tuple):
        return [array for one in value for array in _arrays(one)]
    return [value]
