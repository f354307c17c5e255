"""``tvm.support``, and names that are not there."""

from __future__ import annotations

import time

import numpy as np
import pytest

import tvmlite.tvm as tvm
from tvmlite.core.errors import InputError
from tvmlite.tvm import autotvm
from tvmlite.tvm.executors.benchmark import of_call, timed


def test_a_build_says_what_it_has() -> None:
    info = tvm.support.libinfo()

    assert info["USE_LLVM"] == info["USE_PROFILER"] == "ON"
    assert info["USE_CUDA"] == "OFF"


def test_functions_of_python_stand_in_for_a_module() -> None:
    module = tvm.support.FrontendTestModule()
    module["double"] = lambda x: 2 * x

    assert module["double"](4) == 8
    with pytest.raises(InputError, match="no function 'half'; there are: double"):
        module["half"]


def test_a_name_that_is_not_there_is_an_error_for_all_who_ask() -> None:
    assert not hasattr(tvm, "nothing")
    assert not hasattr(autotvm, "nothing")
    with pytest.raises(AttributeError, match=r"tvm\.autotvm has no 'tempalte'; did you mean template\?"):
        autotvm.tempalte  # noqa: B018
    with pytest.raises(ImportError, match="cannot import name 'nothing'"):
        from tvmlite.tvm.autotvm import nothing  # noqa: F401  # pyright: ignore


def test_runs_pause_for_the_processor_to_cool() -> None:
    start = time.perf_counter()
    found = timed(of_call(lambda: None), 1, 4, None, cooldown_interval_ms=20, repeats_to_cooldown=2)

    assert len(found.results) == 4
    assert time.perf_counter() - start >= 0.04
    with pytest.raises(InputError, match="repeats_to_cooldown"):
        timed(of_call(lambda: None), 1, 4, None, cooldown_interval_ms=20, repeats_to_cooldown=0)


def test_an_array_is_the_same_as_itself_only() -> None:
    one = tvm.nd.array(np.zeros(2))

    assert one.same_as(one)
    assert not one.same_as(tvm.nd.array(np.zeros(2)))
