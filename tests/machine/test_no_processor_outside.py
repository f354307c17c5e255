"""Facts about individual processors are found only in ``tvmlite/machine``."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "tvmlite"

MAKERS = "amd intel nvidia ampere_computing qualcomm samsung fujitsu hygon zhaoxin"
PROCESSORS = "ryzen epyc threadripper athlon opteron xeon pentium celeron graviton altra grace a64fx thunderx"
DESIGNS = (
    "zen zen1 zen2 zen3 zen4 zen5 zen6 nehalem westmere sandybridge ivybridge haswell broadwell skylake "
    "cascadelake cooperlake cannonlake icelake tigerlake rocketlake alderlake raptorlake arrowlake lunarlake "
    "sapphirerapids emeraldrapids graniterapids diamondrapids sierraforest granite sapphire emerald goldmont "
    "gracemont tremont silvermont knl neoverse cortex firestorm"
)
WORDS = frozenset(f"{MAKERS} {PROCESSORS} {DESIGNS}".split())

WORD = re.compile(r"[a-z]+[0-9]*", re.IGNORECASE)

EXCEPT = {
    "fuzz/run/case.py": {"haswell"},
    "fuzz/quantized/check.py": {"haswell"},
    "tvm/absent/modules.py": {"intel"},
    "tvm/absent/names.py": {"intel", "cascadelake", "sapphirerapids", "skylake"},
    "tvm/absent/relay.py": {"intel"},
    "tvm/target/__init__.py": {"intel"},
    "tvm/testing/__init__.py": {"cascadelake", "skylake"},
}
"""The allowed words per file: targets of randomly compiled programs, and names from TVM."""

EXAMPLE = "-mcpu=znver4"
"""The example target used in docstrings."""

FILES = sorted(p for p in PACKAGE.rglob("*.py") if p.relative_to(PACKAGE).parts[0] != "machine")


def names_in(source: str) -> set[str]:
    """The words of ``WORDS``, and words like ``znver3``, in the names, strings and comments of ``source``."""
    words = {word.lower() for word in WORD.findall(source.replace(EXAMPLE, "").replace("_", " "))}
    return {word for word in words if word in WORDS or word.startswith("znver")}


def test_files_outside_machine_name_no_processor() -> None:
    found = {
        path.relative_to(PACKAGE).as_posix(): names_in(path.read_text(encoding="utf-8")) for path in FILES
    }

    assert {name: words for name, words in found.items() if words} == EXCEPT


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ('if target.cpu == "znver4": pass', {"znver4"}),
        ("x = 1  # on a Zen 3", {"zen"}),
        ('"""Tuned on Intel\'s processors."""', {"intel"}),
        ("MAKERS = target.maker", set()),
        ("INTEL_AHEAD = 3", {"intel"}),
        ('"llvm -mcpu=cortex-a72"', {"cortex"}),
    ],
)
def test_names_are_found_in_code_and_comments(source: str, found: set[str]) -> None:
    assert names_in(source) == found


def test_no_file_compares_the_name_of_a_target_processor() -> None:
    asks = re.compile(r"\.cpu\s*(==|!=|in\b)|\.maker\b(?!s)")

    assert [p for p in FILES if asks.search(p.read_text(encoding="utf-8"))] == []
