"""Check trained models from PyPI and npm packages against ONNX Runtime, and measure their speed.

    python benchmarks/trained_models.py --only-check                    are they right? (no timing)
    python benchmarks/trained_models.py --threads 1 2 --output run.jsonl     all of it; resumes after a stop
    python benchmarks/trained_models.py silero rapidocr:*det* --rounds 10
    python benchmarks/trained_models.py --list

``benchmarks/trained/packages.toml`` lists the packages. They are downloaded once, and nothing in them is
installed or executed: only the models are extracted from the archives. docs/trained_models.md explains the
tables.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from dataclasses import asdict
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from trained import summary
from trained.answers import QUANTIZED_TOLERANCE, TOLERANCE
from trained.fetch import FetchError, Trained, cache_folder, distinct, trained_models
from trained.listing import packages
from trained.worker import CLOCKS

import tvmlite


def main() -> int:
    """Print the tables and the summary; return 1 if a model is wrong, refused or failed."""
    options = _options()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # so that stages end as well
    models = _models(options)
    if options.list:
        print("\n".join(f"{one.name:48} {one.path}" for one in models))
        return 0
    records = Records(options.output)
    _heading(options)
    code = ["-m", "compileall", "-q", str(Path(tvmlite.__file__).parent)]
    subprocess.run([sys.executable, *code], env=_environment(options), check=True)
    for model in models:
        with tempfile.TemporaryDirectory(prefix="trained-") as folder:
            _model(model, Path(folder), records, options)
    mine = [one for one in records.all if one["model"] in {model.name for model in models}]
    print(f"\n{summary.summary(mine)}")
    checked = [one for one in mine if one["kind"] == "check"]
    return int(any(one["verdict"] in ("wrong", "refused", "failed") for one in checked))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", help="parts or patterns of PACKAGE:MODEL (default: all)")
    parser.add_argument("--list", action="store_true", help="print the models and their files")
    parser.add_argument("--threads", type=int, nargs="+", default=[1], help="default: 1")
    parser.add_argument("--rounds", type=int, default=5, help="rounds of interleaved runs (default: 5)")
    parser.add_argument(
        "--clock", choices=CLOCKS, default="wall", help="cpu: each process's own, for a busy machine"
    )
    parser.add_argument("--only-check", action="store_true", help="no timing")
    parser.add_argument(
        "--output", type=Path, help="JSON lines that are added to; what is there is not redone"
    )
    parser.add_argument("--cache", type=Path, default=cache_folder(), help="folder of the models")
    parser.add_argument("--time-limit", type=float, default=600, help="seconds of a process (default: 600)")
    parser.add_argument("--memory", type=float, default=12, help="GB of a process (default: 12)")
    return parser.parse_args()


def _models(options: argparse.Namespace) -> list[Trained]:
    """The models that ``names`` select; a package that cannot be downloaded is reported and left out."""
    found: list[Trained] = []
    for package in packages():
        if options.names and not any(_may_choose(name, package.name) for name in options.names):
            continue
        try:
            found += trained_models(package, options.cache)
        except (FetchError, OSError, subprocess.TimeoutExpired, ValueError) as error:
            print(f"left out: {error}", file=sys.stderr)
    wanted = options.names or ["*"]
    chosen = (one for one in distinct(found) if any(_fits(name, one.name) for name in wanted))
    return list(chosen)


def _may_choose(name: str, package: str) -> bool:
    """Whether ``name`` may select a model of ``package``: only if it names this package or none."""
    before = name.split(":")[0]
    return ":" not in name or fnmatchcase(package, f"*{before}*")


def _fits(pattern: str, name: str) -> bool:
    return fnmatchcase(name, f"*{pattern}*")


class Records:
    """The records of the models, stored in a file of JSON lines if one is given."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        lines = path.read_text().splitlines() if path and path.exists() else []
        self.all: list[dict[str, Any]] = [json.loads(line) for line in lines]

    def of(self, model: str, kind: str, threads: int | None = None) -> list[dict[str, Any]]:
        """The records of one model's check, or of its times with a number of threads."""
        key = (model, kind, threads)
        return [one for one in self.all if (one["model"], one["kind"], one.get("threads")) == key]

    def add(self, record: dict[str, Any]) -> None:
        """Add one record."""
        self.all.append(record)
        if self.path:
            with self.path.open("a") as file:
                file.write(json.dumps(record) + "\n")


def _heading(options: argparse.Namespace) -> None:
    load = f"load {os.getloadavg()[0]:.2f}, {len(os.sched_getaffinity(0))} processors"
    print(f"{load}, {options.rounds} rounds, clock {options.clock}; medians in ms")
    print(f"{'model':44}  {'verdict':8}  {'off by':>8}  {'cold compile':>18}")
    if not options.only_check:
        columns = "".join(f"{name:>12}" for name in ("tvmlite", ".so loaded", *summary.PEERS))
        print(f"{'':41}threads size{columns[4:]}    speed|least   loaded   load")


def _model(model: Trained, folder: Path, records: Records, options: argparse.Namespace) -> None:
    """Check one model and time it, unless there are records of both."""
    known = records.of(model.name, "check")
    times = [count for count in options.threads if not records.of(model.name, "time", count)]
    if known and (options.only_check or known[0]["verdict"] != "right" or not times):
        print(summary.check_row(known[0]), flush=True)
    else:
        # The exported library is needed, so a model is checked again before it is timed.
        record = _checked(model, folder, options)
        if not known:
            records.add(record)
        known = [record]
        print(summary.check_row(record), flush=True)
    if options.only_check or known[0]["verdict"] != "right":
        return
    for count in options.threads:
        if count in times:
            for record in _timed(model, folder, count, known[0]["quantized"], options):
                records.add(record)
        for record in records.of(model.name, "time", count):
            print(summary.time_row(record), flush=True)


def _checked(model: Trained, folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """The record of one model's check."""
    events: list[dict[str, Any]] = []
    if model.hint.skip:
        events.append({"event": "skipped", "why": model.hint.skip})
    else:
        events += _run("reference", _job(model, folder, options), options)
        if "ended" in events[-1].values():
            events[-1] = {"event": "refused by ONNX Runtime", "why": events[-1]["why"]}
        if events[-1]["event"] == "reference run":
            events += _run("check", _job(model, folder, options), options)
    tolerance = TOLERANCE, QUANTIZED_TOLERANCE
    return summary.check_record(model.name, events, tolerance)


def _timed(
    model: Trained, folder: Path, threads: int, quantized: bool, options: argparse.Namespace
) -> list[dict[str, Any]]:
    """The records of one model's times with a number of threads; without OpenVINO where that fails."""
    tried = _run("peer", _job(model, folder, options, threads=threads), options)
    left_out = [{"event": "peer", "name": "openvino", "why": one["why"]} for one in tried]
    peers = [name for name in summary.PEERS if not (left_out and name == "openvino")]
    job = _job(model, folder, options, threads=threads, quantized=quantized, peers=peers)
    return summary.time_records(model.name, threads, [*left_out, *_run("time", job, options)])


def _job(model: Trained, folder: Path, options: argparse.Namespace, **more: Any) -> dict[str, Any]:
    """The job description for a stage."""
    files = {
        "events": "events.jsonl",
        "inputs": "inputs.npz",
        "answers": "answers.npz",
        "library": "model.so",
        "self": "job.json",
    }
    paths = {key: str(folder / name) for key, name in files.items()}
    settings = {"path": str(model.path), "hint": asdict(model.hint), "rounds": options.rounds}
    settings["clock"] = options.clock
    settings["export"] = not options.only_check
    return paths | settings | {"memory": options.memory} | more


def _environment(options: argparse.Namespace) -> dict[str, str]:
    """The environment of the stages: Python's bytecode is cached, as it is for packages installed by pip."""
    paths = [str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]
    return os.environ | {
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        "PYTHONPYCACHEPREFIX": str(options.cache / "bytecode"),
        "PYTHONDONTWRITEBYTECODE": "",
    }


def _run(stage: str, job: dict[str, Any], options: argparse.Namespace) -> list[dict[str, Any]]:
    """Run a stage in its own process and return its events; the last one reports if the stage ended early."""
    events = Path(job["events"])
    events.write_text("")
    Path(job["self"]).write_text(json.dumps(job))
    environment = _environment(options) | {"TVMLITE_CACHE": str(events.parent / "cache")}  # empty at first
    child = subprocess.Popen(
        [sys.executable, "-m", "trained.worker", stage, job["self"]],
        env=environment,
        start_new_session=True,  # so that its own children end with it
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    why = ""
    try:
        _, errors = child.communicate(timeout=options.time_limit)
        if child.returncode < 0:
            why = f"ended by {signal.Signals(-child.returncode).name}"
        elif child.returncode:
            why = (errors.strip().splitlines() or [f"status {child.returncode}"])[-1]
    except subprocess.TimeoutExpired:
        why = f"took more than {options.time_limit:.0f} s"
    finally:
        _end(child)
    reported = [json.loads(line) for line in events.read_text().splitlines()]
    return [*reported, {"event": "ended", "why": f"{stage}: {why}"}] if why else reported


def _end(child: subprocess.Popen[str]) -> None:
    """End a stage and the processes that it started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    child.communicate()


if __name__ == "__main__":
    sys.exit(main())
