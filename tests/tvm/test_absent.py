"""Every module and name of TVM's tables exists, or is an error that names it and says what to use."""

from __future__ import annotations

import importlib
import inspect
import subprocess
import sys
from functools import partial
from types import ModuleType

import pytest

import tvmlite.tvm as tvm
from tvmlite.core.errors import UnsupportedError
from tvmlite.tvm import absent
from tvmlite.tvm.absent.older import OLDER

PROGRAM = """
import sys
import tvmlite.tvm
sys.modules["tvm"] = tvmlite.tvm
import tvm.arith.bound, tvm.relay.transform.transform, tvm.relay.function
from tvm.auto_scheduler.cost_model.xgb_model import XGBModel
from tvm.contrib import graph_runtime
from tvm.relay.frontend.tensorflow import from_tensorflow
from tvm.relay.op.strategy.generic import wrap_compute_conv2d
from tvm.runtime.ndarray import empty
from tvm.tir.expr import IntImm
assert tvm.arith.bound is tvm.arith and tvm.arith.__spec__.name == "tvmlite.tvm.arith"
assert graph_runtime is tvm.contrib.graph_executor and IntImm is tvm.tir.IntImm
assert XGBModel is tvm.auto_scheduler.XGBModel and empty is tvm.nd.empty
assert tvm.relay.function.Function is tvm.relay.Function
function = tvm.topi.nn.conv2d
import tvm.topi.nn.conv2d
from tvm.topi.nn.conv2d import conv2d_nchw
assert conv2d_nchw is tvm.topi.nn.conv2d_nchw
assert tvm.topi.nn.conv2d is function
"""


def test_aliased_modules_are_the_modules_they_name() -> None:
    subprocess.run([sys.executable, "-c", PROGRAM], check=True)


def test_modules_of_the_table_are_importable_and_keep_functions() -> None:
    for name, place in absent.ANOTHER.items():
        assert isinstance(importlib.import_module(f"tvmlite.tvm.{place}"), ModuleType)
        package, _, last = f"tvmlite.tvm.{name}".rpartition(".")
        owner = importlib.import_module(package)
        known = last in dir(owner) or name in absent.NAMES
        before = getattr(owner, last) if known else None

        assert isinstance(importlib.import_module(f"tvmlite.tvm.{name}"), ModuleType)
        if known and not isinstance(before, ModuleType):
            assert type(getattr(owner, last)) is type(before)


def test_error_of_an_absent_module_says_what_to_use() -> None:
    for name, hint in absent.ABSENT.items():
        found = importlib.import_module(f"tvmlite.tvm.{name}")
        if hasattr(found, "absent_because"):  # else it has come to be there
            with pytest.raises(UnsupportedError) as error:
                found.anything()
            assert error.value.message == f"tvm.{name}.anything is not in tvmlite"
            assert error.value.hint == hint


def test_absent_names_have_a_signature() -> None:
    assert str(inspect.signature(tvm.relay.Match)) == "(*args, **attrs)"
    with pytest.raises(UnsupportedError, match="Match is not in tvmlite"):
        tvm.relay.Match._anything  # noqa: B018


def test_error_of_an_absent_name_says_what_to_use() -> None:
    refused = 0
    for name, hint in absent.NAMES.items():
        module, _, last = f"tvmlite.tvm.{name}".rpartition(".")
        found = getattr(importlib.import_module(module), last)
        if isinstance(found, absent.Missing):  # else it has come to be there
            with pytest.raises(UnsupportedError) as error:
                found()
            assert error.value.message == f"tvm.{name} is not in tvmlite"
            assert error.value.hint == hint
            refused += 1
    assert refused > len(absent.NAMES) / 2


def test_error_of_a_name_of_an_older_tvm_says_where_it_is_now() -> None:
    for name, place in OLDER.items():
        assert not hasattr(tvm, name)
        with pytest.raises(
            absent.MissingName, match=f"tvm.{name} is not in tvmlite, nor in TVM since 0.7"
        ) as error:
            getattr(tvm, name)
        assert error.value.hint == place
        if place.endswith(f".{name}"):
            owner = importlib.import_module(f"tvmlite.{place.rpartition('.')[0]}")
            assert not hasattr(getattr(owner, name), "absent_because") or name == "trace"


def test_modules_of_cpp_functions_can_be_imported_but_not_used() -> None:
    for name in ("_ffi_api", "runtime._ffi_api", "relay.op._make"):
        found = importlib.import_module(f"tvmlite.tvm.{name}")
        with pytest.raises(UnsupportedError, match=f"tvm.{name}.anything is not in tvmlite") as error:
            found.anything()
        assert error.value.hint == "objects are Python's own; tvm.register_func registers functions"


def test_a_module_in_tvmscript_is_refused_when_it_is_used() -> None:
    module = tvm.script.ir_module(type("Module", (), {}))

    compared = partial(tvm.ir.assert_structural_equal, tvm.tir.Evaluate(0))
    for use in (tvm.lower, tvm.build, len, list, tvm.script.from_source, compared):
        with pytest.raises(UnsupportedError, match="TVMScript is not in tvmlite"):
            use(module)


def test_queries_for_devices_return_false() -> None:
    from tvmlite.tvm.contrib.nvcc import have_fp16
    from tvmlite.tvm.relay.op.contrib.ethosn import ethosn_available

    from tvmlite.tvm.contrib import cudnn

    assert (have_fp16("7.0"), ethosn_available(), cudnn.exists()) == (False, False, False)


@pytest.mark.parametrize(
    ("owner", "name", "near"),
    [
        (tvm, "autotmv", "autotvm"),
        (tvm.te, "plceholder", "placeholder"),
        (tvm.autotvm.tuner, "XGBTunr", "XGBTuner"),
        (tvm.contrib, "graph_exectuor", "graph_executor"),
        (tvm.relay.transform, "FoldConstants", "FoldConstant"),
        (tvm.relay.op, "nn.conv2dd", "nn.conv2d"),
        (tvm.arith, "Analyser", "Analyzer"),
    ],
)
def test_error_of_a_mistyped_name_suggests_similar_ones(owner: ModuleType, name: str, near: str) -> None:
    with pytest.raises(AttributeError, match=rf"has no '{name}'; did you mean .*{near}") as error:
        getattr(owner, name)
    assert not isinstance(error.value, UnsupportedError)
