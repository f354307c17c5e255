"""Options of passes on a command line: ``name=value``."""

from __future__ import annotations

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


__getattr__ = refusing(__name__)
