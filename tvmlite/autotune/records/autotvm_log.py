"""Lines of AutoTVM's own logs (version 0.2), to use what was measured with TVM.

A line is ``{"input": [target, template, args, {}], "config": {"index": 3, "code_hash": null, "entity":
[["tile_y", "sp", [-1, 8]], ...]}, "result": [[seconds, ...], error number, seconds in all, time], "version":
0.2, "tvm_version": "0.8"}``. Settings of knobs are written as ours are.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tvmlite.autotune.records.fields import seconds, time
from tvmlite.core.errors import ParseError, TvmliteError
from tvmlite.machine.target import Target
from tvmlite.te.space import ConfigEntity

VERSION = 0.2
ORIGIN = "autotvm"

_ERRORS = ("", "schedule", "compile", "compile", "crash", "wrong answer", "timeout", "timeout", "crash")
"""The entry of ``records.ERRORS`` for each of AutoTVM's error numbers (``MeasureErrorNo``)."""

_KEPT = ("-mcpu=", "-mtriple=")
"""Options of TVM's target strings that identify the machine, and mean the same here."""


def is_line(fields: Any) -> bool:
    """Whether ``fields`` is a line of AutoTVM's, damaged or not."""
    return isinstance(fields, dict) and {"input", "config", "result"} <= fields.keys()


def decode(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of ``records.Record`` in the line ``fields``; a ParseError if it is damaged."""
    if fields.get("version") != VERSION:
        raise ParseError(f"a line of AutoTVM's version {fields.get('version')!r}, expected {VERSION}")
    match fields["input"]:
        case [str() as target, str() as name, [*args], *_]:
            pass
        case other:
            raise ParseError(f"AutoTVM: input is {other!r}, expected [target, template, args, ...]")
    match fields["result"]:
        case [[*costs], int() as number, float() | int(), float() | int() as when]:
            pass
        case other:
            raise ParseError(f"AutoTVM: result is {other!r}, expected [costs, error, seconds, time]")
    if not 0 <= number < len(_ERRORS):
        raise ParseError(f"AutoTVM: there is no error {number}")
    error = _ERRORS[number]
    return {
        "task": (name, tuple(args)),
        "target": _target(target),
        "config": _config(fields["config"]),
        "costs": () if error else tuple(map(seconds, costs)),
        "error": error,
        "message": f"AutoTVM's error {number}" if error else "",
        "verified": not error,
        "origin": ORIGIN,
        "code": f"tvm {str(fields.get('tvm_version', ''))[:40]}".strip(),
        "time": time(when),
    }


def _config(fields: Any) -> ConfigEntity:
    entity = fields.get("entity") if isinstance(fields, dict) else None
    if not isinstance(entity, list) or not all(map(_is_knob, entity)):
        raise ParseError(f"AutoTVM: config is {fields!r}, expected an entity of [name, kind, setting]")
    try:
        return ConfigEntity.from_json_dict({name: [kind, value] for name, kind, value in entity})
    except TvmliteError as error:
        raise ParseError(error.message) from None


def _is_knob(given: object) -> bool:
    return isinstance(given, list) and len(given) == 3 and isinstance(given[0], str)


def _target(text: str) -> str:
    """Our target string for TVM's: the machine it was measured on, this one if it names none."""
    kind, *options = text.split() or [""]
    if kind != "llvm":
        raise ParseError(f"AutoTVM: target {text!r} is not a CPU")
    kept = [option for option in options if option.startswith(_KEPT)]
    try:
        return str(Target.parse(" ".join(["llvm", *kept]) if kept else "native"))
    except TvmliteError as error:
        raise ParseError(f"AutoTVM: target {text!r}: {error.message}") from None
