"""Generation of C99 from legal loop IR: a C function per function, outlined parallel bodies, no malloc.

Vectors become short loops over their lanes. Many are also written with the vector types of GCC and Clang,
which are used if they exist and ``TVMLITE_PORTABLE`` is not defined.
"""

from __future__ import annotations

from collections.abc import Sequence

from tvmlite.core.abi import symbols
from tvmlite.core.abi.signature import Parameter, Signature
from tvmlite.core.errors import UnsupportedError
from tvmlite.core.node import postorder
from tvmlite.machine.target import Target
from tvmlite.te import expr as e
from tvmlite.te.codegen.c import x86
from tvmlite.te.codegen.c.function import FunctionWriter
from tvmlite.te.codegen.c.names import BUILT_IN, Module, Standalone
from tvmlite.te.codegen.c.parts import split_wide_stores
from tvmlite.te.codegen.c.text import EXCESS_PRECISION, Helpers
from tvmlite.te.codegen.c.vector import CONDITION
from tvmlite.te.codegen.c_functions import definitions
from tvmlite.te.codegen.math.expand import expand_intrinsics
from tvmlite.te.codegen.math.quantizing import quantizing
from tvmlite.te.loop import ir
from tvmlite.te.loop.signature import signature_of

_PROTOTYPES = {
    name: f"""int32_t {name}(
    int32_t (*body)(void *closure, int64_t begin, int64_t end, int64_t thread),
    void *closure, int64_t extent);"""
    for name in (symbols.PARALLEL_FOR, symbols.SWEEP)
} | {
    symbols.NEXT_RUN: f"void {symbols.NEXT_RUN}(uint32_t *runs);",
    symbols.NOW: f"int64_t {symbols.NOW}(void);",
}

_VECTORS = (
    "!defined(TVMLITE_PORTABLE) && (defined(__clang__) || (defined(__GNUC__) && __GNUC__ >= 9)) \\\n"
    f"    && !({EXCESS_PRECISION})"
)
"""The condition that the vector types of GCC and Clang and ``__builtin_convertvector`` exist. With excess
precision GCC has no vectors of floats."""

_GCC_FAULTS = """#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("no-tree-loop-distribute-patterns", "no-tree-loop-if-convert")
#if __GNUC__ < 13
#pragma GCC optimize("no-tree-loop-vectorize")
#endif
#endif"""
"""Optimisations of GCC that are disabled, whatever its flags. GCC 12 turns a nest of loops that stores zeros
to non-contiguous elements into a memset that overwrites the elements between; loads full vectors instead of
masked ones, beyond the end of an array, if it has turned a branch into AVX-512 masks; and reads beyond the
end of an array if it vectorizes a loop over every other element. Nothing is lost: vectors are explicit here,
and adjacent scalar statements are still combined to vectors."""

_NO_CONTRACTION = """#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("fp-contract=off")
#else
#pragma STDC FP_CONTRACT OFF
#endif"""
"""Products and sums are rounded separately whatever the flags; ``MULTIPLY_ADD`` is explicit."""

_GCC_SUMS = """#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("no-tree-slp-vectorize")
#endif"""
"""GCC 12 vectorizes a sum of truth values in 8 or 16 bits even at ``-O2``, with -1 for true. It treats a
division whose result is 0 or 1 as a truth value, so that every sum of 8- or 16-bit ints may be affected."""

_MACROS = {
    "TL_PREFETCH": """#if defined(__GNUC__)
#define TL_PREFETCH(place, locality) __builtin_prefetch(place, 0, locality)
#else
#define TL_PREFETCH(place, locality) ((void)(place))
#endif""",
    "TL_UNROLL": """#if defined(__clang__)
#define TL_UNROLL(times) _Pragma("clang loop unroll(full)")
#elif defined(__GNUC__) && __GNUC__ >= 8
#define TL_PRAGMA(text) _Pragma(#text)
#define TL_UNROLL(times) TL_PRAGMA(GCC unroll times)
#else
#define TL_UNROLL(times)
#endif""",
    "TL_ALIGNED": """#if defined(__GNUC__)
#define TL_ALIGNED __attribute__((aligned(64)))
#else
#define TL_ALIGNED
#endif""",
}


_HELPER = """#if defined(__GNUC__)
#define TL_HELPER static inline __attribute__((unused))
#else
#define TL_HELPER static inline
#endif"""
"""The head of helpers. Clang warns of unused ones, and the ones used differ between versions."""


def generate(
    functions: Sequence[ir.Function],
    target: Target | str = "c",
    standalone: Standalone | None = None,
    data: Sequence[str] = (),
) -> str:
    """One self-contained C99 source with all ``functions``, in legal loop IR.

    It calls ``tvmlite_parallel_for`` for parallel loops and ``tvmlite_now`` for profiles (see
    ``runtime/pool/pool.c``), and the C math library. Kernels that are called but not among
    ``functions`` are declared, as is ``NAME_constants``. Raises UnsupportedError for an intrinsic that
    has no form in C, and for a function whose name C reserves, such as ``main`` or ``exp``. The numbers of
    lanes were chosen when the IR was made; ``target`` only selects the versions of C functions.

    With ``standalone``, the source is for a machine without an operating system: it includes the entry's
    header, and all functions but the last, the entry, are static. ``data`` are definitions before all others.
    """
    for function in functions:
        if function.name in BUILT_IN or symbols.unique_names({"": function.name})[""] != function.name:
            raise UnsupportedError(
                f"a C function cannot be called {function.name!r}", hint="give it another name: name=..."
            )
    scalar = standalone is not None and standalone.scalar  # no expanded formulas: the C math library is used
    helpers = Helpers(rounds=not scalar)
    module = Module({f.name: signature_of(f) for f in functions}, helpers=helpers, standalone=standalone)
    for function in functions:
        if scalar:
            function = quantizing(function)
        expanded = split_wide_stores(expand_intrinsics(function, either=x86.SCALED_LANES))
        FunctionWriter(expanded, module).write()
    parts = ["/* Made by tvmlite. C99; see the header for how to call it. */", _GCC_FAULTS, _NO_CONTRACTION]
    parts += [_GCC_SUMS] if any(map(_adds_small_numbers, functions)) else []
    own = [] if standalone is None else [f'#include "{standalone.header}"\n']
    includes = ["<math.h>", "<stdint.h>"] if own or module.helpers.libm else ["<stdint.h>"]
    parts.append("\n".join([*own, *(f"#include {one}" for one in includes)]))
    parts += [text for name, text in _MACROS.items() if name in module.used]
    if module.typedefs:
        types = "\n".join(module.typedefs)
        parts.append(f"#if {_VECTORS}\n#define {CONDITION} 1\n{types}\n#else\n#define {CONDITION} 0\n#endif")
    if module.intrinsics:
        asked = " || ".join(f"({one})" for one in module.intrinsics)
        parts.append(f"#if {asked}\n{x86.HEADER}\n#endif")
    prototypes = [text for name, text in _PROTOTYPES.items() if name in module.used]
    declarations = [text for text in module.declarations if text not in prototypes]
    parts += [*prototypes, "\n".join(declarations)] if declarations else prototypes
    if functions and standalone is None:
        parts.append("\n".join(f"{s.c_prototype()};" for s in module.signatures.values()))
    parts += [_HELPER, module.helpers.text().rstrip()] if module.helpers.text() else []
    is_plain = standalone is not None and standalone.plain
    parts += definitions(module.functions, (lambda _: False) if is_plain else Target.parse(target).has)
    return "\n\n".join([*parts, *data, *module.definitions]) + "\n"


def _adds_small_numbers(function: ir.Function) -> bool:
    """Whether ``function`` has scalar additions of 8- or 16-bit ints."""
    small = ("int8", "uint8", "int16", "uint16")
    every = postorder(function.body)
    return any(isinstance(node, e.Add) and node.lanes == 1 and node.dtype in small for node in every)


def header(signature: Signature, more: Sequence[str] = ()) -> str:
    """A self-contained header for C and C++ that declares and documents ``signature``'s functions, followed
    by the declarations ``more``."""
    name = signature.name
    guard = f"TVMLITE_{name.upper()}_H"
    parts = [
        f"#ifndef {guard}\n#define {guard}\n\n#include <stdint.h>",
        '#ifdef __cplusplus\nextern "C" {\n#endif',
        comment(_description(signature)) + f"\n{signature.c_prototype()};",
    ]
    if not signature.is_static:
        extents = (
            "Writes the extents of all inputs and outputs to out, in order, and then the bytes of workspace."
        )
        parts.append(
            comment([extents, "Returns 0, or a code as above."]) + f"\n{signature.c_shapes_prototype()};"
        )
    if signature.constants:
        parts.append(
            comment([f"The {signature.constants} bytes of constants, aligned to 64 bytes."])
            + f"\nextern const unsigned char {name}_constants[];"
        )
    parts.append(
        comment(["How many threads parallel loops may use; 0: as many as the process has processors."])
        + "\nvoid tvmlite_set_num_threads(int32_t threads);\nint32_t tvmlite_get_num_threads(void);"
    )
    parts += [*more, "#ifdef __cplusplus\n}\n#endif\n\n#endif"]
    return "\n\n".join(parts) + "\n"


def _description(signature: Signature) -> list[str]:
    lines = [f"{signature.name}: returns 0, or a positive code.", ""]
    lines += [f"{p.name}: {meaning(p, signature)}" for p in signature.parameters]
    lines += [""] if signature.messages else []
    lines += [f"{code}: {message}" for code, message in enumerate(signature.messages, 1)]
    lines += [
        "",
        "Arrays are dense and row-major, aligned to their elements; no output overlaps another array.",
    ]
    return lines


def meaning(parameter: Parameter, signature: Signature) -> str:
    """The description of the argument for ``parameter``."""
    match parameter.kind:
        case "input" | "output":
            dims = "".join(f"[{'?' if d is None else d}]" for d in parameter.shape)
            return f"{parameter.kind}, {parameter.dtype}{dims or ', one element'}"
        case "scalar":
            return f"a {parameter.dtype}" + (
                " as its bits" if parameter.dtype in ("float16", "bfloat16") else ""
            )
        case "size":
            return "a size: the extent of this name in the arrays' shapes"
        case "workspace":
            known = signature.workspace
            bytes_ = f"{known} bytes" if known is not None else f"as many as {signature.name}_shapes computes"
            return f"scratch memory, {bytes_}, aligned to 64 bytes; may be null if 0"
        case "found":
            return _where_stored(parameter, signature)
        case "dynamic_outputs":
            return (
                f"room for {signature.dynamic_outputs_length} numbers: the bytes of workspace that are "
                "needed, and for every array that is found there the byte where it begins, and its extents"
            )
        case "capacity":
            return "the bytes of the workspace: if too few, dynamic_outputs[0] says how many are needed"
        case "threads":
            return "the number of threads the workspace is for: at least tvmlite_get_num_threads()"
        case "profile":
            return f"null, or room for {len(signature.kernels)} times in nanoseconds, one a kernel"


def _where_stored(parameter: Parameter, signature: Signature) -> str:
    """The description of an output in the workspace: its elements in ``dynamic_outputs``."""
    place = 1
    for other in signature.of_kind("found"):
        if other is parameter:
            break
        place += 1 + len(other.shape)
    name = "dynamic_outputs"
    dims = "".join(f"[{name}[{place + 1 + k}]]" for k in range(len(parameter.shape)))
    return f"no parameter but an output, {parameter.dtype}{dims}, at byte {name}[{place}] of the workspace"


def comment(lines: Sequence[str]) -> str:
    """``lines`` as a C comment."""
    safe = [_printable(line) for line in lines]
    if len(safe) == 1:
        return f"/* {safe[0]} */"
    return "/* " + "\n".join(f" * {line}".rstrip() for line in safe)[3:] + " */"


def _printable(line: str) -> str:
    """``line`` in printable ASCII, without ends of comments, backslashes and trigraphs."""
    plain = "".join(c if " " <= c <= "~" and c != "\\" else "?" for c in line)
    return plain.replace("*/", "* /").replace("/*", "/ *").replace("??/", "? ?/")
