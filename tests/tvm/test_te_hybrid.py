"""``te.hybrid``: scripts compared with their results in Python, and errors in scripts."""

# ruff: noqa: F821, F841, B007, PT018
# mypy: ignore-errors
# pyright: reportUndefinedVariable=false
from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tvmlite.tvm as tvm
from tvmlite.core.errors import InputError, ParseError, TensorExpressionError, UnsupportedError
from tvmlite.tvm import te

script = te.hybrid.script


def check(function: Any, *args: Any, **sizes: int) -> Any:
    """Check that the script, compiled and printed again from its loops, computes what Python does."""
    made = function(*args)
    outputs = made if isinstance(made, list) else [made]
    symbolic = [one for one in args if isinstance(one, (te.Tensor, tvm.tir.Var))]
    s = te.create_schedule(outputs[0].op)
    rng = np.random.default_rng(3)
    values = []
    for one in args:
        if isinstance(one, te.Tensor):
            shape = [n if isinstance(n, int) else sizes[n.name] for n in one.shape]
            values.append((rng.random(shape) * 9 + 1).astype(one.dtype))
        else:
            values.append(sizes[one.name] if isinstance(one, tvm.tir.Var) else one)
    wanted = function(*values)
    given = [v for v, one in zip(values, args, strict=True) if one in symbolic]
    compiled = tvm.build(s, [*symbolic, *outputs])(*given)
    again = te.hybrid.build(s, symbolic, outputs)
    for result in (compiled, again(*given)):
        for got, want in zip(*map(_tuple, (result, wanted)), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)
    assert te.hybrid.HybridModule(again.get_source(), "x").get_source() == again.get_source()
    return again


def _tuple(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


@script
def outer_product(n, m, a, b):
    """Multiply every element of a by every element of b."""
    c = output_tensor((n, m), a.dtype)
    for i in range(n):
        for j in range(m):
            assert i < n and j < m, "index out of range!"
            c[i, j] = a[i] * b[j]
    return c


def test_loops_over_symbolic_sizes() -> None:
    n, m = te.size_var("n"), te.size_var("m")
    a, b = te.placeholder((n,), name="a"), te.placeholder((m,), name="b")
    module = check(outer_product, n, m, a, b, n=9, m=5)

    assert "for j in range(0, m):" in module.get_source()


def test_kinds_of_loops_and_several_outputs() -> None:
    @script
    def kinds(a):
        b = output_tensor((16,), "float32")
        c = output_tensor((4, 4), "float32")
        for i in parallel(16):
            b[i] = a[i] + 1.0
        for i in vectorize(4):
            c[0, i] = a[i]
        for i in unroll(1, 4):
            for j in range(4):
                c[i, j] = a[i * 4 + j] * 2.0
        return b, c

    module = check(kinds, te.placeholder((16,), name="a"))
    assert "parallel(0, 16)" in module.get_source()


def test_conditions_and_expressions_match_python() -> None:
    @script
    def choose(a):
        b = output_tensor((12,), "int32")
        for i in range(12):
            if 2 <= i < 5 or not i > 7:
                b[i] = a[i] - 1
            elif i == 9 and a[i] > 0:
                b[i] = -a[i]
            else:
                b[i] = (a[i] if a[i] > 5 else 7) + i // 2 + (i & 3) + (1 << 2)
        return b

    check(choose, te.placeholder((12,), dtype="int32", name="a"))


def test_variables_may_be_assigned_once_or_repeatedly() -> None:
    @script
    def window_sums(a):
        three = 3.0
        last = a.shape[0] - 2
        b = output_tensor((last,), a.dtype)
        scratch = allocate((2,), "float32")
        for i in range(last):
            total = 0.0
            for j in range(3):
                total += a[i + j]
            first = a[i]
            scratch[0] = total / three
            scratch[1] = first
            b[i] = scratch[0] + scratch[1]
        return b

    check(window_sums, te.placeholder((te.size_var("n"),), name="a"), n=11)


def test_math_functions_and_builtins_match_python() -> None:
    @script
    def functions(a):
        b = output_tensor((9,), "float32")
        b[0] = sqrt(a[0])
        b[1] = log(a[1])
        b[2] = exp(a[2] * 0.1)
        b[3] = sigmoid(a[3])
        b[4] = power(a[4], 2.0)
        b[5] = tanh(a[5])
        b[6] = min(a[6], a[5], 2.0)
        b[7] = max(a[7], a[8])
        b[8] = float32(int32(a[8])) + rsqrt(a[0]) + ceil_div(7, 2)
        return b

    check(functions, te.placeholder((9,), name="a"))


def test_a_script_captures_constants_and_tensors() -> None:
    table = [[1, 2], [3, 4]]
    extent = 6
    other = te.placeholder((6,), dtype="int32", name="other")

    @script
    def captured(a, weights):
        c = output_tensor((extent,), "int32")
        for i in range(extent):
            total = 0
            for j in const_range(len(weights)):
                total += a[i] * weights[j]
            c[i] = total + table[1][0]
        return c

    check(captured, te.placeholder((6,), dtype="int32", name="a"), [2, 3])

    @script
    def reads_other(a):
        c = output_tensor((6,), "int32")
        for i in range(6):
            c[i] = a[i] + other[i]
        return c

    assert [x.name for x in reads_other(te.placeholder((6,), dtype="int32", name="a")).op.inputs] == [
        "a",
        "other",
    ]


def test_a_script_may_call_another() -> None:
    @script
    def twice(a, b):
        c = outer_product(4, 3, a, b)
        d = output_tensor(c.shape, c.dtype)
        for i in range(4):
            for j in range(3):
                d[i, j] = c[i, j] + i * j
        return d

    check(twice, te.placeholder((4,), name="a"), te.placeholder((3,), name="b"))


def test_a_script_is_saved_and_loaded(tmp_path: Path) -> None:
    a, b = te.placeholder((4,), name="a"), te.placeholder((3,), name="b")
    c = outer_product(4, 3, a, b)
    module = te.hybrid.build(te.create_schedule(c.op), [a, b], [c], name="product")
    module.save(str(tmp_path / "product"))
    again = te.hybrid.HybridModule()
    with pytest.raises(InputError, match="there is no script yet: load one"):
        again(1)
    again.load(str(tmp_path / "product.py"))
    x, y = np.arange(4, dtype="f4"), np.arange(3, dtype="f4")

    assert again.name == "product"
    np.testing.assert_array_equal(again(x, y), np.outer(x, y))
    assert again(a, b).shape == (4, 3)
    with pytest.raises(InputError, match="product takes 2 arguments, given 1"):
        again(x)
    with pytest.raises(InputError, match="there is no file"):
        again.load(str(tmp_path / "missing.py"))
    with pytest.raises(ParseError, match="the text has 0 functions, expected one"):
        te.hybrid.HybridModule("import os")
    with pytest.raises(ParseError, match="HybridModule: line 1"):
        te.hybrid.HybridModule("def f(")


def test_running_a_script_adds_no_names_to_its_module() -> None:
    outer_product(2, 2, np.ones(2), np.ones(2))

    assert not set(te.hybrid.runtime.HYBRID_GLOBALS) & set(outer_product.__globals__)


A = te.placeholder((4,), name="a")


def _fault(function: Any) -> str:
    with pytest.raises((TensorExpressionError, UnsupportedError)) as raised:
        script(function)(A)
    assert "test_te_hybrid.py" in str(raised.value)
    return str(raised.value)


def test_errors_of_a_script_have_their_line() -> None:
    def writes_input(a):
        b = output_tensor((4,), "float32")
        a[0] = 1.0
        return b

    def unknown_name(a):
        b = output_tensor((4,), "float32")
        b[0] = nothing
        return b

    def no_return(a):
        b = output_tensor((4,), "float32")
        b[0] = a[0]

    def forgets_one(a):
        b = output_tensor((4,), "float32")
        c = output_tensor((4,), "float32")
        return c

    def while_loop(a):
        while True:
            pass

    def threads(a):
        b = output_tensor((4,), "float32")
        for i in bind("threadIdx.x", 4):
            b[i] = a[i]
        return b

    def wrong_rank(a):
        b = output_tensor((4,), "float32")
        b[0, 0] = a[0]
        return b

    def whole_tensor(a):
        b = output_tensor((4,), "float32")
        b[0] = a + 1
        return b

    def never(a):
        assert 1 > 2, "never"

    def open_bounds(a):
        for i in range(4):
            for j in const_range(i):
                pass

    assert "'writes_input', its line 3: input a is written" in _fault(writes_input)
    assert "hint: copy it: allocate(a.shape, a.dtype)" in _fault(writes_input)
    assert "its line 3: nothing is not known here" in _fault(unknown_name)
    assert "returns nothing, expected output tensors" in _fault(no_return)
    assert "output tensor b is not returned" in _fault(forgets_one)
    assert "its line 2: While statements are not supported" in _fault(while_loop)
    assert "its line 3: CPUs have no thread axes, such as 'threadIdx.x'" in _fault(threads)
    assert "tensor b has 1 axes, indexed with 2" in _fault(wrong_rank)
    assert "tensor a is used without indices" in _fault(whole_tensor)
    assert "the assertion never holds: never" in _fault(never)
    assert "the bounds of const_range are no constants" in _fault(open_bounds)
