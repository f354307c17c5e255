"""AutoTVM under TVM's names: templates with knobs, tuners that measure configurations, and logs of the
results.

It is a thin layer over ``tvmlite.autotune`` and ``tvmlite.te.space``.
"""

from tvmlite.tvm.lazy import attributes

__getattr__, __all__ = attributes(  # pyright: ignore[reportUnsupportedDunderAll]
    __name__,
    "database env feature graph_tuner measure record task tophub tuner utils",
    {
        ".task": """
            ApplyConfig ApplyFixedConfig ApplyGraphBest ApplyHistoryBest ConfigEntity ConfigSpace
            DispatchContext FallbackConfigEntity FallbackContext apply_fixed_config=ApplyFixedConfig
            apply_graph_best=ApplyGraphBest apply_history_best=ApplyHistoryBest get_config
            register_customized_task register_topi_compute register_topi_schedule template
        """,
        ".env": "GLOBAL_SCOPE",
        ".measure": """
            LocalBuilder LocalRunner MeasureErrorNo MeasureInput MeasureResult RPCRunner measure_option
        """,
        ".tuner": "callback",
    },
)
