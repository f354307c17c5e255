"""``relay.data_dep_optimization``: transformations that depend on the values of weights."""

from tvmlite.tvm.lazy import attributes

__getattr__, __all__ = attributes(__name__, "bsr_dense", {})  # pyright: ignore[reportUnsupportedDunderAll]
