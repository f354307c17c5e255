"""Templates, their config spaces, tasks, and the contexts that supply templates with configurations."""

from tvmlite.tvm.lazy import attributes

__getattr__, __all__ = attributes(  # pyright: ignore[reportUnsupportedDunderAll]
    __name__,
    "context dispatcher entities indexed relay_integration space task topi_integration",
    {
        ".context": "ApplyConfig ApplyFixedConfig DispatchContext FallbackContext clear_fallback_cache",
        ".dispatcher": "ApplyGraphBest ApplyHistoryBest",
        ".space": "ConfigEntity ConfigSpace FallbackConfigEntity",
        ".task": """
            Task args_to_workload compute_flop create deserialize_args get_config
            register_customized_task serialize_args template
        """,
        ".relay_integration": "extract_from_multiple_program extract_from_program",
        ".topi_integration": "get_workload register_topi_compute register_topi_schedule",
    },
)
