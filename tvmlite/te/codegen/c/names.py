"""The C names of a function's parameters, variables and buffers, and the state of a whole source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tvmlite.core.abi import symbols
from tvmlite.core.abi.signature import Signature
from tvmlite.core.alike import alike
from tvmlite.core.node import postorder
from tvmlite.te import expr as e
from tvmlite.te.codegen.c.text import Helpers
from tvmlite.te.codegen.math.expand import LIBRARY
from tvmlite.te.loop import ir

_PLAIN = ("sqrt", "floor", "ceil", "trunc", "nearbyint", "fabs", "copysign", "fma")

RESERVED = sorted(
    {name + suffix for name in (*LIBRARY, *_PLAIN) for suffix in ("", "f")}
    | set("j0 j1 jn y0 y1 yn gamma signgam errno linux unix".split())
    | set("begin end thread closure given code start runs".split())
    | {symbols.PARALLEL_FOR, symbols.SWEEP, symbols.NEXT_RUN, symbols.NOW}
    | {f"{sign}int{bits}_t" for sign in ("", "u") for bits in (8, 16, 32, 64)}
)

"""Names of tvmlite's and of the C math library, which no local name may hide."""

BUILT_IN = frozenset(
    "main abs labs llabs exit abort malloc calloc free printf puts memcpy memmove memset strlen index".split()
) | frozenset(RESERVED)
"""Names that no generated function may have, as C compilers know them already."""


WEIGHTS = "weights"
"""The parameter by which a caller passes the constants of a model if they are in a separate file."""


PARALLEL = "tl_parallel"
"""The parameter by which a caller passes its function that runs loops on several threads."""


@dataclass(frozen=True)
class Standalone:
    """Options of a source for a machine without a system; all functions but the entry are static.

    - ``header``: the name of the file that declares the entry;
    - ``weights``: the name of each array of constants, by its byte offset in the blob; unused with
      ``passes_weights``, as the caller passes the blob;
    - ``comments``: the comment before each function, by its name;
    - ``calls``: the comments before the entry's calls, in order;
    - ``scalar``: the processor has no vectors, and 64-bit ints are assumed to be slow;
    - ``plain``: C functions have no versions for particular processors, which is the shortest code;
    - ``threads``: the most threads that the caller may provide (``PARALLEL``).
    """

    entry: str
    header: str
    weights: Mapping[int, str] = field(default_factory=dict)
    passes_weights: bool = False
    comments: Mapping[str, str] = field(default_factory=dict)
    calls: Sequence[str] = ()
    scalar: bool = False
    plain: bool = False
    threads: int = 1


@dataclass
class Module:
    """One C source under construction: the ``signatures`` of its functions, and all that they use."""

    signatures: Mapping[str, Signature]
    helpers: Helpers = field(default_factory=Helpers)
    used: set[str] = field(default_factory=set)
    typedefs: dict[str, None] = field(default_factory=dict)
    intrinsics: dict[str, None] = field(default_factory=dict)
    declarations: dict[str, None] = field(default_factory=dict)
    definitions: list[str] = field(default_factory=list)
    standalone: Standalone | None = None
    functions: dict[str, None] = field(default_factory=dict)

    @property
    def index_type(self) -> str:
        """The type of loop variables and of arithmetic with them."""
        return "int32_t" if self.standalone is not None and self.standalone.scalar else "int64_t"

    def head(self, name: str, parameters: Sequence[str]) -> str:
        """The first line of a definition."""
        own = self.standalone
        if own is not None and name == own.entry and own.passes_weights:
            parameters = [*parameters, f"const void *{WEIGHTS}"]
        kind = "int32_t" if self.returns(name) else "void"
        inner = "" if own is None or name == own.entry else "static "
        return f"{inner}{kind} {name}({', '.join(parameters) or 'void'}) {{"

    @property
    def parallel_type(self) -> str:
        """The C type of ``PARALLEL``; empty if there is only one thread."""
        own = self.standalone
        return f"const {own.entry}_parallel *" if own is not None and own.threads > 1 else ""

    def returns(self, name: str) -> bool:
        """Whether the function ``name`` returns a code; in a standalone source, only if it can fail."""
        one = self.standalone
        return one is None or name == one.entry or bool(self.signatures[name].messages)


def parameter_keys(function: ir.Function) -> list[object]:
    """The keys of the parameters' names in ``unique_names``, in the signature's order."""
    keys: list[object] = [*function.params, *function.sizes]
    if function.workspace is not None:
        keys += ["workspace", ir.THREADS]
    if function.dynamic_outputs is not None:
        keys += [function.dynamic_outputs, ir.CAPACITY]
    return [*keys, "profile"] if function.kernels else keys


def unique_names(function: ir.Function, module: Module) -> dict[object, str]:
    """A unique C name for each parameter, variable and buffer of ``function``."""
    wanted: dict[object, str] = {("reserved", name): name for name in (*RESERVED, *module.signatures)}
    keys = parameter_keys(function)
    for node in postorder(function.body):
        match node:
            case ir.For(var=bound) | ir.Let(var=bound) | ir.Allocate(buffer=bound) | ir.View(buffer=bound):
                keys.append(bound)
    for key in keys:
        text = key if isinstance(key, str) else key.name  # type: ignore[attr-defined]
        wanted.setdefault(key, f"v_{text}" if text.startswith("tl_") or may_be_macro(text) else text)
    return symbols.unique_names(wanted)


def may_be_macro(name: str) -> bool:
    """Whether ``name`` may be a macro of a header, such as NAN and I."""
    return name.isupper() and (len(name) > 1 or name == "I")


def reads_elsewhere(value: e.Expr, buffer: ir.Buffer, index: e.Expr) -> bool:
    """Whether ``value`` reads elements of ``buffer`` other than those at ``index``."""
    loads = (node for node in postorder(value) if isinstance(node, ir.Load) and node.buffer is buffer)
    return any(not alike(load.indices[0], index) for load in loads)
