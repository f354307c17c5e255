"""``sys.modules["tvm"] = tvmlite.tvm`` gives one copy of each module."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import sys
import tvmlite.tvm
sys.modules["tvm"] = tvmlite.tvm
import tvm
import tvm.testing
import tvm.contrib.utils
from tvm.contrib import cc
from tvm import nd
assert tvm is tvmlite.tvm
assert tvm.testing is tvmlite.tvm.testing
assert tvm.contrib.utils is sys.modules["tvmlite.tvm.contrib.utils"]
assert tvm.contrib.utils.__spec__.name == "tvmlite.tvm.contrib.utils"
assert cc is tvmlite.tvm.contrib.cc and nd is tvmlite.tvm.nd
try:
    import tvm.no_such_module
except ModuleNotFoundError as error:
    assert "tvmlite.tvm.no_such_module" in str(error), error
else:
    raise AssertionError("found a module that is not there")
"""


def test_the_alias_gives_the_same_modules() -> None:
    subprocess.run([sys.executable, "-c", PROGRAM], check=True)


def test_without_the_alias_the_finder_finds_nothing() -> None:
    program = "import tvmlite.tvm, importlib.util as u\nassert u.find_spec('tvm') is None"
    subprocess.run([sys.executable, "-c", program], check=True)
