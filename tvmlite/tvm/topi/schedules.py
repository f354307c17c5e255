"""``topi.generic.schedule_*`` and ``topi.x86.schedule_*``: the default schedule under the current target."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tvmlite import te
from tvmlite.core import arguments
from tvmlite.te.templates import templates
from tvmlite.te.tensor.tensor import Tensor
from tvmlite.tvm.absent import lookup
from tvmlite.tvm.target import plain


def schedule(outs: Tensor | Sequence[Tensor]) -> te.Schedule:
    """Return the default schedule of ``outs`` and the operations they depend on, for the current target
    (``with tvm.target.Target(...)``) or else for this machine."""
    given = [outs] if isinstance(outs, Tensor) else list(outs)
    arguments.all_instances("topi schedule: outs", given, Tensor, "a tensor")
    return templates.complete(te.create_schedule([one.op for one in given]), plain(None))


def _of_outputs(*given: Any, **_: Any) -> te.Schedule:
    """``schedule`` of the first argument that is a tensor or a sequence. TVM's functions may have a config
    before it and a layout after it."""
    outs = [one for one in given if isinstance(one, (Tensor, list, tuple))]
    return schedule(outs[0] if outs else given[0] if given else ())


def scheduling(module: str) -> Callable[[str], Any]:
    """The ``__getattr__`` of a module in which every ``schedule_...`` is ``schedule``: the schedule is chosen
    by the computes, not by the operator's name."""

    def attribute(name: str) -> Any:
        if name.startswith("schedule_") or name == "default_schedule":
            return _of_outputs
        return lookup(module, name)

    return attribute
