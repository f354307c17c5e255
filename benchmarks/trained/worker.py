"""What is done with one model in a process of its own, so that a crash or a hang is a row and not the end.

    python -m trained.worker STAGE JOB.json

The stages are ``witness`` (what ONNX Runtime answers), ``check`` (a cold compilation, its answers beside
those, and the exported library), ``peer`` (whether OpenVINO survives the model), ``time`` (the runtimes in
turns) and ``loaded`` (turns of the exported library in a process that only loads it). A stage appends its
events to the job's file ``events``, a line of JSON each.
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

PAUSE = 0.2
"""Seconds between runtimes: the threads of some spin on after a run."""

TURN = 0.1
"""Seconds a turn takes, at least."""

CLOCKS: dict[str, Callable[[], float]] = {"wall": time.perf_counter, "cpu": time.process_time}

TOLERANCE, QUANTIZED_TOLERANCE = 2e-3, 5e-2
"""The largest ``relative_gap`` of a right answer."""

NUDGE, WEIGHT_NUDGE = 1e-5, 1e-6
"""How far inputs and weights are moved, relative to themselves, to see how far the witness moves."""

Arrays = list[dict[str, np.ndarray]]


def main() -> None:
    """Carry one stage out."""
    stage, path = sys.argv[1:]
    job = json.loads(Path(path).read_text())
    limit = int(job["memory"] * 2**30)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    {"witness": witness, "check": check, "peer": peer, "time": in_turns, "loaded": loaded}[stage](job)


def say(job: Mapping[str, Any], event: str, **what: Any) -> None:
    """Append one event."""
    with Path(job["events"]).open("a") as file:
        file.write(json.dumps({"event": event, **what}) + "\n")


def witness(job: Mapping[str, Any]) -> None:
    """Make inputs, and write them and ONNX Runtime's answers to the files ``inputs`` and ``answers``."""
    import onnx

    from trained.inputs import made_inputs
    from trained.listing import Hint
    from tvmlite.commands.bench import onnxruntime_session

    model = onnx.load(job["path"], load_external_data=False)
    say(job, "model", quantized=is_quantized(model.graph), nodes=len(model.graph.node))
    try:
        session = onnxruntime_session(job["path"], 1)
        sets = made_inputs(model, Hint(**job["hint"]))
        answers = _answers(session, sets)
        again = _answers(session, sets)
        others = _other_answers(job["path"], model, session, sets)
    except Exception as error:  # whatever ONNX Runtime ends in, it is its word on this model
        say(job, "refused by ONNX Runtime", why=first_line(error))
        return
    if any(gap(a, b) > TOLERANCE for a, b in zip(answers, again, strict=True)):
        say(job, "not reproducible", why="two runs of ONNX Runtime differ: the model draws random numbers")
        return
    save(job["inputs"], sets)
    save(job["answers"], answers)
    shapes = [{name: list(array.shape) for name, array in one.items()} for one in sets]
    sensitivity = max(gap(a, b) for other in others for a, b in zip(other, answers, strict=True))
    say(job, "witnessed", shapes=shapes, sensitivity=sensitivity)


def _answers(session: Any, sets: Arrays) -> Arrays:
    """What ``session`` answers to each set, by name."""
    names = [one.name for one in session.get_outputs()]
    return [dict(zip(names, session.run(None, one), strict=True)) for one in sets]


def _other_answers(path: str, model: Any, session: Any, sets: Arrays) -> list[Arrays]:
    """Its answers to nudged inputs, without its optimizations, and with nudged weights."""
    from tvmlite.commands.bench import onnxruntime_session

    made = [_answers(session, [nudged(one) for one in sets]), _answers(_unoptimized(path), sets)]
    if not any(one.external_data for one in model.graph.initializer):
        nudge_weights(model)
        made.append(_answers(onnxruntime_session(model.SerializeToString(), 1), sets))
    return made


def nudge_weights(model: Any) -> None:
    """Move the floats of ``model`` by about ``WEIGHT_NUDGE`` of themselves, except where all are whole."""
    from onnx import numpy_helper

    for one in model.graph.initializer:
        moved = _moved(numpy_helper.to_array(one), WEIGHT_NUDGE)
        one.CopyFrom(numpy_helper.from_array(moved, one.name))


def _unoptimized(path: str) -> Any:
    """ONNX Runtime's session that computes node by node."""
    import onnxruntime

    settings = onnxruntime.SessionOptions()
    settings.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    settings.intra_op_num_threads = 1
    settings.log_severity_level = 3
    return onnxruntime.InferenceSession(path, settings, providers=["CPUExecutionProvider"])


def check(job: Mapping[str, Any]) -> None:
    """Compile with an empty cache, run at every size with one thread and two, and export."""
    start = time.perf_counter()
    from tvmlite.core.errors import TvmliteError
    from tvmlite.driver import compile
    from tvmlite.relay.frontend import from_onnx

    try:
        lib = compile(from_onnx(job["path"], told_shapes(job)))
        seconds = time.perf_counter() - start
        # VmHWM is of this program alone; getrusage would begin with the process it was forked from.
        peak = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
        assert peak
        say(job, "compiled", seconds=seconds, peak_gb=int(peak[1]) / 1e6, kernels=len(lib.signature.kernels))
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
    """Say how far off each size's answers are, for one thread and two."""
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
    """Run OpenVINO once at every size: of some models it dies, which is not to end the timing of ours."""
    import runtimes

    try:
        runs = runtimes.openvino_runs(job["path"], job["threads"])
        for inputs in load(job["inputs"]):
            runs(inputs)()
    except Exception as error:
        say(job, "peer", name="openvino", why=" ".join(str(error).split())[:300])


def in_turns(job: Mapping[str, Any]) -> None:
    """Time ours, the peers, and the exported library in a process that only loads it, at every size."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: job["threads"]])
    import runtimes

    from tvmlite import runtime
    from tvmlite.driver import compile
    from tvmlite.relay.frontend import from_onnx

    lib = compile(from_onnx(job["path"], told_shapes(job)))
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
            runs = dict(_right_peers(job, runs, list(answers.values()), tolerance, size))
            ours = {"tvmlite": lambda given=inputs: lib.run(given)}
            turns: dict[str, list[float]] = {name: [] for name in (*ours, "loaded", *runs)}
            for _ in range(job["rounds"]):
                for name, run in (ours | runs).items():
                    time.sleep(PAUSE)
                    turns[name] += turn(run, job["clock"])
                    if name == "tvmlite":
                        time.sleep(PAUSE)
                        turns["loaded"] += _turn_of(child, size)
            medians = {name: float(np.median(seconds)) for name, seconds in turns.items()}
            least = {name: min(seconds) for name, seconds in turns.items()}
            say(job, "timed", size=size, median=medians, least=least, load=os.getloadavg()[0])
        assert child.stdin
        child.stdin.close()


def _right_peers(
    job: Mapping[str, Any], runs: Mapping[str, Any], want: list[np.ndarray], tolerance: float, size: int
) -> Iterator[tuple[str, Callable[[], object]]]:
    """The peers that answer as ONNX Runtime did: what is wrong is no measure of speed."""
    from tvmlite.samples import relative_gap

    for name, run in runs.items():
        try:
            made = [np.array(one) for one in run()]
            off = max((_loose_gap(a, b, relative_gap) for a, b in zip(made, want, strict=True)), default=0.0)
            why = "" if off <= tolerance else f"its answer is off by {off:.1e}"
        except Exception as error:
            why = first_line(error)
        if why:
            say(job, "peer", name=name, size=size, why=why)
        else:
            yield name, run


def _loose_gap(made: np.ndarray, want: np.ndarray, relative_gap: Callable[..., float]) -> float:
    """As ``relative_gap``, whatever the dtype: OpenVINO may choose another for integers."""
    return relative_gap(made.astype(want.dtype).reshape(want.shape), want)


def _turn_of(child: subprocess.Popen[str], size: int) -> list[float]:
    """A turn of the process that only loads."""
    assert child.stdin
    assert child.stdout
    child.stdin.write(f"{size}\n")
    child.stdin.flush()
    answer = child.stdout.readline()
    if not answer:
        raise RuntimeError("the process that loads the exported library ended")
    return json.loads(answer)


def loaded(job: Mapping[str, Any]) -> None:
    """For each size asked for on the standard input, the seconds of a turn of the exported library."""
    from tvmlite import runtime

    lib = runtime.load(job["library"])
    runtime.set_num_threads(job["threads"])
    sets = load(job["inputs"])
    for line in sys.stdin:
        inputs = sets[int(line)]
        print(json.dumps(turn(lambda given=inputs: lib.run(given), job["clock"])), flush=True)


def told_shapes(job: Mapping[str, Any]) -> dict[str, tuple[int | str, ...]] | None:
    """The shapes to compile for, where the list gives any."""
    return {name: tuple(shape) for name, shape in job["hint"]["shapes"].items()} or None


def turn(run: Callable[[], object], clock: str) -> list[float]:
    """Seconds of each call, by ``clock``, for at least ``TURN``, after one to warm up."""
    now = CLOCKS[clock]
    run()
    seconds: list[float] = []
    end = time.perf_counter() + TURN
    while time.perf_counter() < end or not seconds:
        start = now()
        run()
        seconds.append(now() - start)
    return seconds


def nudged(inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """``inputs`` with their floats moved by about ``NUDGE`` of themselves, except where all are whole."""
    return {name: _moved(one, NUDGE) for name, one in inputs.items()}


def _moved(array: np.ndarray, nudge: float) -> np.ndarray:
    """``array`` times nearly one; itself if all are whole numbers, which may be ids or sizes."""
    if array.dtype not in (np.float32, np.float64) or not (array != np.rint(array)).any():
        return array
    moved = array * (1 + nudge * np.random.default_rng(1).standard_normal(array.shape))
    return np.asarray(moved, array.dtype)


def is_quantized(graph: Any) -> bool:
    """Whether anything in ``graph`` or its subgraphs computes on, or rounds to, small integers."""
    for node in graph.node:
        if re.search(r"Quantize|QLinear|Integer|^QGemm|^QAttention", node.op_type):
            return True
        if any(is_quantized(sub) for one in node.attribute for sub in (one.g, *one.graphs)):
            return True
    return False


def gap(made: Mapping[str, Any], want: Mapping[str, Any]) -> float:
    """The largest ``relative_gap`` of all outputs."""
    from tvmlite.samples import relative_gap

    pairs = zip(map(np.asarray, made.values()), map(np.asarray, want.values()), strict=True)
    return max((_gap(a, b, relative_gap) for a, b in pairs), default=0.0)


def _gap(made: np.ndarray, want: np.ndarray, relative_gap: Callable[..., float]) -> float:
    if want.dtype.kind in "OSU":
        return 0.0 if made.shape == want.shape and (made == want).all() else float("inf")
    return relative_gap(made, want)


def differing(made: Mapping[str, Any], want: Mapping[str, Any]) -> str:
    """The first output of another shape or dtype, in words; else the output that is farthest off."""
    worst, far = "", 0.0
    for name, theirs in want.items():
        ours = made[name] if name in made else np.empty(0)
        if (ours.shape, ours.dtype) != (theirs.shape, theirs.dtype):
            return f"{name} is {ours.dtype}{list(ours.shape)}, expected {theirs.dtype}{list(theirs.shape)}"
        off = gap({name: ours}, {name: theirs})
        if off > far:
            worst, far = name, off
    return worst


def save(path: str, sets: Arrays) -> None:
    """Write sets of arrays by name."""
    arrays: dict[str, Any] = {f"{index}/{name}": one[name] for index, one in enumerate(sets) for name in one}
    np.savez(path, **arrays)


def load(path: str) -> Arrays:
    """Read what ``save`` wrote."""
    sets: dict[int, dict[str, np.ndarray]] = {}
    with np.load(path) as file:
        for key in file.files:
            index, name = key.split("/", 1)
            sets.setdefault(int(index), {})[name] = file[key]
    return [sets[index] for index in sorted(sets)]


def first_line(error: BaseException) -> str:
    """The first line that says something."""
    return next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)[:300]


if __name__ == "__main__":
    main()
