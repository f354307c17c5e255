"""The options that ``PassContext(config=...)`` accepts."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any

from tvmlite.core.errors import ConfigError

_STRUCTURED: dict[str, dict[str, Any]] = {
    "tir.UnrollLoop": {
        "auto_max_step": 0,
        "auto_max_depth": 8,
        "auto_max_extent": 0,
        "explicit_unroll": 1,
        "unroll_local_access": 0,
    },
    "tir.LoopPartition": {
        "partition_const_loop": False,
        "no_unroll_loop_with_extent_one": False,
        "unroll_loop_with_partition_hint_no_interval": False,
    },
    "tir.InjectDoubleBuffer": {"split_loop": 1},
    "tir.HoistIfThenElse": {"support_block_scope_hosting": False},
    "tir.HoistExpression": {"hoisted_conditionals": 31, "hoisted_let_bindings": 31},
    "tir.ReduceBranchingThroughOvercompute": {"use_dataflow_analysis": False},
    "tir.RemoveNoOp": {"use_dataflow_analysis": False, "max_simplification_steps": 0},
    "tir.Simplify": {
        "transitively_prove_inequalities": False,
        "convert_boolean_to_and_of_ors": False,
        "apply_constraints_to_boolean_branches": False,
    },
}
"""The options of passes that have several, with their defaults."""

OPTIONS: dict[str, str] = {
    **{name: f"tir.transform.{name.removeprefix('tir.')}Config" for name in _STRUCTURED},
    **dict.fromkeys(
        """
        relay.FuseOps.link_params relay.FuseOps.max_depth relay.ToMixedPrecision.keep_orig_output_dtype
        relay.backend.use_auto_scheduler relay.backend.use_meta_schedule
        relay.backend.use_meta_schedule_dispatch relay.collage.byoc_max_depth relay.collage.tvm_max_depth
        relay.fallback_device_type relay.frontend.fill_span relay.remove_standalone_reshapes.enable
        te.keep_schedule_record testing.immutable_module
        tir.debug_keep_trivial_loop tir.detect_global_barrier tir.disable_assert tir.disable_cse_tir
        tir.disable_storage_rewrite tir.disable_vectorize tir.enable_buffer_predication tir.enable_debug
        tir.enable_equiv_terms_in_cse_tir tir.experimental_dma_bypass_cache tir.instr_siblings
        tir.instrument_bound_checkers tir.instrument_lwp tir.is_entry_func tir.lwp_disable_func_prof
        tir.lwp_max_depth tir.lwp_min_height tir.merge_static_smem tir.noalias tir.ptx_ldg32
        tir.reset_start_id tir.use_async_copy tir.usmp.enable tir.usmp.use_workspace_io tir.vtcm_capacity
        """.split(),
        "IntImm",
    ),
    **dict.fromkeys(
        """
        relay.backend.tir_converter relay.collage.byoc_fusion_style tir.usmp.algorithm
        tir.usmp.custom_algorithm
        """.split(),
        "runtime.String",
    ),
    "tir.add_lower_pass": "Array",
}
"""TVM's options, with the names of their types."""


class WrongConfig(ConfigError, AttributeError):
    """The error for an option that TVM does not have, which is an AttributeError in TVM."""


class ConfigNode(dict[str, Any]):
    """Options by name, which are also attributes."""

    def __getattr__(self, name: str) -> Any:
        if name in self:
            return self[name]
        raise AttributeError(f"there is no option {name!r}; there are {', '.join(self)}")


def checked(config: Mapping[str, Any]) -> dict[str, Any]:
    """``config`` with defaults filled in. Raises a WrongConfig for an option that TVM does not have."""
    made: dict[str, Any] = {}
    for key, value in config.items():
        if key not in OPTIONS:
            near = difflib.get_close_matches(str(key), OPTIONS, n=1)
            hint = f"did you mean {near[0]!r}?" if near else "PassContext.list_configs() has all there are"
            raise WrongConfig(f"PassContext: config has {key!r}, which is no option", None, hint)
        made[key] = _structured(key, value) if key in _STRUCTURED else value
    return made


def _structured(key: str, value: Any) -> ConfigNode:
    known = _STRUCTURED[key]
    if not isinstance(value, Mapping):
        raise WrongConfig(f"PassContext: config of {key!r} is {value!r}, expected a dict of options")
    wrong = [one for one in value if one not in known]
    if wrong:
        raise WrongConfig(f"PassContext: {key!r} has no option {wrong[0]!r}; it has: {', '.join(known)}")
    return ConfigNode({**known, **value})
