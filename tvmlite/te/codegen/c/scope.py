"""The state of a C function under construction: names, bound and captured variables, lines, braces."""

from __future__ import annotations

from collections.abc import Callable

from tvmlite.core.node import postorder
from tvmlite.te import expr as e
from tvmlite.te.codegen.c.expr import Writer, strip
from tvmlite.te.codegen.c.names import Module, unique_names
from tvmlite.te.codegen.c.text import HALVES, memory_type
from tvmlite.te.loop import ir


class Scope:
    """The lines of ``function`` so far, and the names that its expressions see."""

    def __init__(self, function: ir.Function, module: Module) -> None:
        self.function, self.module = function, module
        self.helpers = module.helpers
        self.lines: list[str] = []
        self.depth = 1
        self.names = unique_names(function, module)
        self._taken = set(self.names.values())
        self._temporaries = 0
        self._read: set[object] = set()
        self._variables: set[ir.Buffer] = set()
        self._loaded = {node.buffer for node in postorder(function.body) if isinstance(node, ir.Load)}
        self._counters: set[e.Var] = {ir.THREAD, ir.THREADS, *function.sizes}
        self._nonnegatives: set[e.Var] = {ir.THREAD, ir.THREADS, *function.sizes}
        self._bound: set[object] | None = None  # in a parallel body: the keys bound in it
        self._captured: dict[object, None] = {}

    # -- names, for expressions

    def variable(self, var: e.Var) -> str:
        """A variable as C: a 16-bit float parameter is widened, a bool parameter compared with 0."""
        if var is ir.THREAD:
            return "0" if self._bound is None else "thread"
        if var is ir.THREADS and self.module.standalone is not None:
            return "1"
        name = self._name(ir.THREADS if var is ir.THREADS else var)
        if var in self.function.params and var.dtype in HALVES:
            return f"{self.helpers.name('load', var.dtype)}({name})"
        return f"({name} != 0)" if var in self.function.params and var.dtype == "bool" else name

    def buffer(self, buffer: ir.Buffer) -> str:
        """The C name of ``buffer``; a constant one is declared as an extern array."""
        if buffer not in self.names:
            assert buffer.scope == "constant", f"buffer {buffer.name!r} is not in scope"
            self.module.declarations[f"extern const {memory_type(buffer.dtype)} {buffer.name}[];"] = None
            return buffer.name
        return self._name(buffer)

    def element(self, buffer: ir.Buffer, place: str) -> str:
        """An element of ``buffer``; a scalar buffer is a variable, as GCC may keep arrays in memory."""
        name = self.buffer(buffer)
        return name if buffer in self._variables else f"{name}[{place}]"

    def is_counter(self, var: e.Var) -> bool:
        """Whether ``var`` is a loop variable, thread number or size, whose arithmetic never overflows."""
        return var in self._counters

    def is_nonnegative(self, var: e.Var) -> bool:
        """Whether ``var`` is never negative, so that C's ``/`` and ``%`` need no correction."""
        return var in self._nonnegatives or isinstance(var, e.SizeVar)

    @property
    def index_type(self) -> str:
        """The C type of variables for which ``is_counter`` holds."""
        return self.module.index_type

    def temporary(self) -> str:
        """A new name, unused in the function."""
        while (name := f"t{self._temporaries}") in self._taken:
            self._temporaries += 1
        self._temporaries += 1
        return name

    def declare(self, text: str) -> None:
        """Add a declaration at the head of the C file, unless it is already there."""
        self.module.declarations[text] = None

    def define(self, name: str) -> None:
        """Add the definition of the technique's C function ``name`` before all kernels."""
        self.module.functions[name] = None

    def _name(self, key: object) -> str:
        self._read.add(key)
        if self._bound is not None and key not in self._bound:
            self._captured[key] = None
        return self.names[key]

    def _bind(self, key: object) -> str:
        if self._bound is not None:
            self._bound.add(key)
        return self.names[key]

    def _is_only_stored(self, key: object) -> bool:
        """Whether ``key`` is a local array that is never read, of which compilers warn."""
        return isinstance(key, ir.Buffer) and key.scope == "local" and key not in self._loaded

    # -- text

    def _emit(self, *lines: str) -> None:
        self.lines += [line if line.startswith("#") else "    " * self.depth + line for line in lines]

    def _texts(self, *exprs: e.Expr) -> list[str]:
        """Emit the declarations that ``exprs`` need, and return their texts, each to be used once."""
        writer = Writer(self)
        texts = [strip(writer.write(one)) for one in exprs]
        self._emit(*writer.lines)
        return texts

    def _in_braces(self, write: Callable[[], object]) -> None:
        """Call ``write``, and put the lines that it emits in a block if they are several statements."""
        start = len(self.lines)
        self.depth += 1
        write()
        self.depth -= 1
        if self._is_one_statement(self.lines[start:]):
            self.lines[start:] = [line if line.startswith("#") else line[4:] for line in self.lines[start:]]
        else:
            self.lines[start:start] = ["    " * self.depth + "{"]
            self.lines.append("    " * self.depth + "}")

    def _is_one_statement(self, lines: list[str]) -> bool:
        """Whether ``lines``, one level deeper, are at most one statement in each ``#if`` version."""
        inner = "    " * (self.depth + 1)
        counts = [0]
        for line in lines:
            if line.startswith("#"):
                counts.append(0)
            elif not line.startswith((inner + " ", inner + "}", inner + ")")):
                counts[-1] += 1
        return max(counts) <= 1 and (len(counts) == 1 or (counts[0] == counts[-1] == 0 and len(counts) == 4))
