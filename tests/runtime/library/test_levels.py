"""Choosing among the levels in the metadata of a library, and damaged metadata."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tvmlite.core.abi.signature import Signature
from tvmlite.core.errors import LibraryError
from tvmlite.runtime.library import levels

PATH = Path("net.so")
ENTRY = Signature("net", ()).to_json()
PLAIN: dict[str, Any] = {"entry": ENTRY, "target": "llvm -mcpu=x", "features": []}


def has_only(monkeypatch: pytest.MonkeyPatch, *present: str) -> None:
    """Pretend that the processor has just these instruction sets."""
    monkeypatch.setattr(levels, "missing_features", lambda names: [n for n in names if n not in present])


def row(name: str, *features: str) -> dict[str, Any]:
    return {"name": name, "symbol": f"net_on_{name}", "features": list(features)}


def test_a_library_without_levels_uses_its_own_name_as_symbol() -> None:
    fields, symbol = levels.select_level(PATH, PLAIN)
    assert (symbol, fields[levels.CPU_LEVEL]) == ("net", "")


def test_the_last_level_supported_by_the_processor_is_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TVMLITE_CPU_LEVEL", raising=False)
    has_only(monkeypatch, "a", "b")
    fields = PLAIN | {"levels": [row("low"), row("middle", "a", "b"), row("high", "a", "b", "c")]}
    assert levels.select_level(PATH, fields)[1] == "net_on_middle"
    monkeypatch.setenv("TVMLITE_CPU_LEVEL", "low")
    assert levels.select_level(PATH, fields)[0][levels.CPU_LEVEL] == "low"
    monkeypatch.setenv("TVMLITE_CPU_LEVEL", "high")
    with pytest.raises(LibraryError, match="TVMLITE_CPU_LEVEL is 'high', for which this processor lacks c"):
        levels.select_level(PATH, fields)


def test_a_library_with_one_level_ignores_the_environment_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TVMLITE_CPU_LEVEL", "low")
    assert (
        levels.select_level(PATH, PLAIN | {"levels": [{"name": "", "symbol": "net_compiled"}]})[1]
        == "net_compiled"
    )


def test_the_error_names_the_missing_features_if_no_level_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TVMLITE_CPU_LEVEL", raising=False)
    has_only(monkeypatch)
    fields = PLAIN | {"levels": [row("middle", "a"), row("high", "a", "b")]}
    with pytest.raises(
        LibraryError, match=r"net\.so was compiled for middle, high; even .* processor lacks a\n"
    ):
        levels.select_level(PATH, fields)
    with pytest.raises(LibraryError, match=r"was compiled for 'llvm -mcpu=x'; this .* processor lacks z\n"):
        levels.select_level(PATH, PLAIN | {"features": ["z"]})


@pytest.mark.parametrize(
    "rows",
    [[], 3, [3], [{}], [{"name": 1}], [{"name": "a", "features": "avx"}], [{"name": "a", "features": [1]}]],
)
def test_damaged_levels_are_refused(rows: object) -> None:
    with pytest.raises(LibraryError, match=r"the metadata of net\.so cannot be read: its levels are"):
        levels.select_level(PATH, PLAIN | {"levels": rows})
