"""``relay.backend.te_compiler``: TVM's cache of compiled kernels. Here kernels belong to their model only."""

from __future__ import annotations

from typing import Any

from tvmlite.core.errors import UnsupportedError
from tvmlite.core.span import Span
from tvmlite.tvm.absent import refusing

_INSTEAD = "relay.build makes kernels of fused groups: lib.lib.kernels lists them"


class TECompiler:
    """The compiler of kernels, with ``clear``, by which programs clear TVM's cache."""

    def clear(self) -> None:
        """Do nothing: there is no cache of kernels outside a model."""

    def __getattr__(self, name: str) -> Any:
        if name in ("lower", "jit", "items", "shape_func_items"):
            raise UnsupportedError(f"TECompiler.{name} is not in tvmlite", Span.of_caller(), _INSTEAD)
        raise AttributeError(f"TECompiler has no attribute {name!r}")


def get() -> TECompiler:
    """Return the compiler."""
    return TECompiler()


__getattr__ = refusing(__name__)
