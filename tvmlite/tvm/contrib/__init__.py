"""``tvm.contrib``: the parts that programs use to build and run models."""

from tvmlite.tvm.lazy import attributes

__getattr__, __all__ = attributes(  # pyright: ignore[reportUnsupportedDunderAll]
    __name__,
    "cblas cc clang debugger dlpack graph_executor random sorting utils",
    {},
)
