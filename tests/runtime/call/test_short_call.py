"""After a first call with the same sizes a fast path is taken, with the same results as the full path."""

from __future__ import annotations

import threading
from collections.abc import Callable

import numpy as np
import pytest

from tvmlite.core.abi.signature import Parameter, Signature
from tvmlite.core.errors import ExecutionError, InputError
from tvmlite.runtime import num_threads, set_num_threads
from tvmlite.runtime.call.compiled import CompiledFunction
from tvmlite.runtime.library.library import Library

Build = Callable[..., CompiledFunction]

A, B = np.arange(4, dtype="float32"), np.arange(4, 8, dtype="float32")


@pytest.fixture
def both(compile_function: Build) -> CompiledFunction:
    """s = a + b through the workspace, and the number of threads; refuses a negative a[0]; called once."""
    parameters = (
        *(Parameter(name, "input", "float32", (4,)) for name in "ab"),
        Parameter("s", "output", "float32", (4,)),
        Parameter("t", "output", "int64", ()),
        Parameter("workspace", "workspace"),
        Parameter("threads", "threads"),
    )
    body = """
        float *copy = workspace;
        if ((uintptr_t)workspace % 64 != 0) return 9;
        if (a[0] < 0) return 1;
        for (int i = 0; i < 4; i++) copy[i] = a[i] + b[i];
        for (int i = 0; i < 4; i++) s[i] = copy[i];
        *t = threads;
        return 0;"""
    signature = Signature("both", parameters, workspace=16, messages=("both: a starts with a negative",))
    made = compile_function(signature, body)
    made(A, B)
    return made


def test_the_fast_path_allocates_new_outputs_each_time(both: CompiledFunction) -> None:
    first, _ = both(A, B)
    second, _ = both(B, B)
    np.testing.assert_array_equal(first, A + B)
    np.testing.assert_array_equal(second, B + B)


def test_arguments_that_need_conversion_are_still_converted(both: CompiledFunction) -> None:
    for given in (A[::-1], A.astype(">f4"), np.repeat(A, 2)[::2]):
        np.testing.assert_array_equal(both(given, B)[0], given + B)
    np.testing.assert_array_equal(both(b=B, a=A)[0], A + B)
    written, told = np.zeros(4, "float32"), np.zeros((), "int64")
    both(A, B, written, told)
    np.testing.assert_array_equal(written, A + B)


def test_wrong_arguments_are_refused_as_in_the_first_call(both: CompiledFunction) -> None:
    with pytest.raises(InputError, match=r"both: .*'a'.* \(5,\)"):
        both(np.zeros(5, "float32"), B)
    with pytest.raises(InputError, match=r"both: .*'b'.*int32"):
        both(A, B.astype("int32"))
    for count in (0, 1, 3, 5):
        with pytest.raises(InputError, match=f"both: {count} arguments, expected 4"):
            both(*[A] * count)
    with pytest.raises(ExecutionError, match="both: a starts with a negative"):
        both(-B, A)
    np.testing.assert_array_equal(both(A, B)[0], A + B)


@pytest.fixture
def named(both: CompiledFunction) -> Library:
    """``both`` with names that are not identifiers; called once."""
    library = Library(both, {"input_names": ["a'1", 'b"\\n'], "output_names": ["sum {0}", "class"]})
    library.run({"a'1": A, 'b"\\n': B})
    return library


def test_inputs_by_name_may_come_in_any_order(named: Library) -> None:
    for given in (A, A[::-1], A.astype(">f4")):
        made = named.run({'b"\\n': B, "a'1": given})
        assert list(made) == ["sum {0}", "class"]
        np.testing.assert_array_equal(made["sum {0}"], given + B)
        assert made["class"] == num_threads()


def test_wrong_names_are_refused_as_in_the_first_call(named: Library) -> None:
    with pytest.raises(InputError, match="there is no input 'c'; the inputs are a'1"):
        named.run({"a'1": A, "c": B})
    with pytest.raises(InputError, match="is not given; expected a'1"):
        named.run({"a'1": A})
    with pytest.raises(InputError, match=r"""both: input 'b"\\\\n' has shape \(5,\)"""):
        named.run({"a'1": A, 'b"\\n': np.zeros(5, "float32")})
    with pytest.raises(ExecutionError, match="both: a starts with a negative"):
        named.run({"a'1": -B, 'b"\\n': A})


def test_the_current_number_of_threads_is_used(both: CompiledFunction) -> None:
    before = num_threads()
    try:
        for threads in (1, 3):
            set_num_threads(threads)
            assert both(A, B)[1] == threads
    finally:
        set_num_threads(before)


def test_concurrent_calls_have_separate_memory(both: CompiledFunction) -> None:
    wrong: list[int] = []

    def call(number: int) -> None:
        mine = np.full(4, number, "float32")
        wrong.extend(number for _ in range(300) if (both(mine, A)[0] != mine + A).any())

    callers = [threading.Thread(target=call, args=(number,)) for number in range(4)]
    for one in callers:
        one.start()
    for one in callers:
        one.join()
    assert not wrong


@pytest.fixture
def doubled(compile_function: Build) -> CompiledFunction:
    """s = a + b of n elements through a workspace of n floats per thread; refuses a negative a[0]."""
    parameters = (
        *(Parameter(name, "input", "float32", ("n",)) for name in "ab"),
        Parameter("s", "output", "float32", ("n",)),
        Parameter("t", "output", "int64", (2,)),
        Parameter("n", "size", "int64"),
        Parameter("workspace", "workspace"),
        Parameter("threads", "threads"),
    )
    body = """
        float *copy = workspace;
        if (n && a[0] < 0) return 1;
        for (int k = 0; k < threads; k++)
            for (int i = 0; i < n; i++) copy[k * n + i] = a[i] + b[i];
        for (int i = 0; i < n; i++) s[i] = copy[i];
        t[0] = n, t[1] = threads;
        return 0;"""
    shapes = "out[0] = out[1] = out[2] = n; out[3] = 2; out[4] = 4 * n * threads;"
    signature = Signature("sums", parameters, workspace=None, messages=("sums: a starts with a negative",))
    return compile_function(signature, body, shapes)


def rows(count: int) -> np.ndarray:
    return np.arange(count, dtype="float32")


def test_the_fast_path_is_taken_for_shapes_of_the_previous_call(doubled: CompiledFunction) -> None:
    doubled(rows(3), rows(3))
    assert doubled.fast_path is not None
    quick = doubled.fast_path.by_position()

    assert quick((rows(5), rows(5))) is None
    assert quick((rows(3), rows(5))) is None
    assert quick((rows(3), rows(6)[::2])) is None
    np.testing.assert_array_equal(quick((rows(3), rows(3) + 1))[0], 2 * rows(3) + 1)


def test_sizes_in_any_order_give_the_same_results(doubled: CompiledFunction) -> None:
    for count in (4, 7, 4, 0, 5000, 7, 1, 5000, 0, 4):
        made, told = doubled(rows(count), rows(count))
        np.testing.assert_array_equal(made, 2 * rows(count))
        assert told[0] == count
        named = Library(doubled, {}).run({"b": rows(count), "a": rows(count)})
        np.testing.assert_array_equal(named["s"], made)


def test_symbolic_sizes_that_disagree_are_refused_with_the_sizes(doubled: CompiledFunction) -> None:
    for _ in range(2):
        doubled(rows(4), rows(4))
        with pytest.raises(InputError, match=r"sums: input 'b' has shape \(4,\)"):
            doubled(rows(3), rows(4))
        with pytest.raises(ExecutionError, match=r"a starts with a negative \(n is 4\)"):
            doubled(rows(4) - 1, rows(4))


def test_known_sizes_get_enough_memory_for_another_number_of_threads(doubled: CompiledFunction) -> None:
    before = num_threads()
    try:
        for threads in (1, 4, 2, 1):
            set_num_threads(threads)
            for _ in range(2):
                made, told = doubled(rows(5000), rows(5000))
                np.testing.assert_array_equal(made, 2 * rows(5000))
                assert told[1] == threads
    finally:
        set_num_threads(before)
