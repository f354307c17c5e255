"""Outputs in the memory of an input: right results, nothing copied, and what cannot be so is refused."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import tvmlite
from tvmlite import relay, runtime
from tvmlite.core.errors import InputError, VerifyError
from tvmlite.machine.target import Target
from tvmlite.relay import passes
from tvmlite.relay.entry.entry import build_entry
from tvmlite.relay.ir.interpret import interpret
from tvmlite.relay.ir.nodes import Function, Module, Tuple
from tvmlite.relay.ir.op import make
from tvmlite.relay.passes.update_in_place import update_in_place


def step(length: int = 8, kind: str = "tensor_scatter", rows: int = 1) -> Module:
    """A cache ``(1, 2, length, 4)`` with new rows, and the sum of what it then holds."""
    past = relay.var("past", shape=(1, 2, length, 4))
    new, at = relay.var("new", shape=(1, 2, rows, 4)), relay.var("at", shape=(1,), dtype="int64")
    if kind == "scatter_nd":
        at = relay.var("at", shape=(3, 1), dtype="int64")
        new = relay.var("new", shape=(1, 4))
        present = make("scatter_nd", past, at, new)
    else:
        present = make(kind, past, new, at, axis=2)
    body = Tuple((relay.sum(present, axis=(0, 1, 2)), present))
    return Module({"main": Function((past, new, at), body)}, ("total", "present"))


def arrays(length: int = 8) -> list[np.ndarray]:
    rng = np.random.default_rng(length)
    cache = rng.standard_normal((1, 2, length, 4)).astype("float32")
    return [cache, rng.standard_normal((1, 2, 1, 4)).astype("float32"), np.array([3], "int64")]


@pytest.mark.parametrize("target", ["native", "c"])
def test_the_cache_given_is_the_cache_that_comes_back(target: str) -> None:
    lib = tvmlite.compile(update_in_place(step(), {"present": "past"}), target)
    cache, new, at = arrays()
    expected = cache.copy()
    for place in (3, 4, 7, -1, 8):
        at[0] = place
        if 0 <= place < 8:
            expected[:, :, place] = new[:, :, 0]
        total, present = lib(cache, new, at)
        assert present is cache
        np.testing.assert_array_equal(cache, expected)
        np.testing.assert_allclose(total, expected.sum((0, 1, 2)), rtol=1e-5)


def test_scatter_nd_replaces_in_place() -> None:
    module = update_in_place(step(kind="scatter_nd"), {"present": "past"})
    cache, (_, new, _) = arrays()[0], arrays()
    expected = cache.copy()
    expected[0, 1, 5] = new[0, 0, 0]

    _, present = tvmlite.compile(module)(cache, new[0, 0], np.array([[0], [1], [5]]))

    assert present is cache
    np.testing.assert_array_equal(cache, expected)


def test_meaning_is_kept_and_the_library_says_it(tmp_path: Path) -> None:
    module, given = step(), arrays()
    made = update_in_place(module, {"present": "past"})
    for a, b in zip(interpret(made, given), interpret(module, given), strict=True):
        np.testing.assert_array_equal(a, b)

    lib = tvmlite.compile(made)
    lib.export(tmp_path / "step.so")
    loaded = runtime.load(tmp_path / "step.so")

    assert loaded.signature == lib.signature
    assert [p.in_place for p in loaded.signature.outputs] == ["", "past"]
    assert loaded(*given)[1] is given[0]


def test_time_does_not_depend_on_what_stays() -> None:
    """A cache of 32 MB is updated in less time than a tenth of copying it takes."""
    past = relay.var("past", shape=(1, 2, 1 << 20, 4))
    new, at = relay.var("new", shape=(1, 2, 1, 4)), relay.var("at", shape=(1,), dtype="int64")
    present = make("tensor_scatter", past, new, at, axis=2)
    module = Module({"main": Function((past, new, at), present)}, ("present",))
    lib = tvmlite.compile(update_in_place(module, {"present": "past"}))
    given = arrays(1 << 20)

    def least(run: Callable[[], object]) -> float:
        times = []
        for _ in range(5):
            start = time.perf_counter()
            run()
            times.append(time.perf_counter() - start)
        return min(times)

    lib(*given)
    assert least(lambda: lib(*given)) < 0.1 * least(given[0].copy)


def test_arrays_that_cannot_be_updated_are_refused() -> None:
    lib = tvmlite.compile(update_in_place(step(), {"present": "past"}))
    cache, new, at = arrays()
    with pytest.raises(InputError, match="input 'past' is updated in place, expected a dense, aligned array"):
        lib(np.zeros((1, 2, 16, 4), "float32")[:, :, ::2], new, at)
    cache.flags.writeable = False
    with pytest.raises(InputError, match="'present' is read-only"):
        lib(cache, new, at)
    cache.flags.writeable = True
    total = np.zeros(4, "float32")
    with pytest.raises(
        InputError, match="output 'present' is input 'past' updated in place, expected the same"
    ):
        lib.function(cache, new, at, total, cache.copy())
    lib.function(cache, new, at, total, cache)
    np.testing.assert_allclose(total, cache.sum((0, 1, 2)), rtol=1e-5)
    with pytest.raises(InputError, match="'past' overlaps 'new'"):
        lib(cache, cache.reshape(-1)[:8].reshape(1, 2, 1, 4), at)


def test_outputs_that_are_no_such_update_are_refused() -> None:
    module = step()
    with pytest.raises(InputError, match="there is no output 'y'; there are total, present"):
        update_in_place(module, {"y": "past"})
    with pytest.raises(InputError, match="there is no input 'x'; there are past, new, at"):
        update_in_place(module, {"present": "x"})
    with pytest.raises(InputError, match="output 'total' is a sum, expected a tensor_scatter"):
        update_in_place(module, {"total": "past"})
    past, new, at = module.main.params
    present = make("tensor_scatter", past, new, at, axis=2)
    twice = Module({"main": Function((past, new, at), Tuple((relay.exp(past), present)))}, ("y", "present"))
    with pytest.raises(InputError, match="input 'past' is read by more than output 'present'"):
        update_in_place(twice, {"present": "past"})


def test_a_mark_without_a_declaration_is_an_error() -> None:
    made = update_in_place(step(), {"present": "past"})
    fused = passes.pipeline(3, Target.parse("native")).run(made)
    undeclared = dataclasses.replace(fused, attrs=())
    assert "in_place=0" in str(undeclared)

    with pytest.raises(
        VerifyError, match="would overwrite input 'past', but no output is declared to be in its memory"
    ):
        build_entry(undeclared, "model", {})
