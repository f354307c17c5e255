"""User-defined passes over lowered functions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tvmlite.tvm as tvm
from tvmlite.core.errors import ConfigError, UnsupportedError
from tvmlite.tvm import te, tir


def added() -> tuple[Any, list[Any]]:
    """The schedule of a sum of two vectors, and its arguments."""
    a, b = te.placeholder((32,), name="a"), te.placeholder((32,), name="b")
    c = te.compute((32,), lambda i: a[i] + b[i], name="c")
    return te.create_schedule(c.op), [a, b, c]


def in_eights(loop: Any) -> Any:
    """Split ``loop`` and vectorize it by eight."""
    outer, inner = te.var("outer"), te.var("inner")
    body = tir.stmt_functor.substitute(loop.body, {loop.loop_var: outer * 8 + inner})
    body = tir.For(inner, 0, 8, tir.ForKind.VECTORIZED, body)
    return tir.For(outer, 0, loop.extent.value // 8, tir.ForKind.SERIAL, body)


@tir.transform.prim_func_pass(opt_level=0)
def vectorized(function: Any, mod: Any, context: Any) -> Any:
    """Vectorize every loop by eight."""
    return function.with_body(tir.stmt_functor.ir_transform(function.body, None, in_eights, ["tir.For"]))


def test_lower_and_build_run_the_passes_of_the_context() -> None:
    schedule, args = added()
    x, y = np.random.default_rng(0).random((2, 32)).astype("float32")
    found = tvm.nd.empty((32,))

    with tvm.transform.PassContext(config={"tir.add_lower_pass": [(1, vectorized)]}):
        text = str(tvm.lower(schedule, args))
        tvm.build(schedule, args, "llvm")(x, y, found)

    assert "for outer in range(0, 4)" in text
    assert "vectorize(0, 8)" in text
    assert "vectorize" not in str(tvm.lower(schedule, args))
    np.testing.assert_array_equal(found.numpy(), x + y)


def test_passes_run_in_the_order_of_their_phases() -> None:
    seen: list[int] = []

    def noting(phase: int) -> tuple[int, Any]:
        def note(function: Any, mod: Any, context: Any) -> Any:
            seen.append(phase)
            return function

        return phase, tir.transform.prim_func_pass(note, opt_level=0)

    with tvm.transform.PassContext(config={"tir.add_lower_pass": [noting(3), noting(0), noting(1)]}):
        tvm.lower(*added())

    assert seen == [0, 1, 3]


def test_a_pass_may_be_called_with_a_module() -> None:
    module = tvm.lower(*added())

    assert "vectorize" in str(vectorized(module))
    assert vectorized.info.name == "vectorized"
    assert "vectorize" not in str(module)


@pytest.mark.parametrize("row", [(4, vectorized), (1, print), vectorized])
def test_an_invalid_phase_or_pass_is_refused(row: Any) -> None:
    with (
        tvm.transform.PassContext(config={"tir.add_lower_pass": [row]}),
        pytest.raises(ConfigError, match=r"tir.add_lower_pass: a row: .*expected \(a phase from 0 to 3"),
    ):
        tvm.lower(*added())


def test_tvms_own_passes_are_absent() -> None:
    with pytest.raises(UnsupportedError, match=r"tvm.tir.transform.VectorizeLoop is not in tvmlite"):
        tir.transform.VectorizeLoop()
