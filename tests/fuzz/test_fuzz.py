"""Random cases through both code generators, and how the fuzzer handles wrong results."""

from __future__ import annotations

import subprocess
import sys
import time
from typing import Any

import numpy as np
import pytest

from tvmlite import te
from tvmlite.cli import main
from tvmlite.fuzz import Wrong
from tvmlite.fuzz.compute.generate import KINDS
from tvmlite.fuzz.expected.check import _run_compiled, check, prepare
from tvmlite.fuzz.expected.memory import GuardedArray
from tvmlite.fuzz.program import Program
from tvmlite.fuzz.run import case, report, worker_pool
from tvmlite.fuzz.run.run import Counts, Finding, fuzz
from tvmlite.fuzz.run.shrink import failure, shrink
from tvmlite.fuzz.run.worker_pool import Member

SEED, CASES = 1, 60
"""A fixed seed, so that results depend on the code only. ``tvmlite fuzz`` tries others."""


def test_random_cases_have_no_findings() -> None:
    counts = fuzz(SEED, CASES, ["llvm", "c"], jobs=2, seconds=40)
    told = "\n".join(
        f"case {f.index}: {f.signature}: {f.text}\n{f.program.text() if f.program else ''}"
        for f in counts.findings
    )
    assert not counts.findings, f"seed {SEED}\n{told}"
    assert counts.compared > 0.7 * counts.elements
    assert "mistakes made on purpose" in report.table(counts)


def test_a_case_is_determined_by_seed_and_index() -> None:
    assert case.make(5, 7).program == case.make(5, 7).program
    assert len({case.make(5, n).program.text() for n in range(8)}) == 8


def test_a_printed_program_can_be_pasted_and_run() -> None:
    plain = {*KINDS, "split factor", "split nparts", "tile", "fuse", "reorder", "vectorize", "unroll"}
    program = next(p for n in range(500) if not set((p := case.make(1, n).program).tags) - plain)
    text = program.text().replace("check(s, ", "check(s, backends=(), ")
    exec(compile(text, "pasted", "exec"), {"__name__": "pasted"})


def test_a_program_is_serialized_for_a_worker_and_back() -> None:
    program = case.make(3, 3).program
    assert Program.from_fields(program.to_fields()) == program


def _sums() -> te.Schedule:
    a = te.placeholder((4, 6), name="A")
    k = te.reduce_axis((0, 6), name="k")
    b = te.compute((4,), lambda i: te.sum(a[i, k], axis=k), name="B")
    return te.create_schedule(b.op)


def test_a_wrong_result_is_reported_with_its_element() -> None:
    class Spoiled:
        def __call__(self, a: np.ndarray, b: np.ndarray) -> None:
            b[:] = a.sum(1)
            b[2] += 1

    job = prepare(Program(()), _sums())
    with pytest.raises(Wrong, match=r"llvm: value: B\[2\] is .* wanted .*1 of 4 elements"):
        _run_compiled(job, "llvm", Spoiled())  # type: ignore[arg-type]


def test_a_write_next_to_an_output_is_reported() -> None:
    class Overruns:
        def __call__(self, a: np.ndarray, b: np.ndarray) -> None:
            b[:] = a.sum(1)
            np.lib.stride_tricks.as_strided(b, (4 + 1,), (-4,))[1:] = 0

    with pytest.raises(Wrong, match="guard: memory beside B was written to"):
        _run_compiled(prepare(Program(()), _sums()), "c", Overruns())  # type: ignore[arg-type]


@pytest.mark.skipif(sys.platform != "linux", reason="needs mprotect")
def test_an_array_ends_at_protected_memory() -> None:
    member = Member()
    body = (
        "A = te.placeholder((5,), name='A')",
        "def nest(ins, outs):\n"
        "    ib = te.ir_builder.create()\n"
        "    x, y = ib.buffer_ptr(ins[0]), ib.buffer_ptr(outs[0])\n"
        "    with ib.for_range(0, 5) as i:\n"
        "        y[i] = x[i]\n"
        "    return ib.get()",
        "T = te.extern((5,), [A], nest, name='T')",
        "s = te.create_schedule([T.op])",
    )
    assert failure(member, Program(body), ["llvm"]) == ("", "")
    member.stop()
    guarded = GuardedArray(np.arange(5.0), at_end=True)
    assert guarded.array.ctypes.data % 4096 == 4096 - 40
    assert guarded.is_intact()


@pytest.mark.skipif(sys.platform != "linux", reason="needs mprotect")
def test_a_masked_vector_reads_nothing_after_the_last_element() -> None:
    """LLVM 22 split ``select(mask, fma(x, masked load, z), 0)`` into a load of all lanes and more."""
    body = (
        "n = te.size_var('n')",
        "Y = te.placeholder((2, n), name='Y')",
        "x, z = n.astype('float32') + 0.5, te.sqrt(n.astype('float32'))",
        "T = te.compute((2, 4), lambda i, j: te.if_then_else(j < n, x * Y[i, j] + z, 0.0), name='T')",
        "s = te.create_schedule([T.op])",
        "s[T].vectorize(T.op.axis[1])",
        "s[T].unroll(T.op.axis[0])",
    )
    member = Member()
    found = failure(member, Program(body, sizes=(("n", 1),)), ["llvm"])
    member.stop()
    assert found == ("", "")


@pytest.mark.slow
def test_a_failing_program_is_minimized(monkeypatch: pytest.MonkeyPatch) -> None:
    """Here a program fails if it multiplies: nothing else may remain."""
    program = Program(
        (
            "A = te.placeholder((7, 9), 'float32', name='A')",
            "B = te.compute((7, 9), lambda i, j: A[i, j] + 1.0, name='B')",
            "C = te.compute((7, 9), lambda i, j: te.exp(B[i, j] * 2.0) - A[i, j], name='C')",
            "s = te.create_schedule([C.op])",
            "C_i, C_j = s[C].op.axis",
            "C_io, C_ii = s[C].split(C_i, factor=4)",
            "s[C].vectorize(C_j)",
            "s[B].compute_at(s[C], C_io)",
        ),
        data="wide",
        seed=3,
    )

    def multiplies(member: Member, candidate: Program, backends: object) -> tuple[str, str]:
        return ("it multiplies", "") if any(" * " in line for line in candidate.body) else ("", "")

    monkeypatch.setattr("tvmlite.fuzz.run.shrink.failure", multiplies)
    small = shrink(program, "it multiplies", ["llvm"], 20.0)
    assert small.body[-1].startswith("s = te.create_schedule(")
    assert not any("split" in line or "te.exp" in line for line in small.body)
    assert small.data == "small"


def test_the_command_prints_its_seed_and_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fuzz", "--seed", "8", "--n", "2", "--backend", "llvm", "--jobs", "1"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("seed 8\n")
    assert "2 cases in" in out


@pytest.mark.slow
def test_an_interrupted_command_reports_what_it_tried() -> None:
    command = [sys.executable, "-m", "tvmlite", "fuzz", "--seed", "8", "--n", "10000", "--jobs", "1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "seed 8\n"
        time.sleep(1.0)
        process.terminate()
        out, err = process.communicate()
    assert process.returncode == 130, err
    assert "interrupted: " in out
    assert " cases in " in out
    assert not err


def test_a_finding_is_printed_once_when_it_occurs(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    def interrupted(*given: Any) -> Counts:
        counts = Counts(cases=5, findings=[Finding(3, "llvm: value", "B[0] is 1", None)])
        show_progress = given[5]
        show_progress(counts)
        show_progress(counts)
        counts.interrupted = True
        return counts

    monkeypatch.setattr("tvmlite.commands.fuzz.fuzz", interrupted)
    assert main(["fuzz", "--seed", "8"]) == 130
    assert capsys.readouterr().out.count("case 3: llvm: value: B[0] is 1") == 1


def test_the_command_shows_one_case(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fuzz", "--seed", "8", "--show", "1"]) == 0
    assert capsys.readouterr().out.endswith("\n")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--backend", "cuda"], "--backend 'cuda': there are llvm, c"),
        (["--n", "0"], "--n is 0, expected at least 1"),
        (["--time", "soon"], "--time is 'soon', expected a time such as 60s, 10m or 2h"),
    ],
)
def test_invalid_options_are_refused(
    options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["fuzz", *options]) == 1
    assert message in capsys.readouterr().err


def test_check_raises_for_out_of_bounds_reads() -> None:
    a, at = te.placeholder((4,), name="A"), te.placeholder((5,), "int32", name="at")
    b = te.compute((5,), lambda i: a[at[i] % 4 + 4], name="B")
    with pytest.raises(AssertionError, match="B reads outside a tensor"):
        check(te.create_schedule(b.op), backends=())


def test_error_of_a_dead_worker_has_its_last_words() -> None:
    member = Member()
    body = (
        "A = te.placeholder((5,), name='A')",
        "T = te.compute((5,), lambda i: A[i], name='T')",
        "import os, sys",
        "print('no such instruction', file=sys.stderr) or os.abort()",
    )
    how, text = failure(member, Program(body), ["llvm"])
    member.stop()
    assert how == "lower: crash"
    assert "SIGABRT: no such instruction" in text


def test_a_worker_that_got_little_cpu_time_is_not_stuck(monkeypatch: pytest.MonkeyPatch) -> None:
    member = Member(patience=5.0)
    member.last, member.cpu_seconds = time.monotonic() - 20, 1.0
    monkeypatch.setattr(worker_pool, "_cpu_seconds", lambda pid: 2.0)
    assert not member.is_stuck(0)
    monkeypatch.setattr(worker_pool, "_cpu_seconds", lambda pid: 7.0)
    assert member.is_stuck(0)
    monkeypatch.setattr(worker_pool, "_cpu_seconds", lambda pid: None)
    assert member.is_stuck(0)
