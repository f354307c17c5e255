"""``tvm.support``, and missing names."""

from __future__ import annotations

import time

import numpy as np
import pytest

import tvmlite.tvm as tvm
from tvmlite.core.errors import InputError
from tvmlite.tvm import autotvm
from tvmlite.tvm.executors.benchmark import of_call, timed


def test_libinfo_lists_enabled_features() -> None:
    info = tvm.support.libinfo()

    assert info["USE_LLVM"] == info["USE_PROFILER"] == "ON"
    assert info["USE_CUDA"] == "OFF"


def test_a_frontend_test_module_holds_python_functions() -> None:
    module = tvm.support.FrontendTestModule()
    module["double"] = lambda x: 2 * x

    assert module["double"](4) == 8
    with pytest.raises(InputError, match="no function 'half'; there are: double"):
        module["half"]


def test_a_missing_name_is_an_error_of_hasattr_getattr_and_import() -> None:
    assert not hasattr(tvm, "nothing")
    assert not hasattr(autotvm, "nothing")
    with pytest.raises(AttributeError, match=r"tvm\.autotvm has no 'tempalte'; did you mean template\?"):
        autotvm.tempalte  # noqa: B018
    with pytest.raises(ImportError, match="cannot import name 'nothing'"):
        from tvmlite.tvm.autotvm import nothing  # noqa: F401  # pyright: ignore


def test_timed_runs_pause_for_cooldown() -> None:
    start = time.perf_counter()
    found = timed(of_call(lambda: None), 1, 4, None, cooldown_interval_ms=20, repeats_to_cooldown=2)

    assert len(found.results) == 4
    assert time.perf_counter() - start >= 0.04
    with pytest.raises(InputError, match="repeats_to_cooldown"):
        timed(of_call(lambda: None), 1, 4, None, cooldown_interval_ms=20, repeats_to_cooldown=0)


def test_same_as_compares_identity() -> None:
    one = tvm.nd.array(np.zeros(2))

    assert one.same_as(one)
    assert not one.same_as(tvm.nd.array(np.zeros(2)))
