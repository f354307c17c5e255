"""Passes on a command line: their options, ``name=value``, and their names."""

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
    """What ``PassContext(config=...)`` takes for ``["relay.FuseOps.max_depth=10"]``: whole numbers, ``true``
    and ``false`` as such, other values as words. An InputError for another form, or an option of nothing."""
    found: dict[str, Any] = {}
    for one in input_configs or ():
        name, is_given, value = one.partition("=")
        if not is_given or not value:
            raise InputError(f"--pass-config is {one!r}, expected NAME=VALUE")
        found[name] = int(value) if value.isdigit() else _WORDS.get(value.lower(), value)
    return checked(found)


_PLACES = {"": "relay.transform", "qnn": "relay.qnn.transform", "tir": "tir.transform"}
"""The modules that have passes, by what stands before their names."""


def parse_pass_list_str(input_string: str) -> list[str]:
    """The names of TVM's passes in ``input_string``, with commas between them; an ArgumentTypeError, as
    argparse takes it, if TVM has none of a name."""
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
