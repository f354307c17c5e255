"""The thread pool's C source, and the LLVM IR generated from it for machines without a C compiler.

Developers run ``python -m tvmlite.runtime.pool.pool`` to generate the ``.ll`` files again with ziglang's
clang.
"""

from __future__ import annotations

from pathlib import Path

from tvmlite.runtime.c_text import ARCHITECTURES, CText

__all__ = [
    "ARCHITECTURES",
    "SYMBOLS",
    "generate",
    "has_llvm_ir",
    "llvm_ir",
    "source",
    "source_hash",
]

SYMBOLS = (
    "tvmlite_parallel_for",
    "tvmlite_sweep",
    "tvmlite_next_run",
    "tvmlite_now",
    "tvmlite_set_num_threads",
    "tvmlite_get_num_threads",
)
"""The symbols that the pool defines."""

_TEXT = CText(Path(__file__).with_name("pool.c"), "tvmlite.runtime.pool.pool")


def source() -> str:
    """The pool's C99 source, from which all else is generated."""
    return _TEXT.source


def has_llvm_ir(triple: str) -> bool:
    """Whether there is ``llvm_ir`` for ``triple``."""
    return _TEXT.has_llvm_ir(triple)


def llvm_ir(triple: str) -> str:
    """The pool as LLVM IR text for a ``triple`` for which ``has_llvm_ir`` holds."""
    return _TEXT.llvm_ir(triple)


def source_hash() -> str:
    """The hash of the C source, which is in the first line of each ``.ll`` file."""
    return _TEXT.source_hash


def generate(architecture: str) -> str:
    """The text of ``pool_<architecture>.ll``, generated from the C source by ziglang's clang."""
    return _TEXT.generate(architecture)


if __name__ == "__main__":
    _TEXT.write_all()
