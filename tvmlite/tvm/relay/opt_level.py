"""The optimization level of ``tvmlite.compile`` that follows from the current ``PassContext``."""

from __future__ import annotations

from tvmlite.core.span import warn
from tvmlite.tvm.ir import transform

_LEVEL = 3
"""The level of a build outside any ``PassContext``: tvmlite's default, where TVM's is 2."""


def level_in_force() -> int:
    """The level of the current ``PassContext``, or the highest below it that runs none of the passes that the
    context disables."""
    context = transform.PassContext.current()
    if context is transform.DEFAULT:
        return _LEVEL
    disabled = set(context.disabled_pass)
    others = sorted({*context.required_pass, *disabled.difference(_FIRST_LEVEL)})
    if others:
        warn(f"relay.build selects passes by opt_level; ignored: {', '.join(others)}")
    level = min(max(context.opt_level, 0), 4)
    found = min([level, *(_FIRST_LEVEL[name] - 1 for name in disabled.intersection(_FIRST_LEVEL))])
    if found < level and disabled != {"AlterOpLayout"}:
        warn(
            f"relay.build: opt_level is {found} in place of {level}, the highest without "
            f"{', '.join(sorted(disabled.intersection(_FIRST_LEVEL)))}"
        )
    return found


_FIRST_LEVEL = {
    "AlterOpLayout": 3,
    "CanonicalizeOps": 2,
    "CombineParallelConv2D": 4,
    "CombineParallelDense": 2,
    "EliminateCommonSubexpr": 2,
    "FastMath": 4,
    "FoldConstant": 1,
    "FoldScaleAxis": 2,
    "FuseOps": 1,
    "SimplifyExpr": 2,
    "SimplifyInference": 1,
}
"""The lowest level of ``tvmlite.compile`` that runs a pass, by TVM's name for the pass."""
