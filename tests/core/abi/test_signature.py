"""Signatures are written into a library and read back unchanged."""

from __future__ import annotations

from tvmlite.core.abi.signature import TOO_SMALL, Parameter, Signature

DYNAMIC = Signature(
    "f",
    (
        Parameter("x", "input", "float32", ("n",)),
        Parameter("y", "found", "float32", (None,)),
        Parameter("n", "size"),
        Parameter("workspace", "workspace"),
        Parameter("threads", "threads"),
        Parameter("dynamic_outputs", "dynamic_outputs"),
        Parameter("capacity", "capacity"),
    ),
    workspace=None,
    messages=(TOO_SMALL,),
)


def test_a_signature_survives_json() -> None:
    assert Signature.from_json(DYNAMIC.to_json()) == DYNAMIC


def test_a_library_made_before_a_parameter_was_renamed_is_read() -> None:
    former = DYNAMIC.to_json().replace('"dynamic_outputs", "int64"', '"told", "int64"')
    former = former.replace("dynamic_outputs[0]", "told[0]")
    assert former.count("told") == 2

    assert Signature.from_json(former) == DYNAMIC
