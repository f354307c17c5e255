"""Results by what was measured."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tvmlite.core.errors import UnsupportedError
from tvmlite.core.span import Span
from tvmlite.tvm.autotvm.logs import decode, encode, measure_str_key
from tvmlite.tvm.autotvm.measure.base import MeasureInput, MeasureResult


class Database:
    """Keeps results by inputs."""

    def load(self, inp: MeasureInput, get_all: bool = False) -> Any:
        """The latest result of ``inp``, or all; None if there is none."""
        raise NotImplementedError

    def save(self, inp: MeasureInput, res: MeasureResult, extend: bool = False) -> None:
        """Keep ``res``, in place of earlier results or beside them."""
        raise NotImplementedError


class DummyDatabase(Database):
    """A database in memory."""

    def __init__(self) -> None:
        self.db: dict[str, list[str]] = {}

    def load(self, inp: MeasureInput, get_all: bool = False) -> Any:
        """See ``Database``."""
        results = [decode(row)[1] for row in self.db.get(measure_str_key(inp), ())]
        if get_all:
            return results
        return max(results, key=lambda one: one.timestamp, default=None)

    def save(self, inp: MeasureInput, res: MeasureResult, extend: bool = False) -> None:
        """See ``Database``."""
        key = measure_str_key(inp)
        self.db[key] = [*(self.db.get(key, ()) if extend else ()), encode(inp, res)]

    def filter(self, func: Callable[[MeasureInput, Sequence[MeasureResult]], bool]) -> list[Any]:
        """Pairs of inputs and their latest results, of those for which ``func(input, results)`` is true."""
        found = []
        for rows in self.db.values():
            pairs = [decode(row) for row in rows]
            results = [res for _, res in pairs]
            if func(pairs[0][0], results):
                found.append((pairs[0][0], max(results, key=lambda one: one.timestamp)))
        return found

    def flush(self) -> None:
        """Forget all."""
        self.db = {}


class RedisDatabase(Database):
    """TVM's database on a Redis server, which is not here."""

    def __init__(self, db_index: int = 15) -> None:
        raise UnsupportedError(
            "RedisDatabase: no server is asked",
            Span.of_caller(),
            "DummyDatabase(), or callback.log_to_file(path)",
        )


def filter_inputs(
    db: Database, measure_inputs: Sequence[MeasureInput], retry: bool = False
) -> tuple[list[MeasureResult | None], list[MeasureInput]]:
    """The results that ``db`` has for ``measure_inputs``, None where it has none, and the inputs that it
    has none for; with ``retry`` failed ones count as none."""
    found = [db.load(one) for one in measure_inputs]
    known = [None if one is None or (retry and one.error_no != 0) else one for one in found]
    return known, [inp for inp, one in zip(measure_inputs, known, strict=True) if one is None]
