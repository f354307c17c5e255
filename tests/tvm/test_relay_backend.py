"""``relay.backend``: executors and runtimes by name, with options; attributes of a compiled module."""

from __future__ import annotations

import pytest

import tvmlite.tvm as tvm
from tvmlite.core.errors import UnsupportedError
from tvmlite.tvm import relay
from tvmlite.tvm.relay.backend import Executor, Runtime


def test_options_of_executors_and_runtimes_are_looked_up() -> None:
    aot = Executor("aot", {"interface-api": "c"})

    assert aot["interface-api"] == "c"
    assert "interface-api" in aot
    assert "woof" not in aot
    assert not Executor("graph")["link-params"]
    assert Executor("aot")["link-params"]
    assert Runtime("cpp", {"system-lib": True})["system-lib"]
    assert "system-lib" not in Runtime("cpp")
    assert Executor("graph") == Executor("graph") != aot


def test_names_and_options_are_listed() -> None:
    assert (Executor.list_registered(), Runtime.list_registered()) == (["graph", "aot"], ["cpp", "crt"])
    assert Executor.list_registered_options("graph") == {"link-params": "IntImm"}
    assert Executor.list_registered_options("aot")["interface-api"] == "runtime.String"


@pytest.mark.parametrize(
    ("kind", "given", "text"),
    [
        (Executor, ("woof",), 'Executor "woof" is not defined; there are: graph, aot'),
        (Executor, ("graph", {"woof": 1}), 'Attribute "woof" is not available on this Executor'),
        (Executor, ("aot", {"interface-api": True}), 'type "runtime.String" but instead found "IntImm"'),
        (Runtime, ("cpp", {"system-lib": "x"}), 'type "IntImm" but instead found "runtime.String"'),
    ],
)
def test_errors_of_executors_and_runtimes_name_the_options(
    kind: type, given: tuple[object, ...], text: str
) -> None:
    with pytest.raises(UnsupportedError, match=text):
        kind(*given)


def test_missing_attributes_of_a_compiled_module_are_named() -> None:
    lib = relay.build(tvm.IRModule.from_expr(relay.Function([], relay.const(1))), "llvm")

    with pytest.raises(UnsupportedError, match=r"(?s)function_metadata.*lib.lib.report"):
        _ = lib.function_metadata
    with pytest.raises(UnsupportedError, match=r"relay.backend._backend is not in tvmlite"):
        relay.backend._backend.GraphPlanMemory(lib)
    assert not hasattr(lib, "no_such_name")
