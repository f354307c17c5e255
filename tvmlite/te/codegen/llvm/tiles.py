"""AMX's tile registers as LLVM IR: their configuration, and the instructions on them.

The registers are named by number, so that LLVM has nothing to allocate: it keeps such calls in their order,
as they have effects. A configuration holds for a thread, so that each function which runs on one configures
the registers where it begins, and gives them back where it ends.
"""

from __future__ import annotations

from collections.abc import Sequence

from tvmlite.machine import amx
from tvmlite.te import expr as e
from tvmlite.te.codegen.llvm.text import Module, Writer
from tvmlite.te.loop import ir

_ROW_BYTES = 64


def forms_in(stmt: ir.Stmt, parallel: bool) -> list[str]:
    """The configurations that ``stmt`` uses, in order; not those of parallel loops if they are functions of
    their own (``parallel``)."""
    found: dict[str, None] = {}
    stack: list[ir.Stmt] = [stmt]
    while stack:
        node = stack.pop()
        if isinstance(node, ir.Evaluate) and isinstance(node.value, e.Foreign) and node.value.kind == "tile":
            found.setdefault(node.value.form)
        if not (parallel and isinstance(node, ir.For) and node.kind == ir.PARALLEL):
            stack.extend(c for c in reversed(list(node.children())) if isinstance(c, ir.Stmt))
    return list(found)


def is_permission(condition: e.Expr) -> bool:
    """Whether ``condition`` is that tiles may be used, after which they may be configured."""
    return isinstance(condition, e.Foreign) and condition.name == "tile.permitted"


def configure(w: Writer, form: str) -> None:
    """Configure the registers as ``form`` says, the rows of each; their contents are lost."""
    w.do(f"call void {w.module.declare('llvm.x86.ldtilecfg', 'void', 'ptr')}(ptr {_data(w.module, form)})")


def release(w: Writer) -> None:
    """Give the registers back: a thread without tiles is quicker put aside."""
    w.do(f"call void {w.module.declare('llvm.x86.tilerelease', 'void', '')}()")


def call(w: Writer, node: e.Foreign, args: Sequence[str], several: bool) -> str:
    """The call ``node``, given its arguments' values; ``several`` configurations are in use."""
    match node.name:
        case "tile.configure":
            if several:
                configure(w, node.form)
        case "tile.permitted":
            return w.emit(f"call i1 {_permitted(w.module)}()")
        case "tile.zero":
            _do(w, "tilezero", [f"i8 {args[0]}"])
        case "tile.load":
            _do(w, "tileloadd64", [f"i8 {args[0]}", f"ptr {args[1]}", f"i64 {args[2]}"])
        case "tile.store":
            _do(w, "tilestored64", [f"i8 {args[0]}", f"ptr {args[1]}", f"i64 {args[2]}"])
        case "tile.dot_bfloat16":
            _do(w, "tdpbf16ps", [f"i8 {one}" for one in args])
        case _:
            raise AssertionError(f"no code for {node.name}")
    return "0"


def _do(w: Writer, name: str, arguments: Sequence[str]) -> None:
    kinds = (one.split()[0] for one in arguments)
    parameters = ", ".join("i8 immarg" if kind == "i8" else kind for kind in kinds)
    target = w.module.declare(f"llvm.x86.{name}", "void", parameters)
    w.do(f"call void {target}({', '.join(arguments)})")


def _data(module: Module, form: str) -> str:
    """The symbol of the 64 bytes of palette 1 in which each register has the rows that ``form`` names."""
    rows = [int(one) for one in form.split(",")]
    block = bytearray(64)
    block[0] = 1
    for register, high in enumerate(rows):
        block[16 + 2 * register] = _ROW_BYTES
        block[48 + register] = high
    name = f"@tiles.{'.'.join(map(str, rows))}"
    text = "".join(f"\\{byte:02X}" for byte in block)
    return module.define(name, f'{name} = private unnamed_addr constant [64 x i8] c"{text}", align 64')


def _permitted(module: Module) -> str:
    """A function that asks the system, once, for the permission to use tiles; whether it was given."""
    name = "@tiles.permitted"
    if "linux" not in module.target.triple:  # others ask for nothing
        return module.define(name, f"define internal i1 {name}() {{\n  ret i1 true\n}}")
    system = module.declare("syscall", "i64", "i64, ...")
    numbers = f"i64 {amx.ARCH_PRCTL}, i64 {amx.REQUEST}, i64 {amx.TILE_DATA}"
    return module.define(
        name,
        f"""@tiles.known = internal global i8 0
define internal i1 {name}() noinline {{
  %known = load atomic i8, ptr @tiles.known monotonic, align 1
  %before = icmp ne i8 %known, 0
  br i1 %before, label %fine, label %ask
ask:
  %code = call i64 (i64, ...) {system}({numbers})
  %given = icmp eq i64 %code, 0
  br i1 %given, label %keep, label %refused
keep:
  store atomic i8 1, ptr @tiles.known monotonic, align 1
  br label %fine
fine:
  ret i1 true
refused:
  ret i1 false
}}""",
    )
