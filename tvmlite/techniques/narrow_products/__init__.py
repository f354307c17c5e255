"""Quantized models in integers, by instructions that add several products of narrow numbers at once.

Products of quantized operands become integer products that are requantized without floats in memory, and
functions of one quantized tensor become lookup tables.
"""

from tvmlite.relay.passes.target_passes import Stage, TargetPass, register
from tvmlite.techniques.common.dot import DOT_INSTRUCTIONS, DotInstructions
from tvmlite.techniques.narrow_products import lookup, quantized_lstm
from tvmlite.techniques.narrow_products.instructions import dot_instruction, vector_quads
from tvmlite.techniques.narrow_products.integer_products import integer_products
from tvmlite.techniques.narrow_products.known_range import known_range
from tvmlite.techniques.narrow_products.lookup_tables import lookup_tables
from tvmlite.techniques.narrow_products.requantize import requantize
from tvmlite.techniques.narrow_products.signs import signs

__all__ = ["lookup", "quantized_lstm"]

register(
    TargetPass(
        "narrow_products",
        "signs",
        Stage.ELEMENT_TYPES,
        lambda options: signs(options.target),
        lambda target: target and signs(target),
    )
)
register(
    TargetPass(
        "narrow_products",
        "integer_products",
        Stage.ELEMENT_TYPES,
        lambda options: integer_products(options.target),
        lambda target: target and integer_products(target),
    )
)
register(
    TargetPass(
        "narrow_products",
        "requantize",
        Stage.ELEMENT_TYPES,
        lambda options: requantize(options.target),
        lambda target: target and requantize(target),
    )
)
register(
    TargetPass(
        "narrow_products",
        "lookup_tables",
        Stage.ELEMENT_TYPES,
        lambda _: lookup_tables,
        lambda _: lookup_tables,
    )
)

register(
    TargetPass(
        "narrow_products",
        "known_range",
        Stage.ELEMENT_TYPES,
        lambda options: known_range(options.target),
        lambda target: target and known_range(target),
    )
)

DOT_INSTRUCTIONS["narrow_products"] = DotInstructions(vector_quads, dot_instruction)
