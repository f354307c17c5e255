"""``relay.backend``: compiled models as runnable modules, and the choice of executor and runtime."""

from __future__ import annotations

from tvmlite.tvm.lazy import attributes

__getattr__, __all__ = attributes(  # pyright: ignore[reportUnsupportedDunderAll]
    __name__, "te_compiler", {".options": "Executor Runtime"}
)
