"""Optional dependencies are installed from where the package itself came from."""

from __future__ import annotations

import importlib.metadata
import json
from pathlib import Path

import pytest

from tvmlite.core import extras

ROOT = Path(__file__).resolve().parents[2]


class Installed:
    """A distribution as installed by pip; ``origin`` is what pip recorded about its source."""

    def __init__(self, origin: dict[str, object] | None) -> None:
        self.origin = origin

    def read_text(self, name: str) -> str | None:
        assert name == "direct_url.json"
        return None if self.origin is None else json.dumps(self.origin)


def test_extras_of_a_checkout_are_installed_from_its_folder() -> None:
    assert extras.how_to_install("onnx") == f"pip install '{ROOT}[onnx]'"


@pytest.mark.parametrize(
    ("origin", "command"),
    [
        (None, "pip install 'tvmlite[tune]'"),
        ({"url": "file:///home/a%20b/tvmlite", "dir_info": {}}, "pip install '/home/a b/tvmlite[tune]'"),
        ({"url": "file:///tmp/t-1-py3.whl", "archive_info": {}}, "pip install '/tmp/t-1-py3.whl[tune]'"),
        (
            {"url": "https://a.org/t.git", "vcs_info": {"vcs": "git", "commit_id": "1"}},
            "pip install 'tvmlite[tune] @ git+https://a.org/t.git'",
        ),
    ],
)
def test_extras_of_an_installed_package_come_from_its_origin(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, origin: dict[str, object] | None, command: str
) -> None:
    monkeypatch.setattr(extras, "__file__", str(tmp_path / "tvmlite" / "core" / "extras.py"))
    monkeypatch.setattr(importlib.metadata, "distribution", lambda name: Installed(origin))

    assert extras.how_to_install("tune") == command
