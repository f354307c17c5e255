"""What rooms on the right provide is found, whoever was imported first, and named on the right alone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tvmlite.core.provided import provide, provided

CORE = Path(__file__).resolve().parents[2] / "tvmlite" / "core"


def test_what_is_provided_last_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tvmlite.core.provided._PROVIDERS", {})
    provide("answer", lambda: 41)
    provide("answer", lambda: 42)

    assert provided("answer") == 42


@pytest.mark.parametrize(
    ("name", "module"),
    [
        ("compile", "tvmlite.driver"),
        ("faster_layers", "tvmlite.tuning.layer_precision.faster_layers"),
    ],
)
def test_the_graph_level_is_imported_without_what_it_asks_for_and_finds_it(name: str, module: str) -> None:
    program = (
        "import sys\n"
        "from tvmlite import relay\n"
        f"print('{module}' in sys.modules)\n"
        "from tvmlite.core.provided import provided\n"
        f"print(provided('{name}').__module__)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert done.stdout.split() == ["False", module]


@pytest.mark.parametrize("name", ["provided", "techniques"])
def test_the_core_names_no_module_on_its_right(name: str) -> None:
    assert '"tvmlite.' not in (CORE / f"{name}.py").read_text(encoding="utf-8")
