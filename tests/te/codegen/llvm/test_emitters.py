"""Every node of legal loop IR has an emitter; emitters outside the core are loaded on first use."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tvmlite.core.errors import UnsupportedError
from tvmlite.te import expr as te
from tvmlite.te.codegen.llvm import emitters, generator
from tvmlite.te.codegen.llvm.emitters import emits, emitter_of
from tvmlite.te.codegen.math.expand import LIBRARY
from tvmlite.te.loop import ir

VAR, N = te.Var("i", "int64"), te.const(8, "int64")
X = ir.Buffer("x", "float32", (N,), "param")
LOAD = ir.Load(X, (VAR,))
RAMP = te.Ramp(VAR, te.const(1, "int64"), 8)


@pytest.mark.parametrize(
    "node",
    [
        LOAD,
        LOAD + LOAD,
        VAR // 3,
        te.Cast("int32", LOAD),
        RAMP,
        te.Less(RAMP, te.Broadcast(N, 8)),
        *(te.Call(name, (LOAD,), "float32") for name in ("prefetch", "address_of", "sqrt", *sorted(LIBRARY))),
        te.Call("if_then_else", (te.Less(VAR, N), LOAD, LOAD), "float32"),
        *(te.Foreign(kind, "f", (), "int32") for kind in ("llvm", "c", "packed", "bits", "tile")),
        ir.Store(X, (VAR,), LOAD),
        ir.While(te.Less(VAR, N), ir.Seq(())),
        ir.Assert(te.Less(VAR, N), "no"),
        ir.CallKernel("f", (), ()),
    ],
    ids=lambda node: str(getattr(node, "name", type(node).__name__)),
)
def test_a_node_has_one_emitter(node: te.Expr | ir.Stmt) -> None:
    assert generator  # importing it registers the emitters of statements
    assert emitter_of(node) is emitter_of(node)


def test_an_unknown_intrinsic_is_named() -> None:
    with pytest.raises(UnsupportedError, match=r"^no code for the intrinsic sleep of float32$"):
        emitter_of(te.Call("sleep", (LOAD,), "float32"))


def test_a_node_outside_legal_loop_ir_has_no_emitter() -> None:
    choice = ir.Choice(("avx9999",), ir.Seq(()), ir.Seq(()))

    with pytest.raises(AssertionError, match="Choice'> does not belong in legal loop IR"):
        emitter_of(choice)


def test_an_emitter_can_be_registered_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(emitters, "_EMITTERS", dict(emitters._EMITTERS))

    @emits("triple", operands=lambda values, node: ())
    def triple(values: object, node: te.Call) -> str:
        return "3.0"

    assert emitter_of(te.Call("triple", (LOAD,), "float32")).emit is triple


def test_an_extension_is_loaded_at_its_first_use() -> None:
    program = """
import sys
from tvmlite.te import expr as te
from tvmlite.te.codegen.llvm import generator
from tvmlite.te.codegen.llvm.emitters import emitter_of
loaded = lambda: sorted(m.rpartition(".")[2] for m in sys.modules if "llvm.extensions." in m)
x = te.Var("x", "float32")
emitter_of(x + x)
print(loaded())
emitter_of(te.Call("sqrt", (x,), "float32"))
print(loaded())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert done.stdout.splitlines() == ["[]", "['intrinsics']"]
