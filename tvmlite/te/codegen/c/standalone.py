"""Generation of a model as one C99 source and one header for machines without an operating system."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tvmlite.core import dtype as dtypes
from tvmlite.core.abi import symbols
from tvmlite.core.abi.signature import Parameter, Signature
from tvmlite.core.errors import UnsupportedError
from tvmlite.core.node import postorder
from tvmlite.machine.target import Target
from tvmlite.te import expr as e
from tvmlite.te.codegen.c.generator import comment, generate, meaning
from tvmlite.te.codegen.c.names import PARALLEL, RESERVED, WEIGHTS, Standalone, may_be_macro
from tvmlite.te.codegen.c.text import float_literal, int_literal, memory_type
from tvmlite.te.loop import ir
from tvmlite.te.loop.signature import signature_of

_BYTES, _OVER = "arena_bytes", "arena_over"
"""Local names of the function with a static arena."""

MOST_BYTES = 2**31 - 1
"""The largest arena in bytes, as offsets in it are 32-bit ints."""

ROW = 16
"""The elements in a row of weights, as source checkers are very slow on lists of thousands of elements."""

_LINE = 100
"""The most characters of a line of numbers."""


@dataclass(frozen=True)
class Weight:
    """A constant array: its C ``name``, its byte ``offset`` in the model's blob, a comment ``about`` it, and
    its ``elements`` in memory order, of ``dtype``."""

    name: str
    offset: int
    about: str
    dtype: str
    elements: np.ndarray


def own_signature(entry: ir.Function, weights: int = 0) -> Signature:
    """The signature of the ``entry`` of a standalone source, without threads or profile, with a pointer to
    ``weights`` bytes if not 0. Raises UnsupportedError if the model needs an operating system."""
    _require_no_system(entry)
    signature = signature_of(replace(entry, kernels=()))
    if signature.of_kind("dynamic_outputs"):
        raise UnsupportedError(
            "C for a machine without a system has one arena of known size, and extents in the model "
            "come from data"
        )
    if not signature.is_static or signature.of_kind("size"):
        raise UnsupportedError(
            "C for a machine without a system has one arena of known size, and the model has open dimensions",
            hint="give them values: shape={...}, or --input-shapes",
        )
    if (signature.workspace or 0) > MOST_BYTES:
        raise UnsupportedError(
            f"C for a machine without a system has an arena of at most {MOST_BYTES:,} bytes, "
            f"the model needs {signature.workspace:,}"
        )
    return replace(signature, parameters=_named(signature), constants=weights)


def _named(signature: Signature) -> tuple[Parameter, ...]:
    """The parameters with names that collide with none in the header or in headers included before it."""
    others = (*RESERVED, signature.name, runner(signature), WEIGHTS, PARALLEL, _OVER, _BYTES)
    wanted: dict[object, str] = {("reserved", name): name for name in others}
    for p in signature.parameters:
        wanted[p] = f"v_{p.name}" if may_be_macro(p.name) else p.name
    names = symbols.unique_names(wanted)
    return tuple(replace(p, name=names[p]) for p in signature.parameters)


def source(
    kernels: Sequence[ir.Function],
    entry: ir.Function,
    target: Target,
    header_name: str,
    weights: Sequence[Weight],
    comments: Mapping[str, str],
    calls: Sequence[str],
    passes_weights: bool = False,
    plain: bool = False,
) -> Iterator[str]:
    """The source, in pieces: legal ``kernels``, each with its comment, and the ``entry``, whose calls have
    the comments ``calls``. It defines ``weights`` or, with ``passes_weights``, the caller passes them. With
    ``plain`` it has no code for particular processors."""
    entry = replace(entry, kernels=())
    names = {one.offset: one.name for one in weights}
    own = Standalone(
        entry.name,
        header_name,
        names,
        passes_weights,
        comments,
        calls,
        target.scalar,
        plain,
        target.num_cores,
    )
    mark = f"/* {entry.name}: weights */"
    text = generate([*kernels, entry], target, own, [mark])
    before, after = text.split(mark, 1)
    yield before.rstrip() + "\n"
    for one in () if passes_weights else weights:
        yield from _definition(one)
    yield "\n" + after.lstrip()


def header(signature: Signature, alignment: int, threads: int = 1) -> str:
    """The header for C and C++: the entry, the bytes of its arena, and a function with a static arena. For
    several ``threads`` it also has the type by which the caller provides them."""
    upper = signature.name.upper()
    guard = f"TVMLITE_{upper}_H"
    size = signature.workspace or 0
    parts = [
        f"#ifndef {guard}\n#define {guard}\n\n#include <stdint.h>",
        '#ifdef __cplusplus\nextern "C" {\n#endif',
        comment(["The arena's size and alignment in bytes."])
        + f"\n#define {upper}_ARENA_BYTES {size}\n#define {upper}_ARENA_ALIGNMENT {alignment}",
    ]
    if signature.constants:
        parts.append(
            comment(["The bytes of the file of weights, at an address that is a multiple of 64."])
            + f"\n#define {upper}_WEIGHTS_BYTES {signature.constants}"
        )
    if threads > 1:
        parts.append(_parallel(signature.name, threads))
    parts.append(comment(_description(signature, threads)) + f"\n{prototype(signature, threads)};")
    parts.append(_with_own_arena(signature, alignment, threads))
    parts.append("#ifdef __cplusplus\n}\n#endif\n\n#endif")
    return "\n\n".join(parts) + "\n"


def prototype(signature: Signature, threads: int = 1) -> str:
    """The entry's prototype, without a semicolon."""
    passed = ", ".join(f"{kind}{name}" for kind, name in _passed(signature, threads))
    return f"int32_t {signature.name}({passed})"


def _parallel(name: str, threads: int) -> str:
    """The type by which a caller provides a function that runs loops on several threads."""
    about = [
        "What runs loops on several threads: parallel_for(context, body, closure, extent) calls",
        "body(closure, begin, end, thread) for parts that make up 0 to extent, each once, and returns",
        f"when all are done. thread is from 0 to {threads - 1}; calls at the same time have different ones.",
        "The calling thread may take parts as well.",
    ]
    return f"""{comment(about)}
typedef struct {{
    void (*parallel_for)(
        void *context, void (*body)(void *closure, int32_t begin, int32_t end, int32_t thread),
        void *closure, int32_t extent);
    void *context;
}} {name}_parallel;"""


def runner(signature: Signature) -> str:
    """The name of the header's function with a static arena."""
    return f"{signature.name}_run"


def _passed(signature: Signature, threads: int = 1) -> list[tuple[str, str]]:
    """The C types and names of the parameters."""
    passed = [(p.c_type, p.name) for p in signature.c_parameters if p.kind != "threads"]
    passed += [(f"const {signature.name}_parallel *", PARALLEL)] if threads > 1 else []
    return [*passed, ("const void *", WEIGHTS)] if signature.constants else passed


def _description(signature: Signature, threads: int = 1) -> list[str]:
    lines = [f"{signature.name}: returns 0, or a positive code.", ""]
    lines += [f"{p.name}: {_meaning(p, signature)}" for p in signature.parameters if p.kind != "threads"]
    lines += [f"{PARALLEL}: what runs loops on several threads, or null for one"] if threads > 1 else []
    lines += [f"{WEIGHTS}: the contents of the file of weights"] if signature.constants else []
    lines += [""] if signature.messages else []
    lines += [f"{code}: {message}" for code, message in enumerate(signature.messages, 1)]
    lines += ["", "Arrays are dense and row-major; no output overlaps another array. Calls with arenas of"]
    return [*lines, "their own may run at the same time."]


def _meaning(parameter: Parameter, signature: Signature) -> str:
    if parameter.kind == "workspace":
        return f"the arena: {signature.name.upper()}_ARENA_BYTES bytes of scratch memory, not cleared"
    return meaning(parameter, signature)


def _with_own_arena(signature: Signature, alignment: int, threads: int = 1) -> str:
    """The header's function with a static arena: the linker accounts for it, and no stack can overflow."""
    upper = signature.name.upper()
    passed = _passed(signature, threads)
    arena = next((p.name for p in signature.parameters if p.kind == "workspace"), "")
    given = [(kind, name) for kind, name in passed if name not in (arena, PARALLEL)]
    about = comment(
        [
            f"As {signature.name}, with a static arena of the including file: for one call at a time"
            f"{', on one thread' if threads > 1 else ''}.",
        ]
    )
    parameters = ", ".join(f"{kind}{name}" for kind, name in given)
    lines = [about, f"static inline int32_t {runner(signature)}({parameters}) {{"]
    arguments = ["0" if name == PARALLEL else name for _, name in passed]
    if arena:
        lines += [
            f"    static unsigned char {_BYTES}[{upper}_ARENA_BYTES + {upper}_ARENA_ALIGNMENT];",
            f"    const uintptr_t {_OVER} = (uintptr_t){_BYTES} % {upper}_ARENA_ALIGNMENT;",
        ]
        place = f"{_BYTES} + ({upper}_ARENA_ALIGNMENT - {_OVER})"
        arguments = [place if name == arena else name for name in arguments]
    return "\n".join([*lines, f"    return {signature.name}({', '.join(arguments)});", "}"])


def _require_no_system(entry: ir.Function) -> None:
    for node in postorder(entry.body):
        if isinstance(node, e.Foreign):
            raise UnsupportedError(
                f"C for a machine without a system cannot call {node.name!r}, which the model does: "
                "a loop without a known end has a limit in time",
                hint="give the loop a number of iterations",
            )


def _definition(weight: Weight) -> Iterator[str]:
    """The definition of ``weight``: ``static const float net_weight0[1][16] = {...};``."""
    kind, literal = memory_type(weight.dtype), _literals(weight.dtype)
    elements = weight.elements.reshape(-1).tolist() or [0]
    rows = -(-len(elements) // ROW)
    yield f"\n{comment([weight.about])}\nstatic const {kind} {weight.name}[{rows}][{ROW}] = {{\n"
    for begin in range(0, len(elements), ROW):
        yield f"{{{', '.join(map(literal, elements[begin : begin + ROW]))}}},\n"
    yield "};\n"


def array_lines(elements: np.ndarray, dtype: str) -> Iterator[str]:
    """The numbers of an array in full lines; a zero if there are none, as C has no empty arrays."""
    line = ""
    for text in map(_literals(dtype), elements.reshape(-1).tolist() or [0]):
        if len(line) + len(text) > _LINE:
            yield f"{line}\n"
            line = ""
        line += f"{text},"
    yield f"{line}\n"


def _literals(dtype: str) -> Callable[[Any], str]:
    """A function that writes an element, a Python number, as a C constant."""
    if dtype in ("float32", "float64"):
        return lambda value: _float(value, dtype)
    if dtypes.is_float(dtype) or dtype == "bool":
        return lambda value: str(int(value))  # halves as their bits, bools as bytes
    return lambda value: _without_parentheses(int_literal(value, dtype))


def _without_parentheses(text: str) -> str:
    """A literal in an array, without the parentheses that it would need in an expression."""
    return text[1:-1] if text.startswith("(-") and "INT64_C" not in text else text


def _float(value: float, dtype: str) -> str:
    text = float_literal(value, dtype)
    if text is not None:
        return _without_parentheses(text)
    suffix = "" if dtype == "float32" else "(double)"
    return f"{suffix}NAN" if value != value else f"{suffix}{'-' if value < 0 else ''}INFINITY"
