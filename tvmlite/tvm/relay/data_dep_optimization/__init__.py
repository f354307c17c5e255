"""TVM's ``relay.data_dep_optimization``: functions changed by what is in their weights."""

from tvmlite.tvm.lazy import attributes

__getattr__, __all__ = attributes(__name__, "bsr_dense", {})  # pyright: ignore[reportUnsupportedDunderAll]
