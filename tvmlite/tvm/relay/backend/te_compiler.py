"""TVM's ``relay.backend.te_compiler``: a model's kernels are compiled with it, and kept with it alone."""

from __future__ import annotations

from typing import Any

from tvmlite.core.errors import UnsupportedError
from tvmlite.core.span import Span
from tvmlite.tvm.absent import refusing

_INSTEAD = "relay.build makes kernels of fused groups: lib.lib.kernels lists them"


class TECompiler:
    """The compiler of kernels, of which programs ask that it forget those of models before."""

    def clear(self) -> None:
        """Nothing is to be forgotten: there are no kernels but those of a model."""

    def __getattr__(self, name: str) -> Any:
        if name in ("lower", "jit", "items", "shape_func_items"):
            raise UnsupportedError(f"TECompiler.{name} is not in tvmlite", Span.of_caller(), _INSTEAD)
        raise AttributeError(f"TECompiler has no attribute {name!r}")


def get() -> TECompiler:
    """The compiler."""
    return TECompiler()


__getattr__ = refusing(__name__)
