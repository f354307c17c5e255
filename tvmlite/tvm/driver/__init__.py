"""``tvm.driver``: lowering and building, and the command ``tvmc``."""

from tvmlite.tvm.lazy import attributes

__getattr__, __all__ = attributes(  # pyright: ignore[reportUnsupportedDunderAll]
    __name__,
    "build_module tvmc",
    {
        ".build_module": "build lower",
    },
)
