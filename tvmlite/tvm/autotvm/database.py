"""Databases of measurement results, keyed by what was measured."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tvmlite.core.errors import UnsupportedError
from tvmlite.core.span import Span
from tvmlite.tvm.autotvm.logs import decode, encode, measure_str_key
from tvmlite.tvm.autotvm.measure.base import MeasureInput, MeasureResult


class Database:
    """The interface of a database that maps measurement inputs to results."""

    def load(self, inp: MeasureInput, get_all: bool = False) -> Any:
        """Return the latest result of ``inp``, or None; with ``get_all`` a list of all its results."""
        raise NotImplementedError

    def save(self, inp: MeasureInput, res: MeasureResult, extend: bool = False) -> None:
        """Store ``res`` as a result of ``inp``; it replaces earlier results unless ``extend`` is true."""
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
        """Return pairs of an input and its latest result for which ``func(input, all its results)`` is
        true."""
        found = []
        for rows in self.db.values():
            pairs = [decode(row) for row in rows]
            results = [res for _, res in pairs]
            if func(pairs[0][0], results):
                found.append((pairs[0][0], max(results, key=lambda one: one.timestamp)))
        return found

    def flush(self) -> None:
        """Remove all results."""
        self.db = {}


class RedisDatabase(Database):
    """TVM's database on a Redis server, which is not supported."""

    def __init__(self, db_index: int = 15) -> None:
        raise UnsupportedError(
            "RedisDatabase: servers are not supported",
            Span.of_caller(),
            "DummyDatabase(), or callback.log_to_file(path)",
        )


def filter_inputs(
    db: Database, measure_inputs: Sequence[MeasureInput], retry: bool = False
) -> tuple[list[MeasureResult | None], list[MeasureInput]]:
    """Look up ``measure_inputs`` in ``db``. Return a list of their results, with None for inputs that have
    none, and a list of the inputs that have none. With ``retry`` a failed result counts as none."""
    found = [db.load(one) for one in measure_inputs]
    known = [None if one is None or (retry and one.error_no != 0) else one for one in found]
    return known, [inp for inp, one in zip(measure_inputs, known, strict=True) if one is None]
