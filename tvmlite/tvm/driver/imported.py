"""Functions in LLVM IR that a loop's pragma imports: ``s[C].pragma(axis, "import_llvm", text)``."""

from __future__ import annotations

from pathlib import Path

from tvmlite.core.errors import InputError, UnsupportedError
from tvmlite.core.node import postorder
from tvmlite.core.span import Span
from tvmlite.machine.target import Target
from tvmlite.te.codegen import jit
from tvmlite.te.loop import ir

IMPORT = "import_llvm"


def imported_objects(function: ir.Function, target: Target) -> list[bytes]:
    """Return the object code of the LLVM IR that loops of ``function`` import, given as text or as a path
    that ends in ``.ll``. If several define the same function, that of the innermost loop is used. An
    InputError if LLVM cannot parse one."""
    loops = [node for node in postorder(function.body) if isinstance(node, ir.For)]
    texts = [_text(value) for loop in reversed(loops) for key, value in loop.annotations if key == IMPORT]
    if texts and target.kind != "llvm":
        raise UnsupportedError(f"pragma {IMPORT}: the target {target} has no LLVM", Span.of_caller())
    return [jit.compile_object(text, target) for text in _without_duplicates(list(dict.fromkeys(texts)))]


def _text(given: object) -> str:
    if not isinstance(given, str):
        raise InputError(f"pragma {IMPORT}: a {type(given).__name__} given, expected LLVM IR or a path")
    if "\n" not in given and given.endswith(".ll"):
        if not Path(given).is_file():
            raise InputError(f"pragma {IMPORT}: there is no file {given!r}")
        return Path(given).read_text(encoding="utf-8")
    return given


def _without_duplicates(texts: list[str]) -> list[str]:
    """Return ``texts``, with functions that a later text also defines made internal to their own text."""
    import llvmlite.binding as llvm

    defined: set[str] = set()
    made: list[str] = []
    for text in reversed(texts):
        try:
            module = llvm.parse_assembly(text)
        except RuntimeError as error:
            raise InputError(f"pragma {IMPORT}: LLVM cannot read it: {error}") from None
        own = [one for one in module.functions if not one.is_declaration]
        for one in own:
            if one.name in defined:
                one.linkage = "internal"
        defined |= {one.name for one in own}
        made.append(str(module))
    return made[::-1]
