"""Tasks whose schedules are generated: from a computation alone, or from the open stages of a schedule."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from tvmlite.autotune.in_force import get_config, get_lookup, get_target, using
from tvmlite.core import arguments
from tvmlite.core.errors import ScheduleError
from tvmlite.core.span import Span
from tvmlite.machine.target import Target
from tvmlite.te import space
from tvmlite.te.schedule.schedule import Schedule, create_schedule
from tvmlite.te.space import Config, encode_args
from tvmlite.te.space.task import Rules, keywords
from tvmlite.te.templates import templates as schedules
from tvmlite.te.tensor.tensor import PlaceholderOp, Tensor


def template(name: str, function: Callable[..., Any] | None = None, rules: Rules | None = None) -> Any:
    """Register a schedule function under ``name``, as a decorator or with ``function``.

    ::

        @autotune.template("matmul")
        def matmul(n, m, k):
            ...                            # te.compute, te.create_schedule
            cfg = autotune.get_config()    # or a parameter: def matmul(n, m, k, *, config)
            cfg.define_split("tile_y", y, num_outputs=2)
            ...                            # cfg["tile_y"].apply(s, C, y)
            return s, [A, B, C]

            @autotune.template("matmul")       # or: the schedule and its knobs are generated
        def matmul(n, m, k):
            ...                            # te.compute
            return [A, B, C]

    Called within ``apply_history_best`` it uses the best configuration measured for its arguments, otherwise
    the one in force, or else its defaults (``FallbackConfig``). In all cases it returns the schedule and the
    tensors. A name can be registered again, as happens when a notebook's cell is run twice: the last one
    counts. ``rules`` are as for ``te.space.template``.
    """
    if function is None:
        return functools.partial(template, name, rules=rules)
    arguments.function("template: function", function, ScheduleError)

    wanted = keywords(function)

    @functools.wraps(function)
    def scheduled(*args: Any, config: Config, target: Target) -> Any:
        settings = {"config": config, "target": target}
        with using(config, target):
            made = function(*args, **{word: settings[word] for word in wanted})
            tensors = list(made) if isinstance(made, (list, tuple)) else [made]
            return _generated(name, tensors) if all(isinstance(one, Tensor) for one in tensors) else made

    @functools.wraps(function)
    def dispatched(*args: Any) -> Any:
        lookup = get_lookup()
        found = None if lookup is None else lookup(name, encode_args(args))
        return scheduled(*args, config=found or get_config(), target=get_target())

    scheduled.__signature__ = _with_settings(inspect.signature(function))  # type: ignore[attr-defined]
    space.template(name, scheduled, rules)
    return dispatched


def _with_settings(signature: inspect.Signature) -> inspect.Signature:
    """``signature`` with keyword parameters ``config`` and ``target``, whether or not it had them."""
    own = [one for one in signature.parameters.values() if one.name not in ("config", "target")]
    last = [one for one in own if one.kind is one.VAR_KEYWORD]
    settings = [inspect.Parameter(word, inspect.Parameter.KEYWORD_ONLY) for word in ("config", "target")]
    return signature.replace(parameters=[*(one for one in own if one not in last), *settings, *last])


def complete(schedule: Schedule) -> Schedule:
    """Schedule the stages of ``schedule`` that have no primitives yet; the others stay as they are.

    ::

        s = te.create_schedule(D.op)       # C = A @ B, D = relu(C)
        s[D].parallel(D.op.axis[0])        # by hand
        autotune.complete(s)               # C: tiles, vectors, copies, with a knob for each choice

    Within a template the choices are the task's knobs, set by the configuration in force; elsewhere they are
    those predicted best. Returns ``schedule``.
    """
    if not isinstance(schedule, Schedule):
        raise ScheduleError(
            f"complete: a {type(schedule).__name__} given, expected a schedule", Span.of_caller()
        )
    return schedules.complete(schedule, get_target(), get_config())


def _generated(name: str, tensors: Sequence[Tensor]) -> tuple[Schedule, list[Tensor]]:
    results = [tensor for tensor in tensors if not isinstance(tensor.op, PlaceholderOp)]
    if not results:
        raise ScheduleError(
            f"template {name!r} gave {len(tensors)} tensors, none of which is computed", Span.of_caller()
        )
    return complete(create_schedule([tensor.op for tensor in results])), list(tensors)
