"""The thread pool: its sources agree, and its loops run every index once for any caller."""

from __future__ import annotations

import ctypes
import importlib.util
import itertools
import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from tvmlite.runtime.pool import pool

BODY = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)
needs_gcc = pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc")


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    if shutil.which("gcc") is None:
        pytest.skip("no gcc")
    folder = tmp_path_factory.mktemp("pool")
    (folder / "pool.c").write_text(pool.source())
    flags = "-std=c99 -O2 -Wall -Wextra -Wconversion -Wshadow -Wpedantic -Werror -shared -fPIC".split()
    subprocess.run(["gcc", *flags, "pool.c", "-o", "pool.so", "-lpthread"], cwd=folder, check=True)
    return ctypes.CDLL(str(folder / "pool.so"))


def compile_with(folder: Path, source: str, *flags: str) -> ctypes.CDLL:
    """Compile and load the C ``source``, which includes ``pool.c`` and so has a pool of its own."""
    (folder / "pool.c").write_text(pool.source())
    (folder / "both.c").write_text(source)
    command = [*"gcc -std=c99 -O2 -shared -fPIC both.c -o both.so -lpthread".split(), *flags]
    subprocess.run(command, cwd=folder, check=True)
    return ctypes.CDLL(str(folder / "both.so"))


def run(library: ctypes.CDLL, extent: int, code_at: int = -1) -> tuple[np.ndarray, int, set[int]]:
    """How often each index was run, the code that the loop returned, and the thread numbers seen."""
    met, threads = np.zeros(max(extent, 1), np.int64), set[int]()

    @BODY
    def body(_: int, begin: int, end: int, thread: int) -> int:
        met[begin:end] += 1
        threads.add(thread)
        return 7 if begin <= code_at < end else 0

    result = library.tvmlite_parallel_for(body, None, ctypes.c_int64(extent))
    return met[: max(extent, 0)], result, threads


@pytest.mark.parametrize("threads", [1, 2, 3, 16])
@pytest.mark.parametrize("extent", [-3, 0, 1, 2, 7, 1000, 65537])
def test_every_index_runs_once(library: ctypes.CDLL, threads: int, extent: int) -> None:
    library.tvmlite_set_num_threads(threads)

    met, code, numbers = run(library, extent)

    assert code == 0
    assert (met == 1).all()
    assert numbers <= set(range(threads))


def test_the_code_of_a_failing_iteration_is_returned(library: ctypes.CDLL) -> None:
    library.tvmlite_set_num_threads(3)

    assert run(library, 100, code_at=41)[1] == 7
    assert run(library, 100)[1] == 0


def test_a_huge_extent_does_not_overflow(library: ctypes.CDLL) -> None:
    library.tvmlite_set_num_threads(2)
    pieces: list[tuple[int, int]] = []

    @BODY
    def body(_: int, begin: int, end: int, thread: int) -> int:
        pieces.append((begin, end))
        return 0

    library.tvmlite_parallel_for(body, None, ctypes.c_int64(2**63 - 1))
    pieces.sort()
    assert pieces[0][0] == 0
    assert pieces[-1][1] == 2**63 - 1
    assert all(a[1] == b[0] for a, b in itertools.pairwise(pieces))


@pytest.mark.parametrize(("threads", "extent"), [(2, 14), (2, 35), (3, 17), (4, 100), (5, 39)])
def test_shares_differ_by_at_most_one_iteration(library: ctypes.CDLL, threads: int, extent: int) -> None:
    library.tvmlite_set_num_threads(threads)
    pieces: list[tuple[int, int]] = []

    @BODY
    def body(_: int, begin: int, end: int, thread: int) -> int:
        pieces.append((begin, end))
        return 0

    library.tvmlite_parallel_for(body, None, ctypes.c_int64(extent))
    pieces.sort()
    assert len(pieces) == 4 * threads
    cuts = [len(pieces) * n // threads for n in range(threads + 1)]
    shares = [sum(end - begin for begin, end in pieces[a:b]) for a, b in itertools.pairwise(cuts)]
    assert max(shares) - min(shares) <= 1


@pytest.mark.parametrize("threads", [3, 8])
def test_each_thread_takes_its_own_share_first(library: ctypes.CDLL, threads: int) -> None:
    library.tvmlite_set_num_threads(threads)
    together, taken = threading.Barrier(3, timeout=60), set[tuple[int, int]]()

    @BODY
    def body(_: int, begin: int, end: int, thread: int) -> int:
        taken.add((begin, thread))
        together.wait()  # no thread takes a second chunk
        return 0

    for _ in range(5):
        assert library.tvmlite_parallel_for(body, None, ctypes.c_int64(3)) == 0

    assert taken == {(0, 0), (1, 1), (2, 2)}


@pytest.mark.parametrize("held", [0, 1, 2])
def test_a_thread_that_is_done_takes_chunks_of_the_others(library: ctypes.CDLL, held: int) -> None:
    library.tvmlite_set_num_threads(3)
    counted, others_done, met = threading.Lock(), threading.Event(), np.zeros(12, np.int64)

    @BODY
    def body(_: int, begin: int, end: int, thread: int) -> int:
        if begin == 4 * held:  # the first chunk of a share: the other three must be taken by others
            return 0 if others_done.wait(60) else 1
        with counted:
            met[begin:end] += 1
            if met.sum() == 11:
                others_done.set()
        return 0

    assert library.tvmlite_parallel_for(body, None, ctypes.c_int64(12)) == 0
    assert met.sum() == 11


def swept(library: ctypes.CDLL, extent: int, code_at: int = -1) -> tuple[list[tuple[int, int, int]], int]:
    """The pieces of a sweep, (begin, end, thread), in the order in which they ran, and the returned code."""
    pieces: list[tuple[int, int, int]] = []

    @BODY
    def body(_: int, begin: int, end: int, thread: int) -> int:
        pieces.append((begin, end, thread))
        return 7 if begin <= code_at < end else 0

    code = library.tvmlite_sweep(body, None, ctypes.c_int64(extent))
    return pieces, code


def next_run(library: ctypes.CDLL, runs: ctypes.c_uint32) -> bool:
    """Begin a run; return whether its sweeps go backwards."""
    library.tvmlite_next_run(ctypes.byref(runs))
    return runs.value % 2 == 1


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("extent", [0, 1, 2, 7, 40, 1000])
def test_a_sweep_runs_every_index_once_in_either_direction(
    library: ctypes.CDLL, threads: int, extent: int
) -> None:
    library.tvmlite_set_num_threads(threads)
    runs = ctypes.c_uint32(0)
    for _ in range(4):
        next_run(library, runs)
        pieces, code = swept(library, extent)
        assert code == 0
        met = np.zeros(extent, np.int64)
        for begin, end, _thread in pieces:
            met[begin:end] += 1
        assert (met == 1).all()
    assert runs.value == 4


def test_one_thread_sweeps_backwards_in_every_second_run(library: ctypes.CDLL) -> None:
    library.tvmlite_set_num_threads(1)
    runs = ctypes.c_uint32(0)
    assert next_run(library, runs)
    backwards = [begin for begin, _, _ in swept(library, 1000)[0]]
    assert backwards == sorted(backwards, reverse=True)
    assert len(backwards) > 1
    assert not next_run(library, runs)
    assert swept(library, 1000)[0] == [(0, 1000, 0)]
    assert [piece[:2] for piece in swept(library, 1000)[0]] == [(0, 1000)]
    assert run(library, 10)[1] == 0  # other loops do not change direction


def test_each_thread_sweeps_its_own_share(library: ctypes.CDLL) -> None:
    library.tvmlite_set_num_threads(2)
    runs, shares = ctypes.c_uint32(0), {0: range(20), 1: range(20, 40)}
    for _ in range(50):
        backwards = next_run(library, runs)
        pieces, _code = swept(library, 40)
        for thread, share in shares.items():
            own = [begin for begin, _, taker in pieces if taker == thread and begin in share]
            assert own == sorted(own, reverse=backwards)


def test_a_backward_sweep_stops_at_the_first_error_code(library: ctypes.CDLL) -> None:
    library.tvmlite_set_num_threads(1)
    next_run(library, ctypes.c_uint32(0))
    pieces, code = swept(library, 16, code_at=13)
    assert code == 7
    assert [begin for begin, _, _ in pieces] == [15, 14, 13]


def test_nested_loops_run_serially(library: ctypes.CDLL) -> None:
    library.tvmlite_set_num_threads(2)
    counts: list[int] = []

    @BODY
    def outer(_: int, begin: int, end: int, thread: int) -> int:
        for _i in range(begin, end):
            met, _code, threads = run(library, 10)
            assert threads == {thread}
            counts.append(int(met.sum()))
        return 0

    library.tvmlite_parallel_for(outer, None, ctypes.c_int64(8))
    assert counts == [10] * 8


def test_concurrent_callers_are_safe(library: ctypes.CDLL) -> None:
    library.tvmlite_set_num_threads(3)
    wrong: list[int] = []

    def caller() -> None:
        for extent in range(1, 120):
            if not (run(library, extent)[0] == 1).all():
                wrong.append(extent)

    callers = [threading.Thread(target=caller) for _ in range(4)]
    for one in callers:
        one.start()
    for one in callers:
        one.join()
    assert wrong == []


def test_a_forked_child_has_its_own_pool(library: ctypes.CDLL) -> None:
    library.tvmlite_set_num_threads(2)
    assert (run(library, 100)[0] == 1).all()
    child = os.fork()
    if child == 0:
        good = all((run(library, 100)[0] == 1).all() for _ in range(20))
        tasks = Path("/proc/self/task")  # a child has one task, and then those of its own pool
        os._exit(0 if good and (not tasks.is_dir() or len(list(tasks.iterdir())) == 2) else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert (run(library, 100)[0] == 1).all()


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="needs Linux's sets of processors")
def test_workers_woken_beside_their_caller_keep_their_affinity(library: ctypes.CDLL) -> None:
    library.tvmlite_set_num_threads(3)
    run(library, 100)
    allowed = os.sched_getaffinity(0)
    tasks = {int(name) for name in os.listdir("/proc/self/task")} - {threading.get_native_id()}
    os.sched_setaffinity(0, {min(allowed)})  # only this thread: sleeping workers may be woken beside it
    try:
        for _ in range(20):
            time.sleep(0.002)
            assert (run(library, 100)[0] == 1).all()
        deadline = time.monotonic() + 10  # a worker just woken may still be moving
        while any(os.sched_getaffinity(task) != allowed for task in tasks):
            assert time.monotonic() < deadline
            time.sleep(0.01)
    finally:
        os.sched_setaffinity(0, allowed)


@needs_gcc
@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="needs Linux's sets of processors")
@pytest.mark.parametrize("busy", [0, 2], ids=["alone", "beside busy processes"])
@pytest.mark.parametrize("threads", [2, 4])
def test_threads_that_share_a_processor_sleep_while_waiting(tmp_path: Path, threads: int, busy: int) -> None:
    """A spinning thread, up to 3000 pauses per launch, would block the thread that it waits for."""
    counting = compile_with(tmp_path, COUNTING_PAUSES, "-D_GNU_SOURCE")
    counting.tvmlite_set_num_threads(threads)
    allowed = os.sched_getaffinity(0)
    one, launches = {min(allowed)}, 5000
    os.sched_setaffinity(0, one)  # inherited by the workers and the busy processes
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(busy)]
    try:
        wrong = counting.launch(launches)
    finally:
        os.sched_setaffinity(0, allowed)
        for other in others:
            other.kill()
            other.wait()

    assert wrong == 0
    assert ctypes.c_int64.in_dll(counting, "pauses").value < 3000  # the pauses of one futile wait


COUNTING_PAUSES = """
#include <stdint.h>
int64_t pauses;
#define PAUSE() (void)__atomic_add_fetch(&pauses, 1, __ATOMIC_RELAXED)
#include "pool.c"
enum { EXTENT = 64 };
static int32_t work_a_little(void *met, int64_t begin, int64_t end, int64_t thread) {
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        for (volatile int32_t turn = 0; turn < 50; turn++) {
        }
        ((int32_t *)met)[i]++;
    }
    return 0;
}
/* How many indices of so many loops were not met once. */
int32_t launch(int32_t loops) {
    int32_t met[EXTENT] = {0}, wrong = 0;
    for (int32_t loop = 0; loop < loops; loop++) {
        (void)tvmlite_parallel_for(work_a_little, met, EXTENT);
    }
    for (int32_t i = 0; i < EXTENT; i++) {
        wrong += met[i] != loops;
    }
    return wrong;
}
"""


def test_the_number_of_threads_can_be_set_and_has_a_default(
    library: ctypes.CDLL, monkeypatch: pytest.MonkeyPatch
) -> None:
    library.tvmlite_set_num_threads(5)
    assert library.tvmlite_get_num_threads() == 5
    library.tvmlite_set_num_threads(0)
    assert library.tvmlite_get_num_threads() >= 1
    monkeypatch.setenv("TVMLITE_NUM_THREADS", "3")
    library.tvmlite_set_num_threads(0)
    assert library.tvmlite_get_num_threads() == 3


@needs_gcc
def test_a_number_set_while_the_default_is_determined_is_kept(tmp_path: Path) -> None:
    """Another thread sets the number while the environment is read; simulated inside ``getenv``."""
    asked = "char *asked(const char *name) { (void)name; tvmlite_set_num_threads(5); return 0; }\n"
    both = compile_with(tmp_path, f'#include "pool.c"\n{asked}', "-Dgetenv=asked")

    assert both.tvmlite_get_num_threads() == 5
    assert both.tvmlite_get_num_threads() == 5


def test_the_clock_is_monotonic(library: ctypes.CDLL) -> None:
    library.tvmlite_now.restype = ctypes.c_int64
    times = [library.tvmlite_now() for _ in range(100)]
    assert times == sorted(times)
    assert 0 < times[-1] - times[0] < 10**9


@needs_gcc
def test_the_serial_fallback_compiles_without_warnings(tmp_path: Path) -> None:
    (tmp_path / "pool.c").write_text(pool.source())
    flags = "-DTVMLITE_SERIAL -std=c99 -Wall -Wextra -Wconversion -Wshadow -Wpedantic -Werror".split()
    subprocess.run(["gcc", *flags, "-c", "pool.c", "-o", "pool.o"], cwd=tmp_path, check=True)


@pytest.mark.parametrize("architecture", pool.ARCHITECTURES)
def test_the_stored_llvm_ir_has_the_hash_of_the_source(architecture: str) -> None:
    assert pool.source_hash() in pool.llvm_ir(f"{architecture}-unknown-linux-gnu").splitlines()[0]


@pytest.mark.skipif(importlib.util.find_spec("ziglang") is None, reason="no ziglang")
@pytest.mark.parametrize("architecture", pool.ARCHITECTURES)
def test_the_stored_llvm_ir_is_the_compiler_output(architecture: str) -> None:
    assert pool.generate(architecture) == pool.llvm_ir(f"{architecture}-linux-gnu")


@pytest.mark.parametrize("architecture", pool.ARCHITECTURES)
def test_llvmlite_parses_the_ir_and_it_defines_every_symbol(architecture: str) -> None:
    llvm = pytest.importorskip("llvmlite.binding")
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    triple = f"{architecture}-unknown-linux-gnu"
    module = llvm.parse_assembly(pool.llvm_ir(triple))
    module.verify()
    machine = llvm.Target.from_triple(triple).create_target_machine(reloc="pic")
    assert machine.emit_object(module)[:4] == b"\x7fELF"
    defined = {f.name for f in module.functions if not f.is_declaration and f.linkage.name == "weak_any"}
    assert defined == set(pool.SYMBOLS)
