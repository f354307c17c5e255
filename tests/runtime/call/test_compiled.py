"""Compiled functions take what fits without fuss and refuse the rest in one clear sentence."""

from __future__ import annotations

import threading
import timeit
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tvmlite.core.abi.signature import Parameter, Signature
from tvmlite.core.errors import ExecutionError, InputError
from tvmlite.runtime.call.compiled import CompiledFunction
from tvmlite.runtime.pool import threads

Build = Callable[..., CompiledFunction]


def array(name: str, kind: Any, *shape: int | str | None, dtype: str = "float32") -> Parameter:
    return Parameter(name, kind, dtype, shape)


@pytest.fixture(scope="module")
def add(compile_function: Build) -> CompiledFunction:
    """c = a + b, all (2, 3)."""
    signature = Signature(
        "add", (array("a", "input", 2, 3), array("b", "input", 2, 3), array("c", "output", 2, 3))
    )
    return compile_function(signature, "for (int i = 0; i < 6; i++) c[i] = a[i] + b[i]; return 0;")


@pytest.fixture(scope="module")
def join(compile_function: Build) -> CompiledFunction:
    """y = a followed by b, of n and m elements; twice the workspace's worth is copied through it."""
    parameters = (
        array("a", "input", "n"),
        array("b", "input", "m"),
        array("y", "output", None),
        Parameter("n", "size"),
        Parameter("m", "size"),
        Parameter("workspace", "workspace"),
        Parameter("threads", "threads"),
    )
    signature = Signature("join", parameters, workspace=None, messages=("join: a starts with a negative",))
    body = """
        float *copy = workspace;
        if ((uintptr_t)workspace % 64 != 0 || threads < 1) return 9;
        if (n > 0 && a[0] < 0) return 1;
        for (int64_t i = 0; i < n; i++) copy[i] = a[i];
        for (int64_t i = 0; i < n + m; i++) y[i] = i < n ? copy[i] : b[i - n];
        return 0;"""
    return compile_function(
        signature, body, "out[0] = n; out[1] = m; out[2] = n + m; out[3] = n * 4 * threads;"
    )


A = np.arange(6, dtype=np.float32).reshape(2, 3)
B = np.full((2, 3), 10, np.float32)


def test_outputs_are_written_in_place_when_given(add: CompiledFunction) -> None:
    c = np.zeros((2, 3), np.float32)
    assert add(A, B, c) is None
    np.testing.assert_array_equal(c, A + B)


def test_outputs_are_made_when_left_out(add: CompiledFunction) -> None:
    np.testing.assert_array_equal(add(A, B), A + B)


def test_large_outputs_are_aligned(join: CompiledFunction) -> None:
    made = join(np.zeros(4096, np.float32), np.ones(4096, np.float32))
    assert made.__array_interface__["data"][0] % 64 == 0


def test_arguments_go_by_name_too(add: CompiledFunction) -> None:
    c = np.zeros((2, 3), np.float32)
    np.testing.assert_array_equal(add(b=B, a=A), A + B)
    assert add(A, c=c, b=B) is None
    np.testing.assert_array_equal(c, A + B)


def read_only(x: np.ndarray) -> np.ndarray:
    y = x.copy()
    y.flags.writeable = False
    return y


@pytest.mark.parametrize(
    "form",
    [
        pytest.param(np.asfortranarray, id="column-major"),
        pytest.param(lambda x: np.repeat(x, 2, axis=1)[:, ::2], id="strided"),
        pytest.param(lambda x: x[::-1].copy()[::-1], id="backwards"),
        pytest.param(lambda x: x.astype(">f4"), id="big-endian"),
        pytest.param(read_only, id="read-only"),
        pytest.param(
            lambda x: np.frombuffer(b"x" + x.tobytes(), np.uint8)[1:].view("<f4").reshape(2, 3),
            id="unaligned",
        ),
        pytest.param(lambda x: x.view(np.matrix), id="matrix"),
    ],
)
def test_inputs_of_any_layout_are_accepted(
    add: CompiledFunction, form: Callable[[np.ndarray], np.ndarray]
) -> None:
    np.testing.assert_array_equal(add(form(A), B), A + B)


@pytest.mark.parametrize(
    ("output", "message"),
    [
        (read_only(A), "output 'c' is read-only"),
        (np.asfortranarray(A), r"output 'c' has strides \(4, 8\), expected a dense array"),
        (A.astype(">f4"), "output 'c' has dtype >f4, expected the native byte order"),
        (np.zeros((3, 2), np.float32), r"output 'c' has shape \(3, 2\), expected float32 \(2, 3\)"),
        (np.zeros((2, 3)), "output 'c' has dtype float64, expected float32"),
    ],
)
def test_outputs_must_be_dense_native_and_writable(
    add: CompiledFunction, output: np.ndarray, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        add(A, B, output)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ((A,), r"add: 1 arguments, expected 3 \(a, b, c\), or 2 without the outputs \(a, b\)"),
        ((A, B.astype(np.float64)), "input 'b' has dtype float64, expected float32"),
        ((A, B[0]), r"input 'b' has shape \(3,\), expected float32 \(2, 3\)"),
        ((A, np.zeros((3, 2), np.float32)), r"input 'b' has shape \(3, 2\), expected float32 \(2, 3\)"),
        ((A, [[1, 2, 3]]), "input 'b' is a list, expected an array"),
        ((A, None), "input 'b' is a NoneType, expected an array"),
        ((A, A.astype(object)), "input 'b' has dtype object, expected float32"),
    ],
)
def test_what_does_not_fit_is_named(add: CompiledFunction, args: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        add(*args)


def test_names_that_do_not_fit_are_named(add: CompiledFunction) -> None:
    with pytest.raises(InputError, match="no parameter 'x'; there are a, b, c"):
        add(x=A, b=B)
    with pytest.raises(InputError, match="parameter 'b' is not given"):
        add(a=A)
    with pytest.raises(InputError, match="parameter 'a' is given twice"):
        add(A, B, a=A)


def test_an_output_may_not_overlap_an_input(add: CompiledFunction) -> None:
    c = np.zeros((2, 3), np.float32)
    memory = np.zeros(9, np.float32)
    with pytest.raises(InputError, match="output 'c' overlaps 'b'"):
        add(A, c, c)
    with pytest.raises(InputError, match="output 'c' overlaps 'a'"):
        add(memory[:6].reshape(2, 3), B, memory[3:].reshape(2, 3))
    add(A, A, c)  # two inputs may


def test_shapes_follow_sizes(join: CompiledFunction) -> None:
    for n, m in ((3, 4), (0, 2), (5, 0), (0, 0), (1000, 7)):
        a, b = np.arange(n, dtype=np.float32), np.arange(m, dtype=np.float32)
        np.testing.assert_array_equal(join(a, b), np.concatenate([a, b]))
        y = np.empty(n + m, np.float32)
        join(a, b, y)
        np.testing.assert_array_equal(y, np.concatenate([a, b]))


def test_an_output_of_a_shape_only_the_library_knows_is_checked(join: CompiledFunction) -> None:
    with pytest.raises(InputError, match=r"output 'y' has shape \(4,\), expected float32 \(5,\)"):
        join(np.zeros(2, np.float32), np.zeros(3, np.float32), np.zeros(4, np.float32))


def test_a_code_becomes_its_message(join: CompiledFunction) -> None:
    with pytest.raises(ExecutionError, match="join: a starts with a negative"):
        join(np.full(2, -1, np.float32), np.zeros(1, np.float32))


def test_many_threads_may_call_at_once(join: CompiledFunction) -> None:
    wrong: list[int] = []

    def caller(n: int) -> None:
        a, b = np.full(n, n, np.float32), np.zeros(3, np.float32)
        for _ in range(200):
            if not np.array_equal(join(a, b), np.concatenate([a, b])):
                wrong.append(n)

    callers = [threading.Thread(target=caller, args=(n,)) for n in (1, 10, 1000, 20000)]
    for one in callers:
        one.start()
    for count in (3, 1, 2):
        threads.set_num_threads(count)
    for one in callers:
        one.join()
    assert wrong == []


def test_sizes_agree_between_arrays(compile_function: Build) -> None:
    signature = Signature(
        "dot",
        (
            array("a", "input", "n", 2),
            array("b", "input", 2, "n"),
            array("y", "output", "n"),
            Parameter("n", "size"),
        ),
    )
    dot = compile_function(
        signature,
        "for (int64_t i = 0; i < n; i++) y[i] = a[2 * i] * b[i]; return 0;",
        "out[0] = n; out[1] = 2; out[2] = 2; out[3] = n; out[4] = n; out[5] = 0;",
    )
    assert dot(np.ones((4, 2), np.float32), np.ones((2, 4), np.float32)).shape == (4,)
    with pytest.raises(
        InputError, match=r"'b' has shape \(2, 5\), expected float32 \(2, n\), where n is 4 already"
    ):
        dot(np.ones((4, 2), np.float32), np.ones((2, 5), np.float32))


def test_terabytes_are_refused_before_they_are_asked_for(compile_function: Build) -> None:
    signature = Signature(
        "big", (array("x", "input", "n"), array("y", "output", None), Parameter("n", "size"))
    )
    big = compile_function(
        signature, "(void)x; (void)y; return n > 0;", "out[0] = n; out[1] = n * (1LL << 40); out[2] = 0;"
    )
    with pytest.raises(
        InputError, match=r"big: needs 13,194,139,533,312 bytes \(.* for output 'y'\), this machine has"
    ):
        big(np.zeros(3, np.float32))
    with pytest.raises(InputError, match="dense copy of input 'x'"):
        big(np.broadcast_to(np.float32(1), (1 << 45,)))


def test_negative_shapes_are_refused(compile_function: Build) -> None:
    signature = Signature(
        "tail", (array("x", "input", "n"), array("y", "output", None), Parameter("n", "size"))
    )
    tail = compile_function(
        signature, "(void)x; (void)y; (void)n; return 0;", "out[0] = n; out[1] = n - 5; out[2] = 0;"
    )
    with pytest.raises(InputError, match=r"the shape of 'y' would be \(-2,\)"):
        tail(np.zeros(3, np.float32))


@pytest.fixture(scope="module")
def fill(compile_function: Build) -> CompiledFunction:
    parameters = (
        Parameter("n", "scalar", "int32"),
        Parameter("v", "scalar", "float32"),
        array("y", "output", "n"),
    )
    return compile_function(
        Signature("fill", parameters),
        "for (int i = 0; i < n; i++) y[i] = v; return 0;",
        "out[0] = n; out[1] = 0;",
    )


def test_scalars_are_numbers_of_their_dtype(fill: CompiledFunction) -> None:
    np.testing.assert_array_equal(fill(3, 1.5), np.full(3, 1.5, np.float32))
    np.testing.assert_array_equal(fill(np.int64(3), np.float64(1.5)), np.full(3, 1.5, np.float32))
    np.testing.assert_array_equal(fill(np.array(2), 1), np.full(2, 1, np.float32))


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ((3.5, 1), "scalar 'n' is a float, expected a number of int32"),
        ((2**31, 1), "scalar 'n' is 2147483648, expected int32: -2147483648 to 2147483647"),
        ((3, "x"), "scalar 'v' is a str, expected a number of float32"),
        ((-1, 1), r"the shape of 'y' would be \(-1,\)"),
    ],
)
def test_scalars_that_do_not_fit_are_named(fill: CompiledFunction, args: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        fill(*args)


def test_a_scalar_agrees_with_the_shapes(fill: CompiledFunction) -> None:
    with pytest.raises(
        InputError, match=r"output 'y' has shape \(4,\), expected float32 \(n,\), where n is 3 already"
    ):
        fill(3, 1.0, np.zeros(4, np.float32))


def test_numbers_that_would_overflow_shapes_are_refused(compile_function: Build) -> None:
    parameters = (
        Parameter("n", "scalar", "int64"),
        Parameter("m", "scalar", "int64"),
        array("y", "output", None),
    )
    outer = compile_function(
        Signature("outer", parameters), "(void)n; (void)m; (void)y; return 0;", "out[0] = n * m; out[1] = 0;"
    )
    assert outer(2, 3).shape == (6,)
    with pytest.raises(InputError, match="n = 4294967296, m = 4294967296: larger than any machine's memory"):
        outer(2**32, 2**32)


@pytest.mark.parametrize(
    "dtype", ["float16", "bfloat16", "float64", "int8", "int64", "uint8", "uint64", "bool", "int16", "uint32"]
)
def test_every_dtype_passes_through(compile_function: Build, dtype: str) -> None:
    kind = ml_dtypes.bfloat16 if dtype == "bfloat16" else np.dtype(dtype)
    signature = Signature(
        f"copy_{dtype}", (array("x", "input", 5, dtype=dtype), array("y", "output", 5, dtype=dtype))
    )
    copy = compile_function(signature, "for (int i = 0; i < 5; i++) y[i] = x[i]; return 0;")
    x = np.array([0, 1, 1, 0, 1]).astype(kind)
    y = copy(x)
    if dtype == "bfloat16":
        with pytest.raises(
            InputError, match=r"has dtype uint16(?s:.*)hint: .*array\.view\(ml_dtypes\.bfloat16"
        ):
            copy(x.view(np.uint16))
    assert y.dtype == x.dtype
    np.testing.assert_array_equal(y, x)


def test_half_scalars_are_passed_as_bits(compile_function: Build) -> None:
    parameters = (
        Parameter("v", "scalar", "float16"),
        Parameter("w", "scalar", "bfloat16"),
        array("y", "output", 2, dtype="int32"),
    )
    bits = compile_function(Signature("bits", parameters), "y[0] = v; y[1] = w; return 0;")
    assert bits(1.0, 1.0).tolist() == [0x3C00, 0x3F80]


def test_rank_zero_inputs_may_be_numbers(compile_function: Build) -> None:
    twice = compile_function(
        Signature("twice", (array("x", "input"), array("y", "output"))), "*y = 2 * *x; return 0;"
    )
    assert twice(3.0) == 6
    assert twice(np.float32(3)) == 6
    assert twice(np.array(3, np.float32)).shape == ()


def test_several_outputs_are_a_tuple(compile_function: Build) -> None:
    signature = Signature("two", (array("y", "output", 1), array("z", "output", 1)))
    two = compile_function(signature, "*y = 1; *z = 2; return 0;")
    y, z = two()
    assert (float(y[0]), float(z[0])) == (1, 2)


def test_torch_tensors_are_read_and_written_in_place(add: CompiledFunction) -> None:
    torch = pytest.importorskip("torch")
    a, b, c = torch.arange(6.0).reshape(2, 3), torch.ones(3, 2).T, torch.zeros(2, 3)
    assert add(a, b, c) is None
    assert torch.equal(c, a + b)
    np.testing.assert_array_equal(add(a, b), (a + b).numpy())
    with pytest.raises(InputError, match=r"does not give its memory: .*gradient"):
        add(torch.zeros(2, 3, requires_grad=True), b)
    with pytest.raises(InputError, match="has dtype float64, expected float32"):
        add(a.double(), b)


def test_torch_bfloat16_goes_through(compile_function: Build) -> None:
    torch = pytest.importorskip("torch")
    signature = Signature(
        "copy", (array("x", "input", 5, dtype="bfloat16"), array("y", "output", 5, dtype="bfloat16"))
    )
    copy = compile_function(signature, "for (int i = 0; i < 5; i++) y[i] = x[i]; return 0;")
    x, y = torch.arange(5).to(torch.bfloat16), torch.zeros(5, dtype=torch.bfloat16)
    copy(x, y)
    assert torch.equal(x, y)


def test_time_tells_a_median_in_its_interval(add: CompiledFunction) -> None:
    timing = add.time(A, B, number=10, repeat=9)
    assert len(timing.runs) == 9
    assert timing.number == 10
    assert 0 < timing.interval[0] <= timing.median <= timing.interval[1] < 1
    assert "us [" in str(timing)
    with pytest.raises(InputError, match="repeat: 0 given"):
        add.time(A, B, repeat=0)


def test_calls_that_are_timed_can_take_several_lists_of_arguments_in_turn(add: CompiledFunction) -> None:
    rows = [
        [np.full((2, 3), n, np.float32), np.ones((2, 3), np.float32), np.zeros((2, 3), np.float32)]
        for n in range(3)
    ]

    add.time(*rows[0], others=rows[1:], number=3, repeat=1)

    np.testing.assert_array_equal([row[2][0, 0] for row in rows], [1, 2, 3])


def test_time_raises_what_the_function_reports(join: CompiledFunction) -> None:
    with pytest.raises(ExecutionError, match="negative"):
        join.time(np.full(2, -1, np.float32), np.zeros(1, np.float32), budget=0.01)


def test_a_call_with_small_arrays_takes_microseconds(add: CompiledFunction) -> None:
    c = np.zeros((2, 3), np.float32)
    seconds = min(timeit.repeat(lambda: add(A, B, c), number=2000, repeat=5)) / 2000
    assert seconds < 20e-6  # about 2 on a quiet machine
