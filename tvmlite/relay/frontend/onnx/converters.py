"""All converters, by importing every family: each registers itself."""

from types import ModuleType

from tvmlite.relay import ops
from tvmlite.relay.frontend.onnx import (
    activation,
    attention,
    cast,
    control,
    create,
    elementwise,
    found,
    group_query,
    index,
    legacy,
    matmul,
    microsoft,
    microsoft_quant,
    moves,
    ngrams,
    nn,
    normalize,
    pad,
    quant,
    recurrent,
    reduce,
    resize,
    sequence,
    shape,
    signal,
    vision,
)


def load() -> tuple[ModuleType, ...]:
    """The families, and the operators they are converted to: all registered by now."""
    return (
        ops,
        activation,
        attention,
        cast,
        control,
        create,
        elementwise,
        found,
        group_query,
        index,
        legacy,
        matmul,
        microsoft,
        microsoft_quant,
        moves,
        ngrams,
        nn,
        normalize,
        pad,
        quant,
        recurrent,
        reduce,
        resize,
        sequence,
        shape,
        signal,
        vision,
    )
