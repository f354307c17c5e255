"""After its first call a function of known sizes is called in a short way, which does what the long does; one
of open sizes after some calls of the same."""

from __future__ import annotations

import threading
from collections.abc import Callable

import numpy as np
import pytest

from tvmlite.core.abi import Parameter, Signature
from tvmlite.core.errors import ExecutionError, InputError
from tvmlite.runtime import num_threads, set_num_threads
from tvmlite.runtime.compiled import CompiledFunction
from tvmlite.runtime.library import Library

Build = Callable[..., CompiledFunction]

A, B = np.arange(4, dtype="float32"), np.arange(4, 8, dtype="float32")


@pytest.fixture
def both(compile_function: Build) -> CompiledFunction:
    """s = a + b through the workspace, and the number of threads; refuses a negative a[0]. Called once."""
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


def test_outputs_are_new_each_time(both: CompiledFunction) -> None:
    first, _ = both(A, B)
    second, _ = both(B, B)
    np.testing.assert_array_equal(first, A + B)
    np.testing.assert_array_equal(second, B + B)


def test_what_must_be_converted_still_is(both: CompiledFunction) -> None:
    for given in (A[::-1], A.astype(">f4"), np.repeat(A, 2)[::2]):
        np.testing.assert_array_equal(both(given, B)[0], given + B)
    np.testing.assert_array_equal(both(b=B, a=A)[0], A + B)
    written, told = np.zeros(4, "float32"), np.zeros((), "int64")
    both(A, B, written, told)
    np.testing.assert_array_equal(written, A + B)


def test_what_does_not_fit_is_refused_as_at_first(both: CompiledFunction) -> None:
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
    """``both`` by names of which none is an identifier; called once."""
    library = Library(both, {"input_names": ["a'1", 'b"\\n'], "output_names": ["sum {0}", "class"]})
    library.run({"a'1": A, 'b"\\n': B})
    return library


def test_by_names_in_any_order_it_is_the_same(named: Library) -> None:
    for given in (A, A[::-1], A.astype(">f4")):
        made = named.run({'b"\\n': B, "a'1": given})
        assert list(made) == ["sum {0}", "class"]
        np.testing.assert_array_equal(made["sum {0}"], given + B)
        assert made["class"] == num_threads()


def test_names_that_do_not_fit_are_refused_as_at_first(named: Library) -> None:
    with pytest.raises(InputError, match="there is no input 'c'; the inputs are a'1"):
        named.run({"a'1": A, "c": B})
    with pytest.raises(InputError, match="is not given; expected a'1"):
        named.run({"a'1": A})
    with pytest.raises(InputError, match=r"""both: input 'b"\\\\n' has shape \(5,\)"""):
        named.run({"a'1": A, 'b"\\n': np.zeros(5, "float32")})
    with pytest.raises(ExecutionError, match="both: a starts with a negative"):
        named.run({"a'1": -B, 'b"\\n': A})


def test_the_number_of_threads_is_todays(both: CompiledFunction) -> None:
    before = num_threads()
    try:
        for threads in (1, 3):
            set_num_threads(threads)
            assert both(A, B)[1] == threads
    finally:
        set_num_threads(before)


def test_calls_at_once_have_memory_of_their_own(both: CompiledFunction) -> None:
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
    """y = 2 x through a workspace for each thread; refuses a negative x[0]."""
    parameters = (
        Parameter("x", "input", "float32", ("n",)),
        Parameter("y", "output", "float32", (None,)),
        Parameter("t", "output", "int64", ()),
        Parameter("n", "size"),
        Parameter("workspace", "workspace"),
        Parameter("threads", "threads"),
    )
    body = """
        float *copy = (float *)workspace + n * (threads - 1);
        if (x[0] < 0) return 1;
        for (int64_t i = 0; i < n; i++) copy[i] = x[i] * 2;
        for (int64_t i = 0; i < n; i++) y[i] = copy[i];
        *t = threads;
        return 0;"""
    signature = Signature("doubled", parameters, workspace=None, messages=("doubled: a negative",))
    return compile_function(signature, body, "out[0] = n; out[1] = n; out[2] = n * 4 * threads;")


def check_doubled(function: CompiledFunction, count: int, times: int = 1) -> None:
    for first in range(times):
        given = np.arange(first, first + count, dtype="float32")
        made, told = function(given)
        np.testing.assert_array_equal(made, given * 2)
        assert told == num_threads()


def test_open_sizes_that_come_again_get_a_short_way(doubled: CompiledFunction) -> None:
    check_doubled(doubled, 5)
    assert doubled.short_way is None
    check_doubled(doubled, 5, 4)
    first = doubled.short_way
    assert first is not None
    check_doubled(doubled, 70_000, 2)
    assert doubled.short_way is first
    check_doubled(doubled, 5, 2)
    check_doubled(doubled, 70_000, 4)
    assert doubled.short_way is not first
    check_doubled(doubled, 5, 3)


def test_sizes_that_take_turns_are_not_written_for_again_and_again(doubled: CompiledFunction) -> None:
    ways = set()
    for turn in range(40):
        check_doubled(doubled, 3 + turn % 2, 5)
        ways.add(doubled.short_way)
    assert 2 <= len(ways) <= 10


def test_a_workspace_for_other_threads_is_not_used(doubled: CompiledFunction) -> None:
    before = num_threads()
    try:
        for threads in (1, 3, 2):
            set_num_threads(threads)
            check_doubled(doubled, 1000, 5)
    finally:
        set_num_threads(before)


def test_errors_of_open_sizes_are_those_of_the_long_way(doubled: CompiledFunction) -> None:
    check_doubled(doubled, 5, 5)
    for _ in range(2):
        with pytest.raises(ExecutionError, match=r"doubled: a negative \(n is 5\)"):
            doubled(np.full(5, -1, "float32"))
    with pytest.raises(InputError, match=r"doubled: .*'x'.*int32"):
        doubled(np.zeros(5, "int32"))
    check_doubled(doubled, 5)


def test_names_of_open_sizes_keep_to_the_way_of_today(doubled: CompiledFunction) -> None:
    library = Library(doubled, {"input_names": ["in"], "output_names": ["out", "threads"]})
    for count in (4, 4, 4, 4, 4, 9, 9, 9, 9, 9, 4):
        given = np.arange(count, dtype="float32")
        np.testing.assert_array_equal(library.run({"in": given})["out"], given * 2)
