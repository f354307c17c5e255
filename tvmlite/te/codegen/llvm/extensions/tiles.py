"""Generation of the configuration of AMX tile registers and of the instructions on them.

The registers are given by number, so that LLVM does not allocate them; it keeps these calls in order, as they
have side effects. A configuration applies to one thread, so that each function that a thread runs configures
the registers at its beginning and releases them at its end.
"""

from __future__ import annotations

from tvmlite.machine import amx
from tvmlite.machine.triple import Triple
from tvmlite.te import expr as e
from tvmlite.te.codegen.llvm.emitters import emits
from tvmlite.te.codegen.llvm.expr import Expressions
from tvmlite.te.codegen.llvm.generator import Body
from tvmlite.te.codegen.llvm.text import Module, Writer
from tvmlite.te.loop import ir

_ROW_BYTES = 64


class TileBody(Body):
    """Generates the statements of a function that uses tile registers."""

    def begin(self, stmt: ir.Stmt) -> None:
        """Begin the function; a parallel body configures the tile registers of its thread."""
        super().begin(stmt)
        self._configurations = _configurations_in(stmt, outlines=not self.is_parallel)
        if self.is_parallel:
            self._configure()

    def finish(self, header: str) -> None:
        """Release the tile registers if the function uses any, then end it."""
        if self._configurations:  # a thread without tile data switches context faster
            self.w.do(f"call void {self.w.module.declare('llvm.x86.tilerelease', 'void', '')}()")
        super().finish(header)

    def inner(self, stmt: ir.Stmt) -> None:
        """Generate a statement, and configure the tile registers again if necessary."""
        super().inner(stmt)
        match stmt:
            case ir.Assert(e.Foreign(name="tile.permitted")):
                self._configure()
            case ir.For(kind=ir.PARALLEL) if not self.is_parallel and _configurations_in(
                stmt.body, outlines=False
            ):
                self._configure()  # the loop's body has released them on this thread
            case ir.Evaluate(e.Foreign(name="tile.configure", form=form)) if len(self._configurations) > 1:
                _configure(self.w, form)

    def _configure(self) -> None:
        """Configure the tile registers if the function has a single configuration; if it has several, each
        ``tile.configure`` does it."""
        if len(self._configurations) == 1:
            _configure(self.w, self._configurations[0])


def _configurations_in(stmt: ir.Stmt, outlines: bool) -> list[str]:
    """The configurations that ``stmt`` uses, in order; without those of parallel loops if their bodies are
    outlined (``outlines``)."""
    found: dict[str, None] = {}
    stack: list[ir.Stmt] = [stmt]
    while stack:
        node = stack.pop()
        if isinstance(node, ir.Evaluate) and isinstance(node.value, e.Foreign) and node.value.kind == "tile":
            found.setdefault(node.value.form)
        if not (outlines and isinstance(node, ir.For) and node.kind == ir.PARALLEL):
            stack.extend(c for c in reversed(list(node.children())) if isinstance(c, ir.Stmt))
    return list(found)


def _configure(w: Writer, form: str) -> None:
    """Configure the registers with ``form``, the numbers of rows of each; their contents are lost."""
    w.do(f"call void {w.module.declare('llvm.x86.ldtilecfg', 'void', 'ptr')}(ptr {_data(w.module, form)})")


_INSTRUCTIONS = {
    "tile.zero": ("tilezero", ("i8",)),
    "tile.load": ("tileloadd64", ("i8", "ptr", "i64")),
    "tile.store": ("tilestored64", ("i8", "ptr", "i64")),
    "tile.dot_bfloat16": ("tdpbf16ps", ("i8", "i8", "i8")),
    "tile.dot_uint8_int8": ("tdpbusd", ("i8", "i8", "i8")),
    "tile.dot_int8_int8": ("tdpbssd", ("i8", "i8", "i8")),
}


@emits("tile", reads=lambda node: None)
def _tile(values: Expressions, node: e.Foreign) -> str:
    w = values.w
    if node.name == "tile.permitted":
        return w.emit(f"call i1 {_permitted(w.module)}()")
    if node.name != "tile.configure":  # ``TileBody`` generates that
        name, kinds = _INSTRUCTIONS[node.name]
        parameters = ", ".join("i8 immarg" if kind == "i8" else kind for kind in kinds)
        target = w.module.declare(f"llvm.x86.{name}", "void", parameters)
        given = (f"{kind} {values.known[one]}" for kind, one in zip(kinds, node.args, strict=True))
        w.do(f"call void {target}({', '.join(given)})")
    return "0"


def _data(module: Module, form: str) -> str:
    """The symbol of the 64-byte configuration (palette 1) in which ``form`` gives each register's rows."""
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
    """The symbol of a function that asks the system, once, to permit tiles, and returns whether it does."""
    name = "@tiles.permitted"
    if Triple.parse(module.target.triple).system != "linux":  # others ask for nothing
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
