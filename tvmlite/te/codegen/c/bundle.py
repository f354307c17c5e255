"""A library's metadata as LLVM IR text; its constants are written by ``runtime.library.segment``."""

from __future__ import annotations

from tvmlite.core.abi.symbols import WORKSPACE_ALIGNMENT
from tvmlite.runtime.library.library import METADATA


def metadata_ir(text: str) -> str:
    """A module that defines ``METADATA`` as ``text`` in UTF-8, ended by a zero byte."""
    data = text.encode() + b"\0"
    escaped = "".join(chr(b) if 32 <= b < 127 and b not in b'"\\' else f"\\{b:02X}" for b in data)
    return f'@{METADATA} = constant [{len(data)} x i8] c"{escaped}", align {WORKSPACE_ALIGNMENT}\n'
