"""The core of te, which compiles float32 computes: how much it imports, and that it is sufficient."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

from tvmlite.te.extensions import MODULES, PRIMITIVES

PACKAGE = Path(__file__).resolve().parent.parent / "tvmlite"

ROOTS = (
    "tvmlite.te.lowering.lower",
    "tvmlite.te.codegen.llvm.generator",
    "tvmlite.te.tensor.declare",
    *(
        f"tvmlite.te.loop.passes.{name}.{name}"
        for name in ("flatten", "parallel", "simplify", "storage", "unroll", "vectorize")
    ),
)
"""What the program below imports, directly or not."""

MOST_LINES = 9_388
"""The goal is 6,000: lower this with every step towards it."""

PROGRAM = """
import ctypes, sys
import llvmlite.binding as llvm
import numpy as np
from tvmlite.machine.target import Target
from tvmlite.te.codegen.llvm.generator import generate
from tvmlite.te.loop.passes.flatten import flatten
from tvmlite.te.loop.passes.parallel import parallel
from tvmlite.te.loop.passes.simplify import simplify
from tvmlite.te.loop.passes.storage import storage
from tvmlite.te.loop.passes.unroll import unroll
from tvmlite.te.loop.passes.vectorize import vectorize
from tvmlite.te.lowering.lower import lower
from tvmlite.te.schedule.schedule import create_schedule
from tvmlite.te.tensor.declare import compute, placeholder, reduce_axis
from tvmlite.te.tensor.reduction import sum

a, b = placeholder((6, 10), name="a"), placeholder((10, 32), name="b")
k = reduce_axis((0, 10), "k")
c = compute((6, 32), lambda i, j: sum(a[i, k] * b[k, j], k), name="c")
s = create_schedule(c.op)
i, j = c.op.axis
outer, inner = s[c].split(j, factor=16)
s[c].reorder(outer, i, k, inner)
s[c].vectorize(inner)
function = lower(s, [a, b, c], "matmul")
for one in (flatten, simplify, vectorize, parallel, storage, unroll, simplify):
    function = one(function)
target = Target("llvm", llvm.get_process_triple(), llvm.get_host_cpu_name())
text = generate(function, target)
loaded = sorted(name for name in sys.modules if name.split(".")[0] == "tvmlite")

llvm.initialize_native_target()
llvm.initialize_native_asmprinter()
machine = llvm.Target.from_default_triple().create_target_machine(cpu=llvm.get_host_cpu_name())
engine = llvm.create_mcjit_compiler(llvm.parse_assembly(text), machine)
engine.finalize_object()
call = ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_void_p] * 3)(engine.get_function_address("matmul"))
random = np.random.default_rng(0)
x, y = (random.standard_normal(n, np.float32) for n in ((6, 10), (10, 32)))
z = np.zeros((6, 32), np.float32)
assert call(x.ctypes.data, y.ctypes.data, z.ctypes.data) == 0
np.testing.assert_allclose(z, x @ y, rtol=1e-5, atol=1e-5)
print("\\n".join(loaded))
"""


def module_file(name: str) -> Path | None:
    """The file of the module ``name`` of tvmlite, if it is one."""
    path = PACKAGE.joinpath(*name.split(".")[1:])
    for file in (path.with_suffix(".py"), path / "__init__.py"):
        if file.is_file():
            return file
    return None


def imports_of(tree: ast.AST) -> list[str]:
    """The names imported anywhere in a module, also inside functions, except for type checking."""
    names: list[str] = []
    todo: list[ast.AST] = [tree]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            todo += node.orelse
            continue
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names += [f"{node.module}.{alias.name}" for alias in node.names]
        todo += ast.iter_child_nodes(node)
    return names


def closure(roots: tuple[str, ...]) -> dict[str, int]:
    """The modules that ``roots`` import, packages around them included, with their lines."""
    lines: dict[str, int] = {}
    todo = list(roots)
    while todo:
        name = todo.pop()
        if name.split(".")[0] != "tvmlite" or name in lines:
            continue
        if "." in name:
            todo.append(name.rpartition(".")[0])
        file = module_file(name)
        if file is not None:
            text = file.read_text(encoding="utf-8")
            lines[name] = len(text.splitlines())
            todo += imports_of(ast.parse(text))
    return lines


def test_the_core_is_small() -> None:
    found = closure(ROOTS)
    listed = "\n".join(f"{count:5} {name}" for name, count in sorted(found.items()))
    assert sum(found.values()) <= MOST_LINES, f"{sum(found.values())} lines:\n{listed}"


def test_the_core_imports_no_extension() -> None:
    assert closure(ROOTS).keys().isdisjoint({*MODULES.values(), *PRIMITIVES.values()})


def test_every_extension_exists() -> None:
    assert [m for m in (*MODULES.values(), *PRIMITIVES.values()) if module_file(m) is None] == []


def test_the_core_alone_compiles_and_runs_a_matmul() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    outside = set(done.stdout.split()) - closure(ROOTS).keys()
    assert outside == set(), f"loaded beyond the closure: {sorted(outside)}"
