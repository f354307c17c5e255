"""What ``PassContext(config=...)`` takes for passes of TVM's that have several options."""

from __future__ import annotations

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
    "tir.Simplify": {
        "transitively_prove_inequalities": False,
        "convert_boolean_to_and_of_ors": False,
        "apply_constraints_to_boolean_branches": False,
    },
}
"""Options with their values unless others are given."""

OPTIONS: dict[str, str] = {
    **{name: f"tir.transform.{name.removeprefix('tir.')}Config" for name in _STRUCTURED},
    **dict.fromkeys(
        """
        relay.FuseOps.link_params relay.FuseOps.max_depth relay.ToMixedPrecision.keep_orig_output_dtype
        relay.backend.use_auto_scheduler relay.backend.use_meta_schedule
        relay.backend.use_meta_schedule_dispatch relay.fallback_device_type relay.frontend.fill_span
        relay.remove_standalone_reshapes.enable te.keep_schedule_record testing.immutable_module
        tir.debug_keep_trivial_loop tir.detect_global_barrier tir.disable_assert tir.disable_cse_tir
        tir.disable_storage_rewrite tir.disable_vectorize tir.enable_buffer_predication
        tir.enable_equiv_terms_in_cse_tir tir.instrument_bound_checkers tir.is_entry_func
        tir.merge_static_smem tir.noalias tir.usmp.enable tir.usmp.use_workspace_io
        """.split(),
        "IntImm",
    ),
    **dict.fromkeys(("relay.backend.tir_converter", "tir.usmp.algorithm"), "runtime.String"),
    "tir.add_lower_pass": "Array",
}
"""TVM's options by name, with the names of their types."""

_ROOMS = ("auto_scheduler", "hexagon", "meta_schedule", "relay", "runtime", "te", "testing", "tir")


class WrongConfig(ConfigError, AttributeError):
    """An option that TVM does not have: an AttributeError there."""


class ConfigNode(dict[str, Any]):
    """Options by name, as attributes too."""

    def __getattr__(self, name: str) -> Any:
        if name in self:
            return self[name]
        raise AttributeError(f"there is no option {name!r}; there are {', '.join(self)}")


def checked(config: Mapping[str, Any]) -> dict[str, Any]:
    """``config`` with the options of each pass complete; a WrongConfig names what TVM does not have."""
    made: dict[str, Any] = {}
    for key, value in config.items():
        if str(key).split(".")[0] not in _ROOMS or "." not in str(key):
            raise WrongConfig(f"PassContext: config has {key!r}: options are of {', '.join(_ROOMS)}")
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
