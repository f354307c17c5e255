"""The error for unsupported operators: all of them at once, with reasons and advice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

_RANDOM = (
    "Bernoulli",
    "Multinomial",
    "RandomNormal",
    "RandomNormalLike",
    "RandomUniform",
    "RandomUniformLike",
)
_ALTERNATIVES = {"ImageDecoder": "it decodes files: give the model the decoded image"}
_MAX_LISTED = 5


def advice(domain: str, op_type: str) -> str:
    """Return why the operator is not supported, and what to do about it."""
    if domain == "ai.onnx.ml":
        return "of ai.onnx.ml only tensor arithmetic is supported: run this part with onnxruntime"
    if domain.startswith("ai.onnx.preview.training"):
        return "training is not supported: export the model for inference"
    if domain == "" and ("String" in op_type or op_type.startswith("Regex")):
        return "strings are not supported: convert the text to numbers before the model"
    if domain == "" and op_type in _RANDOM:
        return "random numbers are not supported: make them an input of the model"
    if domain == "" and op_type in _ALTERNATIVES:
        return _ALTERNATIVES[op_type]
    return "write a converter for it: docs/adding_an_operator.md"


def missing_operators(source: str, missing: Mapping[tuple[str, str], Sequence[str]]) -> str:
    """Return the error's text; ``missing`` has the nodes' names by (domain, operator)."""
    rows = [f"{source}: operators that are not supported:"]
    for (domain, op_type), nodes in sorted(missing.items()):
        shown = ", ".join(map(repr, nodes[:_MAX_LISTED])) + (", ..." if len(nodes) > _MAX_LISTED else "")
        name = f"{domain}.{op_type}" if domain else op_type
        rows.append(f"  {name}: {len(nodes)} node{'s' if len(nodes) > 1 else ''} ({shown})")
        rows.append(f"    {advice(domain, op_type)}")
    return "\n".join(rows)
