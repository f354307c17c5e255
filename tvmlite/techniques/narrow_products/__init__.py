"""Instructions that multiply several narrow numbers at once."""

from tvmlite.relay.passes.target_passes import Stage, TargetPass, register
from tvmlite.techniques.narrow_products.integer_products import integer_products

register(
    TargetPass(
        "integer_products",
        Stage.ELEMENT_TYPES,
        lambda options: integer_products(options.target),
        lambda target: target and integer_products(target),
    )
)
