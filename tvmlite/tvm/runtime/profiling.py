"""``tvm.runtime.profiling``: reports of the kernels of a run."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from tvmlite.core import arguments
from tvmlite.core.errors import InputError
from tvmlite.runtime.library.profile import Profile
from tvmlite.runtime.pool.threads import num_threads
from tvmlite.tvm.absent import refusing

_COLUMNS = ("Name", "Duration (us)", "Percent", "Device", "Count", "Hash")
_UNITS = {"Duration (us)": "microseconds", "Percent": "percent", "Count": "count"}
_DEVICE = "cpu0"


class Report:
    """The ``calls`` of a run, each a dict under TVM's column names; ``device_metrics`` holds the total time
    by device, ``configuration`` the settings of the run. ``str`` returns a table, slowest call first."""

    def __init__(
        self,
        calls: Sequence[Mapping[str, Any]],
        device_metrics: Mapping[str, Mapping[str, Any]],
        configuration: Mapping[str, Any],
    ) -> None:
        self.calls, self.device_metrics, self.configuration = calls, device_metrics, configuration

    def csv(self) -> str:
        """Return the calls as comma-separated values with a header line."""
        text = io.StringIO()
        rows = csv.writer(text, lineterminator="\n")
        rows.writerow(_COLUMNS)
        rows.writerows([one.get(name, "") for name in _COLUMNS] for one in self.calls)
        return text.getvalue()

    def json(self) -> str:
        """Return the report as JSON, for ``from_json``."""
        metrics = {name: _with_units(one) for name, one in self.device_metrics.items()}
        parts = {"calls": [_with_units(one) for one in self.calls], "device_metrics": metrics}
        return json.dumps({**parts, "configuration": _with_units(self.configuration)})

    @classmethod
    def from_json(cls, s: str) -> Report:
        """Return the report that ``json`` wrote; an InputError for any other text."""
        try:
            given = json.loads(s)
            calls = [_plain(one) for one in given["calls"]]
            metrics = {name: _plain(one) for name, one in given["device_metrics"].items()}
            return cls(calls, metrics, _plain(given["configuration"]))
        except (TypeError, ValueError, KeyError, AttributeError, RecursionError):
            raise arguments.refused("Report.from_json", s, "what Report.json gives", InputError) from None

    def table(self, sort: bool = True, aggregate: bool = True, col_sums: bool = True) -> str:
        """Return the calls as a table, the slowest first if ``sort``. With ``aggregate`` all calls of a
        kernel are one row; ``col_sums`` adds the sum of the calls and the time of the whole run."""
        calls = _together(self.calls) if aggregate else list(self.calls)
        if sort:
            calls.sort(key=lambda one: -one["Duration (us)"])
        rows = [[_shown(one.get(name, "")) for name in _COLUMNS] for one in calls]
        if col_sums:
            total = {"Name": "Sum", **{name: sum(one[name] for one in calls) for name in _UNITS}}
            last = [total, *({"Name": "Total", **one} for one in self.device_metrics.values())]
            rows += [["----------"], *([_shown(one.get(name, "")) for name in _COLUMNS] for one in last)]
        lines = [list(_COLUMNS), *rows]
        widths = [max(len(line[n]) for line in lines if n < len(line)) for n in range(len(_COLUMNS))]
        text = ["  ".join(f"{word:>{widths[n]}}" for n, word in enumerate(line)).rstrip() for line in lines]
        shown = [f"{name}: {value}" for name, value in self.configuration.items()]
        return "\n".join([*text, "", "Configuration", "-------------", *shown])

    def __str__(self) -> str:
        return self.table()


def report(profile: Profile, executor: str) -> Report:
    """Convert ``profile`` of a run by ``executor`` to TVM's report."""
    whole = max(profile.nanoseconds, 1)
    calls = []
    for symbol, nanoseconds in profile.kernels:
        name = re.fullmatch(r"(.+?)(?:_([0-9a-f]{10}))?", symbol)
        assert name is not None
        values = name[1], nanoseconds / 1e3, 100 * nanoseconds / whole, _DEVICE, 1, name[2] or ""
        calls.append(dict(zip(_COLUMNS, values, strict=True)))
    total = {"Duration (us)": whole / 1e3, "Percent": 100.0, "Device": _DEVICE, "Count": 1}
    return Report(calls, {_DEVICE: total}, {"Number of threads": num_threads(), "Executor": executor})


def _with_units(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``values``, each in a dict under its unit, or under ``string`` for text."""
    return {name: {_unit(name, one): one} for name, one in values.items()}


def _unit(name: str, value: Any) -> str:
    return _UNITS.get(name, "string" if isinstance(value, str) else "count")


def _plain(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, one in values.items() for value in one.values()}


def _together(calls: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    for call in calls:
        key = call["Name"], call.get("Hash"), call.get("Device")
        sums = {name: call[name] + found[key][name] for name in _UNITS} if key in found else {}
        found[key] = {**call, **sums}
    return list(found.values())


def _shown(value: Any) -> str:
    return f"{value:,.2f}" if isinstance(value, float) else str(value)


__getattr__ = refusing(__name__)
