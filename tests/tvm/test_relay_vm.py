"""``relay.vm``: unknown extents, and loaded executables."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tvmlite.tvm as tvm
from tvmlite.core.errors import InputError, TypeInferError, UnsupportedError
from tvmlite.tvm import relay
from tvmlite.tvm.relay import vm
from tvmlite.tvm.runtime.profiler_vm import VirtualMachineProfiler

WIDE = np.arange(6, dtype=np.float32).reshape(3, 2)
ROW = np.array([[10, 20]], np.float32)


def sum_of(*shapes: object) -> tvm.IRModule:
    x, y = (relay.var(name, shape=shape) for name, shape in zip("xy", shapes, strict=True))
    return tvm.IRModule.from_expr(relay.Function([x, y], x + y))


def test_any_extents_are_broadcast_by_the_shapes_of_each_call() -> None:
    with pytest.warns(UserWarning, match="compiled for each combination of shapes: add"):
        exe = vm.compile(sum_of((relay.Any(), 2), (3, 2)), "llvm")
    machine = vm.VirtualMachine(vm.Executable.load_exec(*exe.save()), tvm.cpu())

    np.testing.assert_array_equal(machine.run(ROW, WIDE).numpy(), ROW + WIDE)
    np.testing.assert_array_equal(machine.invoke("main", y=WIDE, x=WIDE).numpy(), WIDE + WIDE)
    with pytest.raises(TypeInferError, match=r"\(2, 2\) and \(3, 2\) do not broadcast"):
        machine.run(WIDE[:2], WIDE)
    with pytest.raises(UnsupportedError, match=r"(?s)types depend on the shapes: add.*one name"):
        exe.mod.export_library("model.so")


def test_mismatched_known_extents_are_compile_errors() -> None:
    with pytest.raises(TypeInferError, match="do not broadcast"):
        vm.compile(sum_of((2, 2), (3, 2)), "llvm")


def test_a_module_with_a_recursive_function_is_interpreted() -> None:
    n, f = relay.var("n", "int32"), relay.GlobalVar("f")
    body = relay.If(n < relay.const(1), n, n + f(n - relay.const(1)))
    mod = tvm.IRModule({f: relay.Function([n], body, relay.scalar_type("int32"))})
    mod["main"] = relay.Function([n], f(n))

    with pytest.warns(UserWarning, match="@f calls itself: the module is interpreted"):
        exe = vm.compile(mod, "llvm")

    assert vm.VirtualMachine(exe, tvm.cpu()).run(np.int32(10)).numpy() == 55
    with pytest.raises(UnsupportedError, match=r"(?s)there is no library: @f calls itself.*while_loop"):
        exe.mod.export_library("model.so")
    with pytest.raises(UnsupportedError, match="profile: there is no library: @f calls itself"):
        VirtualMachineProfiler(exe, tvm.cpu()).profile(np.int32(10))
    with pytest.raises(UnsupportedError, match="@f calls itself, which is not supported"):
        relay.build(mod, "llvm")


def test_a_loaded_module_is_run_by_a_virtual_machine(tmp_path: Path) -> None:
    path = str(tmp_path / "sum.so")
    vm.compile(sum_of((3, 2), (1, 2)), "llvm").mod.export_library(path)
    loaded = tvm.runtime.load_module(path)

    for exe in (loaded, vm.Executable(loaded)):
        found = vm.VirtualMachine(exe, tvm.cpu()).invoke("main", WIDE, ROW)
        np.testing.assert_array_equal(found.numpy(), WIDE + ROW)
    with pytest.raises(InputError, match="mod is 3, expected a compiled module"):
        vm.VirtualMachine(3, tvm.cpu())


def test_relay_backend_vm_has_the_names_of_relay_vm() -> None:
    from tvmlite.tvm.relay.backend import vm as of_backend

    assert of_backend.VMCompiler is vm.VMCompiler is relay.vm.VMCompiler
