"""Measuring configurations."""

from tvmlite.tvm.lazy import attributes

__getattr__, __all__ = attributes(  # pyright: ignore[reportUnsupportedDunderAll]
    __name__,
    "base measure measure_methods",
    {
        ".measure_methods": "BuildResult LocalBuilder LocalRunner RPCRunner request_remote",
        ".base": "Builder MeasureErrorNo MeasureInput MeasureResult Runner",
        ".measure": "create_measure_batch measure_option",
    },
)
