"""``tvm.testing.plugin``: runs tests that take ``target`` and ``dev`` for each CPU target."""

from __future__ import annotations

from typing import Any

from tvmlite.tvm.runtime.devices import device
from tvmlite.tvm.testing import enabled_targets


def pytest_generate_tests(metafunc: Any) -> None:
    """Parametrize ``target`` and ``dev``, unless the test's own marks do."""
    wanted = [name for name in ("target", "dev") if name in metafunc.fixturenames]
    marks = metafunc.definition.iter_markers("parametrize")
    given = {name for mark in marks for name in _names(mark.args[0])}
    if not wanted or given & {"target", "dev"}:
        return
    rows = [{"target": target, "dev": device(target)} for target, _ in enabled_targets()]
    values = [tuple(row[name] for name in wanted) for row in rows]
    metafunc.parametrize(tuple(wanted), values, ids=[row["target"] for row in rows])


def _names(given: Any) -> list[str]:
    return [one.strip() for one in given.split(",")] if isinstance(given, str) else list(given)
