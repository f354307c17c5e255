"""Budgets for code size: code left out to meet one, and errors if it cannot be met."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import tvmlite
from tvmlite import relay
from tvmlite.core.errors import InputError, UnsupportedError
from tvmlite.machine.target import Target
from tvmlite.model import code_size
from tvmlite.model.artifact import CompiledModule
from tvmlite.relay.ir.nodes import Module


def model(target: str) -> CompiledModule:
    """An int8 dense layer."""
    x = relay.var("x", shape=(2, 32), dtype="int8")
    weight = relay.const(np.random.default_rng(0).integers(-128, 128, (12, 32)).astype("int8"))
    body = relay.nn.dense(x, weight, out_dtype="int32")
    return tvmlite.compile(Module.from_expr(relay.Function((x,), body)), target, name="net")


@pytest.mark.parametrize(
    ("text", "wanted"), [("32768", 32768), ("32k", 32768), ("1M", 1 << 20), (700, 700), ("8K", 8192)]
)
def test_a_budget_is_a_number_of_bytes(text: str | int, wanted: int) -> None:
    assert code_size.budget(text) == wanted


@pytest.mark.parametrize("text", ["", "0", "-1", "1.5k", "many", "32 k", "1g", "9" * 20, True])
def test_invalid_budgets_are_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"code_size is .*, expected a number of bytes, such as"):
        code_size.budget(text)


def test_a_sufficient_budget_changes_nothing(tmp_path: Path) -> None:
    lib = model("c -mcpu=cortex-m4")
    for name, most in (("a", None), ("b", "1M")):
        (tmp_path / name).mkdir()
        lib.export(tmp_path / name / "net.c", code_size=most)

    assert (tmp_path / "a" / "net.c").read_bytes() == (tmp_path / "b" / "net.c").read_bytes()
    assert "arm_acle.h" in (tmp_path / "b" / "net.c").read_text()


def test_processor_specific_code_is_left_out_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def measured(source: Path, target: Target) -> code_size.CodeSize:
        return code_size.CodeSize({"net": 900 if "arm_acle.h" in source.read_text() else 600}, "test")

    monkeypatch.setattr(code_size, "code_size", measured)

    model("c -mcpu=cortex-m4").export(tmp_path / "net.c", code_size=700)

    text = (tmp_path / "net.c").read_text()
    assert "arm_acle.h" not in text
    assert "tl_dot_rows_i8(&" in text


def test_error_of_code_over_budget_lists_functions(tmp_path: Path) -> None:
    with pytest.raises(
        UnsupportedError, match=r"net: code_size is 100 bytes, and its smallest code is .*, by "
    ) as e:
        model("c -system=none").export(tmp_path / "net.c", code_size=100)

    rows = re.findall(r"(\w+) ([\d,]+)(?:, |$)", e.value.message.split(": ")[-1])
    found = {name: int(size.replace(",", "")) for name, size in rows}
    assert {"net", "tl_dot_rows_i8"} <= found.keys()
    total = int(re.search(r"its smallest code is ([\d,]+), by", e.value.message)[1].replace(",", ""))  # type: ignore[index]
    assert total == sum(found.values())
    assert not (tmp_path / "net.c").exists()


@pytest.mark.parametrize(("target", "file"), [("c -mcpu=cortex-m4", "net.h"), ("c", "net.c")])
def test_code_size_is_only_for_standalone_c(target: str, file: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="code_size='8k' is for C for a target without a system"):
        model(target).export(tmp_path / file, code_size="8k")


def test_the_estimate_is_near_the_compiled_size(tmp_path: Path) -> None:
    if shutil.which("arm-none-eabi-gcc") is None:
        pytest.skip("no arm-none-eabi-gcc")
    lib = model("c -mcpu=cortex-m3")
    lib.export(tmp_path / "net.c")

    own = code_size.code_size(tmp_path / "net.c", lib.target)

    command = ["arm-none-eabi-gcc", "-std=c99", "-Os", "-mthumb", "-mcpu=cortex-m3", "-c", "net.c"]
    subprocess.run([*command, "-o", "net.o"], cwd=tmp_path, check=True)
    listing = ["arm-none-eabi-size", "-A", "net.o"]
    listed = subprocess.run(listing, cwd=tmp_path, capture_output=True, text=True, check=True)
    text = int(re.search(r"^\.text\s+(\d+)", listed.stdout, re.MULTILINE)[1])  # type: ignore[index]
    assert own.by == "arm-none-eabi-gcc -Os"
    assert 0.8 * text <= own.total <= 1.25 * text
    assert text / 3 <= code_size.estimate((tmp_path / "net.c").read_text()).total <= 3 * text
