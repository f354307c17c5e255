"""Config spaces and configurations of AutoTVM's templates, over ``te.space``.

Differences from ``te.space``: the policies for reordering and annotating are TVM's, a split with policy
``factors`` has no tail, and defining a knob again replaces its settings.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from tvmlite.core.errors import ScheduleError, UnsupportedError
from tvmlite.core.span import Span
from tvmlite.te.space import config as ours
from tvmlite.te.space import knobs
from tvmlite.te.space.choices import AnnotateChoice, Choice, ReorderChoice, SplitChoice
from tvmlite.te.space.config import VirtualAxis as VirtualAxis
from tvmlite.te.space.rules import RuleSpace
from tvmlite.tvm.absent import refusing
from tvmlite.tvm.autotvm.task.entities import AnnotateEntity as AnnotateEntity
from tvmlite.tvm.autotvm.task.entities import OtherOptionEntity as OtherOptionEntity
from tvmlite.tvm.autotvm.task.entities import ReorderEntity as ReorderEntity
from tvmlite.tvm.autotvm.task.entities import SplitEntity as SplitEntity
from tvmlite.tvm.autotvm.task.entities import entity, from_json, to_json
from tvmlite.tvm.autotvm.task.indexed import Indexed


class InstantiationError(ScheduleError):
    """A template has called ``cfg.raise_error`` for its configuration."""


class NoSuchSplit(ScheduleError, RuntimeError):
    """No split of a knob satisfies the constraints. It is also a RuntimeError, as in TVM."""


class _Knobs(ours.Config):
    """TVM's methods to define knobs, and the errors that a template reports for a configuration."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.errors: list[str] = []
        self.code_hash: str | None = None
        self.cost: float | None = None

    def define_split(self, name: str, axis: Any, policy: str = "factors", **kwargs: Any) -> Any:  # type: ignore[override]
        """Define a knob that splits a loop into ``num_outputs`` loops; see ``te.space`` for the rest."""
        kwargs.setdefault("num_outputs", 2)
        kwargs.setdefault("no_tail", policy == "factors")
        return super().define_split(name, axis, policy=policy, **kwargs)

    def define_reorder(self, name: str, axes: Sequence[Any], policy: str, **kwargs: Any) -> Any:  # type: ignore[override]
        """Define a knob for the order of ``axes``. ``candidate``, ``spatial`` and ``reduce`` are lists of
        lists of axes; ``interval`` is the first position and the position after the last."""
        places = {axis: place for place, axis in enumerate(axes)}
        match policy, kwargs:
            case "candidate", {"candidate": given}:
                orders = [[places[axis] for axis in one] for one in given]
            case "interval_all", {"interval": (int() as begin, int() as end)}:
                return super().define_reorder(name, axes, policy, interval=(begin, end - 1))
            case "interleave", {"spatial": spatial, "reduce": reduce}:
                outer = [[places[axis] for axis in chain[:-1]] for chain in spatial]
                inner = [[places[axis] for axis in chain[-1:]] for chain in spatial]
                inner += [[places[axis] for axis in chain] for chain in reduce]
                orders = [[*_merged(outer), *_merged(inner)]]
            case "interleave_cuda", _:
                raise UnsupportedError(
                    "define_reorder: policy 'interleave_cuda' is for GPUs", Span.of_caller()
                )
            case _:
                return super().define_reorder(name, axes, policy)
        return super().define_reorder(name, axes, "candidate", candidate=orders)

    def define_annotate(self, name: str, axes: Sequence[Any], policy: str, **kwargs: Any) -> Any:  # type: ignore[override]
        """Define a knob that annotates ``axes``. ``policy`` is one of TVM's: ``unroll``, ``vec``,
        ``try_unroll``, ``try_vec``, ``try_unroll_vec``. At most one loop of a nest is vectorized."""
        words = policy.replace("try", "none").split("_")
        if policy in ("bind_gpu", "bind_gpu_virtual", "locate_cache"):
            raise UnsupportedError(
                f"define_annotate: policy {policy!r} is for GPUs",
                Span.of_caller(),
                "'try_unroll_vec' is for CPUs",
            )
        if set(words) <= {"none", "unroll", "vec"}:
            every = itertools.product(words, repeat=len(axes))
            chosen = [one for one in every if one.count("vec") <= 1]
            self._define(name, lambda: [AnnotateEntity(one) for one in chosen])
            return list(axes)
        return super().define_annotate(name, axes, policy, **kwargs)

    def define_knob(self, name: str, candidate: Sequence[Any]) -> None:
        """Define a knob with the values ``candidate``."""
        self._define(name, lambda: [entity(one) for one in knobs.option_choices(list(candidate))])

    def add_flop(self, flop: Any) -> None:
        """Add ``flop``, a number or a constant expression, to the arithmetic operations of the task."""
        super().add_flop(float(getattr(flop, "value", flop)))

    def raise_error(self, msg: str) -> None:
        """Record ``msg`` as a reason why this configuration cannot be used."""
        self.errors.append(msg)

    def valid(self) -> bool:
        """Whether the template has reported no error for this configuration."""
        return not self.errors

    def __iter__(self) -> Iterator[str]:
        return iter(self._settings())

    @staticmethod
    def axis(length: Any) -> VirtualAxis:  # type: ignore[override]
        """A stand-in for a loop of ``length`` iterations; ``length`` may already be one."""
        return length if isinstance(length, VirtualAxis) else ours.Config.axis(length)

    reduce_axis = axis


class TransformSpace(list[Any]):
    """The possible settings of a knob, in order."""

    @property
    def entities(self) -> list[Any]:
        """The settings."""
        return list(self)

    @property
    def num_output(self) -> int:
        """The number of loops of a split, reorder or annotate setting; 0 for other knobs."""
        match self[0]:
            case SplitEntity(size=each) | ReorderEntity(permutation=each) | AnnotateEntity(annotations=each):
                return len(each)
        return 0


class ConfigSpace(_Knobs, Indexed):
    """All combinations of its knobs' settings."""

    def _define(self, name: str, settings: Callable[[], list[Any]]) -> None:
        self.space_map[name] = TransformSpace(entity(one) for one in settings())
        self._filters.forget()

    def _at(self, index: int) -> ConfigEntity:
        return ConfigEntity.of(super()._at(index), self.code_hash)

    def __repr__(self) -> str:
        knobs = "".join(
            f"  {n:2} {name}: len={len(all)}\n" for n, (name, all) in enumerate(self.space_map.items())
        )
        return f"ConfigSpace (len={len(self)}, range_length={self.range_length}, space_map=\n{knobs})"


class ConfigEntity(_Knobs, ours.ConfigEntity):
    """A setting for every knob, with the number of the configuration in its space."""

    def __init__(
        self,
        index: int | None,
        code_hash: str | None,
        entity_map: Mapping[str, Choice],
        constraints: Any = None,
    ) -> None:
        super().__init__({name: entity(one) for name, one in entity_map.items()}, index)
        self.code_hash = code_hash

    @staticmethod
    def of(config: ours.ConfigEntity, code_hash: str | None = None) -> ConfigEntity:
        """Convert ``config`` to AutoTVM's class."""
        return ConfigEntity(config.index, code_hash, config.settings)

    @property
    def _entity_map(self) -> dict[str, Choice]:
        """The settings, under the private name that TVM's programs access."""
        return self.settings

    @_entity_map.setter
    def _entity_map(self, settings: dict[str, Choice]) -> None:
        self.settings = settings

    def get_flatten_feature(self) -> np.ndarray:
        """Return the settings as a vector of numbers, with annotations one-hot encoded."""
        row: list[float] = []
        for one in self.settings.values():
            match one:
                case SplitChoice(size):
                    row += size
                case ReorderChoice(order):
                    row += order
                case AnnotateChoice(words):
                    row += [float(word == known) for word in words for known in knobs.ANNOTATIONS]
                case other:
                    row.append(float(other.val or 0))  # type: ignore[arg-type]
        return np.array(row, np.float32)

    def get_other_option(self) -> dict[str, Any]:
        """Return the values of the knobs defined by ``define_knob``."""
        return {name: one.val for name, one in self.settings.items() if isinstance(one, OtherOptionEntity)}

    def to_json_dict(self) -> dict[str, Any]:
        """Return the configuration in the format of AutoTVM's logs."""
        rows = [to_json(name, one) for name, one in self.settings.items()]
        return {"index": self.index, "code_hash": self.code_hash, "entity": rows}

    @staticmethod
    def from_json_dict(fields: Any) -> ConfigEntity:
        """Return the configuration that ``to_json_dict`` has written; a ScheduleError if it is damaged."""
        match fields:
            case {"entity": [*rows], **rest}:
                index, code = rest.get("index"), rest.get("code_hash")
                known = isinstance(index, int) and not isinstance(index, bool) and index >= 0
                return ConfigEntity(
                    index if known else None,
                    code if isinstance(code, str) else None,
                    dict(map(from_json, rows)),
                )
        raise ScheduleError(f"a log's config is {str(fields)[:80]}, expected an entity", Span.of_caller())

    def __repr__(self) -> str:
        return f"{list(self.settings.items())},{self.code_hash},{self.index}"

    __str__ = __repr__


class KernelConfigEntity(ConfigEntity):
    """A configuration of a model's kernel; knobs are defined as in tvmlite's templates (``te.space``)."""

    define_split = ours.Config.define_split  # pyright: ignore[reportAssignmentType]
    define_reorder = ours.Config.define_reorder  # pyright: ignore[reportAssignmentType]
    define_annotate = ours.Config.define_annotate  # pyright: ignore[reportAssignmentType]
    define_knob = ours.Config.define_knob  # pyright: ignore[reportAssignmentType]

    @staticmethod
    def of(config: ours.ConfigEntity, code_hash: str | None = None) -> KernelConfigEntity:
        """Convert ``config`` to this class."""
        return KernelConfigEntity(config.index, code_hash, config.settings)


class KernelConfigSpace(Indexed, ours.ConfigSpace):
    """The config space of a model's kernel that has one template."""

    def _at(self, index: int) -> KernelConfigEntity:
        return KernelConfigEntity.of(super()._at(index))


class RuleConfigSpace(Indexed, RuleSpace):
    """The config space of a model's kernel that has several templates."""

    def _at(self, index: int) -> KernelConfigEntity:
        return KernelConfigEntity.of(super()._at(index))


class FallbackConfigEntity(_Knobs, ours.FallbackConfig):
    """The default configuration of a workload that was not measured: the first setting of each knob, unless
    the template sets another."""

    def __init__(self) -> None:
        super().__init__()
        self._lengths: dict[str, int] = {}

    def _define(self, name: str, settings: Callable[[], list[Any]]) -> None:
        super()._define(name, lambda: [entity(one) for one in settings()])

    def define_split(self, name: str, axis: Any, policy: str = "factors", **kwargs: Any) -> Any:  # type: ignore[override]
        """See ``te.space``."""
        loops = super().define_split(name, axis, policy, **kwargs)
        self._lengths[name] = loops[0].length
        return loops

    def __setitem__(self, name: str, choice: Choice) -> None:
        super().__setitem__(name, entity(choice))

    def fallback_split(self, name: str, constraints: Sequence[int]) -> None:
        """See ``te.space.FallbackConfig``; the outermost extent is computed instead of left open."""
        try:
            super().fallback_split(name, constraints)
        except ScheduleError as error:
            raise NoSuchSplit(error.message, error.span) from None
        inner = self.settings[name].size[1:]  # type: ignore[union-attr]
        self.settings[name] = SplitEntity([-(-self._lengths[name] // math.prod(inner)), *inner])

    def fallback_with_reference_log(self, ref_log: Any) -> None:
        """In TVM, take splits of a similar workload from downloaded logs; not supported."""
        raise UnsupportedError(
            "fallback_with_reference_log: no logs come with the package", Span.of_caller(), "tune the task"
        )

    def __repr__(self) -> str:
        return f"{list(self.settings.items())},{self.code_hash}"

    __str__ = __repr__


def _merged(chains: Sequence[Sequence[int]]) -> list[int]:
    """Merge ``chains``, keeping each one's order; the next element is from the longest remaining chain."""
    left = [list(chain) for chain in chains]
    made = []
    while any(left):
        made.append(max(left, key=len).pop(0))
    return made


__getattr__ = refusing(__name__)
