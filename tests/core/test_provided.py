"""Functions provided by later layers are found in any import order, and named only by those layers."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tvmlite.core.provided import provide, provided

CORE = Path(__file__).resolve().parents[2] / "tvmlite" / "core"


def test_the_last_provider_wins(monkeypatch: pytest.MonkeyPatch) -> None:
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
def test_the_graph_level_does_not_import_its_providers_but_finds_them(name: str, module: str) -> None:
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
def test_the_core_names_no_module_of_later_layers(name: str) -> None:
    assert '"tvmlite.' not in (CORE / f"{name}.py").read_text(encoding="utf-8")
