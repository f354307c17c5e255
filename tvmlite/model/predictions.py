"""Schedules of a model's kernels by the model of gains that comes with the package, without a measurement."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from tvmlite.autotune.model import gains
from tvmlite.autotune.model.gains import Gains, Trust
from tvmlite.autotune.search.predict import Predicted, predicted
from tvmlite.core.errors import UnsupportedError
from tvmlite.core.source_digest import source_digest
from tvmlite.machine.target import Target
from tvmlite.relay.entry import tasks
from tvmlite.relay.entry.lower import anchor
from tvmlite.relay.ir.nodes import Function
from tvmlite.te.codegen.cache import ObjectCache, key_of
from tvmlite.te.space import ConfigEntity


@dataclass(frozen=True)
class Predictions:
    """What ``model`` predicts for groups on ``target``; kept in ``cache``, if there is one."""

    target: Target
    model: Gains
    cache: ObjectCache | None = None
    _text: str = field(default="", repr=False)

    @staticmethod
    def of(target: Target, cache: ObjectCache | None = None, model: Gains | None = None) -> Predictions:
        """Those of ``model``, of the package's if None; an UnsupportedError if it has been left out."""
        model = model or gains.shipped()
        if model is None:
            raise UnsupportedError(
                f"predict: the model of gains is not in the package, {gains.SHIPPED.name} is missing",
                hint="python benchmarks/train_gain_model.py makes one; or compile without predict",
            )
        return Predictions(target, model, cache, model.to_json() if cache is not None else "")

    def trust(self, group: Function) -> Trust | None:
        """What the model is worth for the operator that ``group`` is scheduled by; None where it was not
        tried on that, or on processors unlike the target's."""
        if not self.model.knows(self.target):
            return None
        return self.model.kinds.get(anchor(group).name)

    def __call__(self, group: Function, handed: Sequence[ConfigEntity] = ()) -> Predicted | None:
        """What to schedule ``group``, a tuning task, with, the configurations ``handed`` over being looked at
        first; None if it is not worth while to look: no kernel of its kind gained anything."""
        trust = self.trust(group)
        if trust is None or not trust.gaining:
            return None
        text = tasks.task_text(group)
        known = [json.dumps(config.to_json_dict()) for config in handed]
        key = key_of("prediction", source_digest(), self._text, self.target.with_cores, text, *known)
        kept = None if self.cache is None else self.cache.get(key)
        if kept is not None:
            return _decode(kept)
        found = predicted(tasks.task_of(group, self.target), self.model, trust, handed)
        if self.cache is not None:
            self.cache.put(key, _encode(found))
        return found


def _encode(found: Predicted) -> bytes:
    return json.dumps([found.config.to_json_dict(), found.gain]).encode()


def _decode(kept: bytes) -> Predicted:
    config, gain = json.loads(kept)
    return Predicted(ConfigEntity.from_json_dict(config), gain)
