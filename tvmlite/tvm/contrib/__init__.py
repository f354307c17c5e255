"""TVM's ``tvm.contrib``, as far as programs that build and run models use it."""

from tvmlite.tvm.lazy import attributes

__getattr__, __all__ = attributes(  # pyright: ignore[reportUnsupportedDunderAll]
    __name__,
    "cblas cc clang debugger dlpack graph_executor random sorting utils",
    {},
)
