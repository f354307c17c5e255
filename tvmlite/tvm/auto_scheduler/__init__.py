"""TVM's auto-scheduler under its own names, over the generated schedules of ``tvmlite.autotune``."""

from tvmlite.tvm.lazy import attributes

__getattr__, __all__ = attributes(  # pyright: ignore[reportUnsupportedDunderAll]
    __name__,
    """
        compute_dag cost_model loop_state measure measure_record relay_integration search_policy
        search_task utils workload_registry
    """,
    {
        ".relay_integration": "ApplyHistoryBest ApplyHistoryBestOrSample TaskScheduler extract_tasks",
        ".compute_dag": "ComputeDAG",
        ".cost_model": "RandomModel XGBModel",
        ".search_policy": """
            EmptyPolicy PreloadCustomSketchRule PreloadMeasuredStates SketchPolicy
        """,
        ".search_task": "HardwareParams SearchTask TuningOptions",
        ".measure": """
            LocalBuilder LocalRPCMeasureContext LocalRunner MeasureInput MeasureResult RPCRunner
            RecordToFile
        """,
        ".measure_record": "RecordReader load_best_record load_records save_records",
        ".workload_registry": "make_workload_key register_workload",
    },
)
