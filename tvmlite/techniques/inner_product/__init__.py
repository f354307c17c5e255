"""Dense layers by Winograd's inner product, which replaces some multiplications by additions.

The pass ``apply_winograd_dense`` uses it if an error bound is given and additions take no time beside
products.
"""

from tvmlite.relay.passes.target_passes import Options, Pass, Stage, TargetPass, register
from tvmlite.techniques.inner_product import operator, schedule
from tvmlite.techniques.inner_product.apply_winograd_dense import apply_winograd_dense

__all__ = ["operator", "schedule"]


def _make_pass(options: Options) -> Pass | None:
    if not options.error_bound:
        return None
    return apply_winograd_dense(options.target, options.error_bound, options.decisions)


register(
    TargetPass(
        "inner_product",
        "apply_winograd_dense",
        Stage.DENSE_ALGORITHMS,
        _make_pass,
        lambda target: target and apply_winograd_dense(target),
        for_vectors=True,
    )
)
