"""TVM's ``relay.backend``: compiled models as modules to run, and which executor and runtime they have."""

from __future__ import annotations

from tvmlite.tvm.lazy import attributes

__getattr__, __all__ = attributes(  # pyright: ignore[reportUnsupportedDunderAll]
    __name__, "te_compiler", {".options": "Executor Runtime"}
)
