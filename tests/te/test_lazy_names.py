"""te loads the module of a name on first use; type checkers see the same names."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from tvmlite import te

STUB = Path(te.__file__).with_suffix(".pyi")


def test_the_stub_has_the_names_of_te() -> None:
    tree = ast.parse(STUB.read_text(encoding="utf-8"))
    stubs = {alias.asname for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert stubs == set(dir(te))


def test_every_name_can_be_loaded() -> None:
    assert [name for name in dir(te) if getattr(te, name, None) is None] == []


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match=r"module 'tvmlite\.te' has no attribute 'tensr'"):
        getattr(te, "tensr")  # noqa: B009


def test_importing_te_loads_no_module_but_extensions() -> None:
    program = "import sys, tvmlite.te; print([m for m in sys.modules if m.startswith('tvmlite.te.')])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['tvmlite.te.extensions']"
