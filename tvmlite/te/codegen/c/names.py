"""The C names of a function's parameters, variables and buffers, and what a whole source has in common."""

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

"""Names of ours and of the C library's mathematics, which no local name may hide."""

BUILT_IN = frozenset(
    "main abs labs llabs exit abort malloc calloc free printf puts memcpy memmove memset strlen index".split()
) | frozenset(RESERVED)
"""Names that a function of ours may not have: C compilers know them already."""


WEIGHTS = "weights"
"""The parameter by which a caller passes the constants of a model, where they are in a file of their own."""


PARALLEL = "tl_parallel"
"""The parameter by which a caller passes what runs loops on several threads."""


@dataclass(frozen=True)
class Standalone:
    """What a source for a machine without a system has of its own: functions are static, but for the entry.

    - ``header``: the name of the file that declares the entry;
    - ``weights``: the name of each array of constants, by its first byte in the blob; none if
      ``passes_weights``: the caller passes the blob;
    - ``comments``: what stands before a function, by its name;
    - ``calls``: what stands before the entry's calls, in order;
    - ``scalar``: the machine has no vectors, and is taken to be slow with numbers of 64 bits;
    - ``plain``: C functions are in plain C only, which is the shortest;
    - ``threads``: how many threads there are at most, which the caller brings (``PARALLEL``).
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
    """One C source in the making: ``signatures`` of its functions, and what they turn out to need."""

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
        """The type of ``PARALLEL``; empty where there is one thread."""
        own = self.standalone
        return f"const {own.entry}_parallel *" if own is not None and own.threads > 1 else ""

    def returns(self, name: str) -> bool:
        """Whether the function ``name`` gives a code: of a source of its own, only where it can fail."""
        one = self.standalone
        return one is None or name == one.entry or bool(self.signatures[name].messages)


def parameter_keys(function: ir.Function) -> list[object]:
    """What names the parameters, in the signature's order."""
    keys: list[object] = [*function.params, *function.sizes]
    if function.workspace is not None:
        keys += ["workspace", ir.THREADS]
    if function.dynamic_outputs is not None:
        keys += [function.dynamic_outputs, ir.CAPACITY]
    return [*keys, "profile"] if function.kernels else keys


def unique_names(function: ir.Function, module: Module) -> dict[object, str]:
    """A C name for each parameter, variable and buffer of ``function``, each of its own."""
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
    """Whether ``name`` may be one of a header's macros, as NAN and I."""
    return name.isupper() and (len(name) > 1 or name == "I")


def reads_elsewhere(value: e.Expr, buffer: ir.Buffer, index: e.Expr) -> bool:
    """Whether ``value`` reads elements of ``buffer`` other than those at ``index``."""
    loads = (node for node in postorder(value) if isinstance(node, ir.Load) and node.buffer is buffer)
    return any(not alike(load.indices[0], index) for load in loads)
