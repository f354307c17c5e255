"""``tvm.target.codegen``: the version of the LLVM that compiles."""

from __future__ import annotations

from tvmlite.tvm.absent import refusing


def llvm_version_major(allow_none: bool = False) -> int:
    """Return LLVM's major version."""
    import llvmlite.binding as llvm

    return llvm.llvm_version_info[0]


__getattr__ = refusing(__name__)
