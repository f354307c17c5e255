"""A table of C functions that kernels call by name, defined in each source that needs them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from tvmlite.core import techniques


@dataclass(frozen=True)
class Version:
    """A body for processors with the LLVM feature ``needs``, used if the preprocessor ``condition`` holds; it
    needs the include of ``header`` and the definitions ``defines``."""

    needs: str
    condition: str
    header: str
    body: str
    defines: str = ""


@dataclass(frozen=True)
class CFunction:
    """A static function without a result: ``parameters`` as C writes them, and a ``body`` in plain C99.

    ``versions`` give bit-identical results; the first whose condition holds is used.
    """

    name: str
    parameters: str
    body: str
    versions: tuple[Version, ...] = ()


PREFIX = """#if defined(__GNUC__) && !defined(__clang__) && !defined(__OPTIMIZE_SIZE__)
#define TL_FUNCTION __attribute__((optimize("tree-loop-vectorize"))) static void
#else
#define TL_FUNCTION static void
#endif"""
"""The head of the functions. All versions of GCC vectorize their loops over contiguous elements correctly."""

C_FUNCTIONS: dict[str, CFunction] = {}
"""The functions by name."""


def register(function: CFunction) -> None:
    """Enter ``function`` in the table."""
    assert function.name not in C_FUNCTIONS, f"C function {function.name!r} is registered twice"
    C_FUNCTIONS[function.name] = function


def are_known(names: Iterable[str]) -> bool:
    """Whether all ``names`` are in the table."""
    techniques.load()
    return all(name in C_FUNCTIONS for name in names)


def definitions(names: Iterable[str], has: Callable[[str], bool]) -> list[str]:
    """The definitions of the functions ``names``, after their includes, with the versions whose features the
    target ``has``."""
    chosen = {name: [one for one in C_FUNCTIONS[name].versions if has(one.needs)] for name in names}
    heads = [
        f"#if {one.condition}\n#include <{one.header}>\n{one.defines}#endif"
        for versions in chosen.values()
        for one in versions
    ]
    own = [_definition(C_FUNCTIONS[name], versions) for name, versions in chosen.items()]
    return [PREFIX, *dict.fromkeys(heads), *own] if own else []


def _definition(function: CFunction, versions: Sequence[Version]) -> str:
    lines = [f"TL_FUNCTION {function.name}({function.parameters}) {{"]
    for number, one in enumerate(versions):
        lines += [f"{'#elif' if number else '#if'} {one.condition}", one.body.rstrip("\n")]
    lines += ["#else"] if versions else []
    lines.append(function.body.rstrip("\n"))
    lines += ["#endif"] if versions else []
    return "\n".join([*lines, "}"])
