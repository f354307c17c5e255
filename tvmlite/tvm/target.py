"""TVM's ``tvm.target``: what code is for, spelt as TVM does."""

from __future__ import annotations

import dataclasses
from typing import Any

from tvmlite.core import arguments
from tvmlite.core.errors import TargetError
from tvmlite.core.span import Span
from tvmlite.machine import target


class Kind(str):
    """A target's kind, which TVM gives a name."""

    __slots__ = ()

    @property
    def name(self) -> str:
        """The kind as a plain string, as TVM spells it: ``target.kind.name``."""
        return str(self)


def Target(target: Any, host: Any = None) -> target.Target:
    """``target``, a string such as ``"llvm -mcpu=znver4"``, a dict of its parts, or a target; ``host``, which
    runs what is not on the device, must be the same kind of thing: there is no device."""
    made = _parsed(target)
    if host is not None:
        _parsed(host)
    return dataclasses.replace(made, kind=Kind(made.kind))


def _parsed(given: Any) -> target.Target:
    if isinstance(given, dict):
        if "kind" not in given:
            keys = ", ".join(arguments.shown(key) for key in given)
            raise TargetError(
                f"a target of {keys or 'nothing'} has no kind",
                Span.of_caller(),
                hint='such as {"kind": "llvm"}',
            )
        rest = [f"-{key}={value}" for key, value in given.items() if key != "kind"]
        given = " ".join([str(given["kind"]), *rest])
    return target.Target.parse(given)
