"""The stages for one model, each in its own process, so that a crash or a hang does not end the benchmark.

    python -m trained.worker STAGE JOB.json

The stages are ``reference`` (the reference results of ONNX Runtime), ``check`` (a cold compilation, the
comparison of its results with these, and the export of the library), ``peer`` (whether OpenVINO can run the
model without crashing), ``time`` (interleaved runs of the runtimes) and ``loaded`` (runs of the exported
library in a process that only loads it). A stage appends its events to the job's file ``events``, one line of
JSON each.
"""

from __future__ import annotations

import json
import os
import re
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from trained.answers import QUANTIZED_TOLERANCE, TOLERANCE, as_array, differing, gap, load
from trained.events import first_line, say
from trained.reference import reference_run

PAUSE = 0.2
"""Seconds between runtimes: the threads of some spin after a run."""

MEASUREMENT_SECONDS = 0.1
"""The least duration of a measurement, in seconds."""

CLOCKS: dict[str, Callable[[], float]] = {"wall": time.perf_counter, "cpu": time.process_time}


def main() -> None:
    """Run one stage."""
    stage, path = sys.argv[1:]
    job = json.loads(Path(path).read_text())
    limit = int(job["memory"] * 2**30)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    stages = {"reference": reference_run, "check": check, "peer": peer, "time": time_interleaved}
    (stages | {"loaded": loaded})[stage](job)


def check(job: Mapping[str, Any]) -> None:
    """Compile with an empty cache, run at every size with one thread and two, and export."""
    start = time.perf_counter()
    from tvmlite.core.errors import TvmliteError
    from tvmlite.driver import compile
    from tvmlite.relay.frontend import from_onnx

    try:
        lib = compile(from_onnx(job["path"], given_shapes(job)))
        seconds = time.perf_counter() - start
        # VmHWM is of this program alone; getrusage would include the process from which it was forked.
        peak = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
        assert peak
        processor = time.process_time()
        say(
            job,
            "compiled",
            seconds=seconds,
            processor_seconds=processor,
            peak_gb=int(peak[1]) / 1e6,
            kernels=len(lib.signature.kernels),
        )
        _compare(job, lib)
        if job.get("export", True):
            lib.export(job["library"])
            say(job, "exported", bytes=Path(job["library"]).stat().st_size)
    except TvmliteError as error:
        say(job, "refused", why=f"{type(error).__name__}: {error}")
    except Exception as error:
        say(job, "failed", why=f"{type(error).__name__}: {first_line(error)}")
        raise


def _compare(job: Mapping[str, Any], lib: Any) -> None:
    """Report the errors of the results at each size, for one thread and two."""
    from tvmlite import runtime

    for threads in (1, 2):
        runtime.set_num_threads(threads)
        for size, (inputs, answers) in enumerate(zip(load(job["inputs"]), load(job["answers"]), strict=True)):
            made = {name: np.asarray(one) for name, one in lib.run(inputs).items()}
            say(
                job,
                "compared",
                threads=threads,
                size=size,
                gap=gap(made, answers),
                why=differing(made, answers),
            )


def peer(job: Mapping[str, Any]) -> None:
    """Run OpenVINO once at every size: a crash of it must not end the timing of tvmlite."""
    import runtimes

    try:
        runs = runtimes.openvino_runs(job["path"], job["threads"])
        for inputs in load(job["inputs"]):
            runs(inputs)()
    except Exception as error:
        say(job, "peer", name="openvino", why=" ".join(str(error).split())[:300])


def time_interleaved(job: Mapping[str, Any]) -> None:
    """Time tvmlite, the peers, and the exported library in a process that only loads it, at every size."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: job["threads"]])
    import runtimes

    from tvmlite import runtime
    from tvmlite.driver import compile
    from tvmlite.relay.frontend import from_onnx

    lib = compile(from_onnx(job["path"], given_shapes(job)))
    runtime.set_num_threads(job["threads"])
    makers = {"onnxruntime": runtimes.onnxruntime_runs, "openvino": runtimes.openvino_runs}
    peers = {name: makers[name](job["path"], job["threads"]) for name in job["peers"]}
    tolerance = QUANTIZED_TOLERANCE if job["quantized"] else TOLERANCE
    with subprocess.Popen(
        [sys.executable, "-m", "trained.worker", "loaded", job["self"]],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as child:
        for size, (inputs, answers) in enumerate(zip(load(job["inputs"]), load(job["answers"]), strict=True)):
            runs = {name: make(inputs) for name, make in peers.items()}
            runs = dict(_correct_peers(job, runs, list(answers.values()), tolerance, size))
            ours = {"tvmlite": lambda given=inputs: lib.run(given)}
            times: dict[str, list[float]] = {name: [] for name in (*ours, "loaded", *runs)}
            for _ in range(job["rounds"]):
                for name, run in (ours | runs).items():
                    time.sleep(PAUSE)
                    times[name] += measure(run, job["clock"])
                    if name == "tvmlite":
                        time.sleep(PAUSE)
                        times["loaded"] += _measure_loaded(child, size)
            medians = {name: float(np.median(seconds)) for name, seconds in times.items()}
            least = {name: min(seconds) for name, seconds in times.items()}
            say(job, "timed", size=size, median=medians, least=least, load=os.getloadavg()[0])
        assert child.stdin
        child.stdin.close()


def _correct_peers(
    job: Mapping[str, Any], runs: Mapping[str, Any], want: list[np.ndarray], tolerance: float, size: int
) -> Iterator[tuple[str, Callable[[], object]]]:
    """The peers whose results agree with the reference: a wrong result is not used as a measure of speed."""
    from tvmlite.model.example_inputs import relative_gap

    for name, run in runs.items():
        try:
            made = [np.array(as_array(one)) for one in run()]
            off = max((_loose_gap(a, b, relative_gap) for a, b in zip(made, want, strict=True)), default=0.0)
            why = "" if off <= tolerance else f"its answer is off by {off:.1e}"
        except Exception as error:
            why = first_line(error)
        if why:
            say(job, "peer", name=name, size=size, why=why)
        else:
            yield name, run


def _loose_gap(made: np.ndarray, want: np.ndarray, relative_gap: Callable[..., float]) -> float:
    """``relative_gap`` for any dtypes: OpenVINO may choose another one for integers."""
    return relative_gap(made.astype(want.dtype).reshape(want.shape), want)


def _measure_loaded(child: subprocess.Popen[str], size: int) -> list[float]:
    """A measurement by the process that only loads the library."""
    assert child.stdin
    assert child.stdout
    child.stdin.write(f"{size}\n")
    child.stdin.flush()
    answer = child.stdout.readline()
    if not answer:
        raise RuntimeError("the process that loads the exported library ended")
    return json.loads(answer)


def loaded(job: Mapping[str, Any]) -> None:
    """For each size read from standard input, print the seconds of a measurement of the exported library."""
    from tvmlite import runtime

    lib = runtime.load(job["library"])
    runtime.set_num_threads(job["threads"])
    sets = load(job["inputs"])
    for line in sys.stdin:
        inputs = sets[int(line)]
        print(json.dumps(measure(lambda given=inputs: lib.run(given), job["clock"])), flush=True)


def given_shapes(job: Mapping[str, Any]) -> dict[str, tuple[int | str, ...]] | None:
    """The shapes to compile for, if the list of packages gives any."""
    return {name: tuple(shape) for name, shape in job["hint"]["shapes"].items()} or None


def measure(run: Callable[[], object], clock: str) -> list[float]:
    """The seconds of each call, by ``clock``, for at least ``MEASUREMENT_SECONDS`` seconds, after one call
    that warms up."""
    now = CLOCKS[clock]
    run()
    seconds: list[float] = []
    end = time.perf_counter() + MEASUREMENT_SECONDS
    while time.perf_counter() < end or not seconds:
        start = now()
        run()
        seconds.append(now() - start)
    return seconds


if __name__ == "__main__":
    main()
