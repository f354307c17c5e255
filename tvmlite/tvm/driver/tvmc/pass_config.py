"""Parse the command-line options about passes: pass options, ``name=value``, and names of passes."""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Sequence
from typing import Any

from tvmlite.core.errors import InputError
from tvmlite.tvm.absent import refusing
from tvmlite.tvm.ir.pass_config import checked

_WORDS = {"true": True, "false": False}


def parse_configs(input_configs: Sequence[str] | None) -> dict[str, Any]:
    """Return the ``config`` of a ``PassContext`` for strings such as ``["relay.FuseOps.max_depth=10"]``.
    Decimal integers, ``true`` and ``false`` are converted, other values stay strings. A malformed string or
    an unknown option is an InputError."""
    found: dict[str, Any] = {}
    for one in input_configs or ():
        name, is_given, value = one.partition("=")
        if not is_given or not value:
            raise InputError(f"--pass-config is {one!r}, expected NAME=VALUE")
        found[name] = int(value) if value.isdigit() else _WORDS.get(value.lower(), value)
    return checked(found)


_PLACES = {"": "relay.transform", "qnn": "relay.qnn.transform", "tir": "tir.transform"}
"""The modules that contain passes, by the prefix of the pass name."""


def parse_pass_list_str(input_string: str) -> list[str]:
    """Return the names of TVM's passes in the comma-separated ``input_string``; an unknown name is an
    ArgumentTypeError, for argparse."""
    names = [one.strip() for one in input_string.split(",")]
    unknown = [one for one in names if one and not _is_pass(one)]
    if unknown:
        known = importlib.import_module("tvmlite.tvm.relay.transform").__all__
        there = ", ".join(one for one in known if one[:1].isupper())
        raise argparse.ArgumentTypeError(f"there is no pass {', '.join(unknown)}; there are {there}")
    return names


def _is_pass(name: str) -> bool:
    place, _, own = name.rpartition(".")
    if place not in _PLACES or not own[:1].isupper():
        return False
    return hasattr(importlib.import_module(f"tvmlite.tvm.{_PLACES[place]}"), own)


__getattr__ = refusing(__name__)
