"""The table of processors: measured rows, relatives, estimates, and their use by targets."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tvmlite.commands.doctor import machine_rows
from tvmlite.machine import table
from tvmlite.machine.target import Target

X86 = "llvm -mtriple=x86_64-linux-gnu -mcpu="


@pytest.mark.parametrize(
    ("cpu", "name", "source"),
    [
        ("znver4", "AMD Zen 4", "measured"),
        ("znver3", "AMD Zen 3", table.TUNED),
        ("znver2", "znver2", "taken from AMD Zen 3"),
        ("icelake-server", "icelake-server", "taken from Intel Granite Rapids"),
        ("haswell", "", "estimated"),
        ("x86-64-v4", "", "estimated"),
    ],
)
def test_a_machine_tells_the_source_of_its_numbers(cpu: str, name: str, source: str) -> None:
    machine = Target.parse(f"{X86}{cpu}").machine

    assert (machine.name, machine.source) == (name, source)


@pytest.mark.slow
@pytest.mark.parametrize(
    "cpu", [*table.MEASURED, *" ".join(table._SIMILAR_PROCESSORS.values()).split(), "haswell"]
)
@pytest.mark.parametrize("options", ["", " -vector-bits=256", " -mattr=-avx512f", " -num-cores=48"])
def test_vectors_and_cores_of_a_machine_are_those_of_the_target(cpu: str, options: str) -> None:
    target = Target.parse(f"{X86}{cpu}{options}")
    machine = target.machine

    assert machine.vector_bits == target.vector_bits
    assert machine.vector_registers == target.vector_registers
    assert machine.cores == target.num_cores


def test_llvm_knows_every_processor_of_the_table() -> None:
    for cpu in (*table.MEASURED, *" ".join(table._SIMILAR_PROCESSORS.values()).split()):
        assert Target.parse(f"{X86}{cpu}").cpu == cpu


def test_vectors_of_a_row_agree_with_llvm() -> None:
    for cpu, row in table.MEASURED.items():
        target = Target.parse(f"{X86}{cpu}")
        assert (row.vector_bits, row.vector_registers) == (target.vector_bits, target.vector_registers)


@pytest.mark.parametrize("row", table.MEASURED.values(), ids=lambda row: row.name)
def test_farther_caches_are_larger(row: table.Machine) -> None:
    sizes = [cache.size for cache in row.caches if cache.size]

    assert sizes == sorted(set(sizes))
    assert row.working_sets.winograd_tiles <= sizes[1]


def test_a_processor_with_avx512_disabled_is_scheduled_like_one_without() -> None:
    whole, less = (Target.parse(f"{X86}sapphirerapids{more}").machine for more in ("", " -mattr=-avx512f"))

    assert less.few_registers
    assert not less.multiply_adds_broadcast
    assert less.cost_model == Target.parse(f"{X86}haswell").machine.cost_model != whole.cost_model
    assert less.shared_cache_is_far
    assert less.caches == whole.caches


def test_an_unknown_processor_has_no_separate_additions() -> None:
    machine = Target.parse("c -vector-bits=512").machine

    assert (machine.vector_registers, machine.separate_additions) == (32, False)


def test_the_doctor_shows_known_and_unknown_machines() -> None:
    known, unknown = (dict(machine_rows(Target.parse(text))) for text in (f"{X86}graniterapids", "c"))

    assert known["machine"].startswith("Intel Granite Rapids (")
    assert known["L2 cache"] == "2 MB, of each core, bandwidth not measured"
    assert known["L3 cache"] == "size not known, shared, bandwidth not measured"
    assert unknown["machine"] == "unknown (estimated)"
    assert unknown["instructions"] == "those of C"


def test_the_table_imports_neither_llvm_nor_numpy() -> None:
    modules = "tvmlite.machine.table, tvmlite.machine.features"
    code = f"import sys, {modules}; print(sorted({{'llvmlite', 'numpy'}} & set(sys.modules)))"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout == "[]\n"
