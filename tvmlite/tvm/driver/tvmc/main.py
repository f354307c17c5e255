"""The ``tvmc`` command: compile, run, tune, with the options of TVM 0.11's."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from tvmlite import cli
from tvmlite.commands import common, run
from tvmlite.commands.parsing.parser import Parser
from tvmlite.core import VERSION
from tvmlite.core.errors import InputError
from tvmlite.tvm.driver.tvmc.autotuner import TUNERS, tune_model
from tvmlite.tvm.driver.tvmc.compiler import CODE, LAYOUTS, compile_model, refuse
from tvmlite.tvm.driver.tvmc.model import FORMATS, TVMCModel, TVMCPackage, load_model
from tvmlite.tvm.driver.tvmc.runner import FILL_MODES, run_module
from tvmlite.tvm.driver.tvmc.shape_parser import parse_shape_string

_TARGET_ATTRIBUTES = {
    "llvm": "mcpu mattr mtriple num-cores device keys libs mabi model opt-level",
    "c": "mcpu device keys model",
}
"""Parts of targets that have options of their own: ``--target-llvm-mcpu NAME``."""

_HARDWARE = (
    "cache-line-bytes",
    "max-local-memory-per-block",
    "max-shared-memory-per-block",
    "max-threads-per-block",
    "max-vthread-extent",
    "num-cores",
    "vector-unit-bytes",
    "warp-size",
)
"""What TVM's search asks of a machine, and tvmlite's reads off it."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; exit statuses are those of ``tvmlite``, 130 on Ctrl-C."""
    try:
        return cli.run_command(parser(), argv)
    except KeyboardInterrupt:
        print("tvmc: interrupted", file=sys.stderr)
        return 130


_main = main
"""TVM's name."""


def parser() -> Parser:
    """The parser of all commands."""
    made = Parser(prog="tvmc", description="TVM's compiler driver over tvmlite: ONNX models to CPU code.")
    made.add_argument("--version", action="version", version=f"tvmc of tvmlite {VERSION}")
    made.add_argument("-v", "--verbose", action="count", default=0, help="of no account")
    commands = made.add_subparsers(required=True, metavar="COMMAND")
    for name, about, arguments, command in (
        ("compile", "compile a model", _compile_arguments, _compile),
        ("run", "run a compiled model", _run_arguments, _run),
        ("tune", "search fast schedules for a model", _tune_arguments, _tune),
    ):
        one = commands.add_parser(name, help=about, description=command.__doc__)
        one.add_argument("-v", "--verbose", action="count", default=0, help="of no account")
        arguments(one)
        one.set_defaults(command=command, parser=one)
    return made


def _model_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("FILE", type=Path, help="a model, as ONNX")
    parser.add_argument("--model-format", choices=FORMATS, help="the format of FILE (default: by its ending)")
    parser.add_argument(
        "--input-shapes",
        type=parse_shape_string,
        default={},
        metavar='"x:[1,3,224,224] y:[1]"',
        help="the shapes of inputs, in one word",
    )
    parser.add_argument("--target", default="llvm", help="what to compile for (default: llvm)")
    parser.add_argument("--target-host", help="of no account: the host is the target")
    for kind, attributes in _TARGET_ATTRIBUTES.items():
        for one in attributes.split():
            parser.add_argument(f"--target-{kind}-{one}", metavar="VALUE", help=f"-{one} of the target")
    parser.add_argument(
        "--desired-layout", choices=LAYOUTS, help="of no account: the compiler chooses layouts"
    )
    parser.add_argument("--desired-layout-ops", nargs="+", help="of no account")


def _compile_arguments(parser: argparse.ArgumentParser) -> None:
    _model_arguments(parser)
    parser.add_argument("-o", "--output", type=Path, default=Path("module.tar"), help="model.tar or model.so")
    parser.add_argument(
        "-f", "--output-format", choices=("so", "mlf"), default="so", help="both are one here"
    )
    parser.add_argument(
        "-O", "--opt-level", type=int, choices=range(5), default=3, help="0 to 4 (default: 3)"
    )
    parser.add_argument("--tuning-records", type=Path, help="the file that tvmc tune wrote")
    parser.add_argument(
        "--dump-code", default="", metavar="FORM[,FORM]", help=f"write {', '.join(CODE)} beside it"
    )
    parser.add_argument("--module-name", default="default", help="the name of the model's function")
    for name in ("executor", "runtime", "cross-compiler", "cross-compiler-options", "dump-offloads"):
        parser.add_argument(f"--{name}", help="only TVM's default is supported")
    parser.add_argument("--executor-graph-link-params", help="of no account: weights are in the library")
    parser.add_argument(
        "--disabled-pass",
        type=_names,
        default=[],
        metavar="PASS[,PASS]",
        help="the level is one without them",
    )
    parser.add_argument(
        "--pass-config", action="append", metavar="NAME=VALUE", help="an option of a PassContext"
    )


def _run_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("PATH", type=Path, help="what tvmc compile wrote")
    parser.add_argument("--device", default="cpu", help="cpu")
    parser.add_argument("-i", "--inputs", type=Path, help="an .npz with arrays by the names of inputs")
    parser.add_argument("-o", "--outputs", type=Path, help="where to write the outputs, as .npz")
    parser.add_argument(
        "--fill-mode", choices=FILL_MODES, default="random", help="of inputs that are not given"
    )
    parser.add_argument("--print-time", action="store_true", help="print times of runs")
    parser.add_argument("--print-top", type=int, metavar="N", help="print the N largest of the first output")
    parser.add_argument("--profile", action="store_true", help="print the time of each kernel")
    parser.add_argument("--end-to-end", action="store_true", help="time inputs and outputs as well")
    parser.add_argument("--repeat", type=int, default=1, metavar="N", help="runs to time (default: 1)")
    parser.add_argument("--number", type=int, default=1, metavar="N", help="calls in a run (default: 1)")
    _rpc_arguments(parser)


def _tune_arguments(parser: argparse.ArgumentParser) -> None:
    _model_arguments(parser)
    parser.add_argument("-o", "--output", type=Path, required=True, help="records are added to this file")
    parser.add_argument("--trials", type=int, default=1000, help="measurements in all (default: 1000)")
    parser.add_argument("--tuner", choices=TUNERS, default="xgb", help="search strategy (default: xgb)")
    parser.add_argument("--early-stopping", type=int, metavar="N", help="give a kernel up after N in vain")
    parser.add_argument("--enable-autoscheduler", action="store_true", help="generated schedules (always)")
    parser.add_argument("--number", type=int, default=10, help="calls in a run (default: 10)")
    parser.add_argument("--repeat", type=int, default=1, help="runs of a candidate (default: 1)")
    parser.add_argument("--min-repeat-ms", type=int, help="milliseconds of a run, in place of --number")
    parser.add_argument("--timeout", type=int, default=10, help="seconds for a candidate (default: 10)")
    parser.add_argument("--parallel", type=int, default=4, help="of no account")
    parser.add_argument("--tuning-records", type=Path, help="records to begin with")
    parser.add_argument("--tasks", default="all", help="only all")
    for name in _HARDWARE:
        parser.add_argument(f"--{name}", type=int, help="of no account: the target says it")
    for name in ("include-simple-tasks", "log-estimated-latency"):
        parser.add_argument(f"--{name}", action="store_true", help="of no account")
    _rpc_arguments(parser)


def _rpc_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--rpc-key", help="not supported: there are no other machines")
    parser.add_argument("--rpc-tracker", help="not supported: there are no other machines")


def _compile(options: argparse.Namespace) -> int:
    """Compile a model into an archive or a library."""
    package = compile_model(
        _loaded(options),
        _target(options),
        opt_level=options.opt_level,
        executor=options.executor,
        runtime=options.runtime,
        tuning_records=options.tuning_records,
        package_path=options.output,
        cross=options.cross_compiler,
        cross_options=options.cross_compiler_options,
        output_format=options.output_format,
        dump_code=options.dump_code or None,
        dump_offloads=options.dump_offloads,
        desired_layout=options.desired_layout,
        disabled_pass=options.disabled_pass,
        pass_context_configs=options.pass_config,
        mod_name=options.module_name,
    )
    print(f"{package.package_path}: {common.describe(Path(package.package_path))}")
    return 0


def _run(options: argparse.Namespace) -> int:
    """Run a compiled model on given or made up inputs."""
    for name in ("repeat", "number", "print_top"):
        value = getattr(options, name)
        if value is not None and value < 1:
            raise InputError(f"--{name.replace('_', '-')} is {value}, expected at least 1")
    result = run_module(
        TVMCPackage(options.PATH),
        options.device,
        hostname=options.rpc_tracker,
        rpc_key=options.rpc_key,
        inputs=None if options.inputs is None else run.read_inputs(options.inputs),
        fill_mode=options.fill_mode,
        benchmark=options.print_time,
        repeat=options.repeat,
        number=options.number,
        profile=options.profile,
        end_to_end=options.end_to_end,
    )
    if options.print_time:
        print(result.format_times())
    if options.print_top is not None:
        print(result.get_top_results(options.print_top))
    if options.outputs is not None:
        result.save(options.outputs)
    return 0


def _tune(options: argparse.Namespace) -> int:
    """Search fast schedules for a model's kernels on this machine."""
    refuse(tasks=(options.tasks, ("all",)))
    path = tune_model(
        _loaded(options),
        _target(options),
        tuning_records=options.output,
        prior_records=options.tuning_records,
        enable_autoscheduler=options.enable_autoscheduler,
        rpc_key=options.rpc_key,
        hostname=options.rpc_tracker,
        trials=options.trials,
        tuner=options.tuner,
        min_repeat_ms=options.min_repeat_ms,
        early_stopping=options.early_stopping,
        desired_layout=options.desired_layout,
        timeout=options.timeout,
        repeat=options.repeat,
        number=options.number,
        parallel=options.parallel,
    )
    print(f"{path}: use it with tvmc compile --tuning-records {path}")
    return 0


def _names(text: str) -> list[str]:
    return [one for one in text.split(",") if one]


def _loaded(options: argparse.Namespace) -> TVMCModel:
    return load_model(options.FILE, options.model_format, options.input_shapes)


def _target(options: argparse.Namespace) -> str:
    """The target with the attributes that have options of their own."""
    words = [options.target]
    for kind, attributes in _TARGET_ATTRIBUTES.items():
        for name in attributes.split():
            value = getattr(options, f"target_{kind}_{name.replace('-', '_')}")
            if value is not None and options.target.split()[:1] != [kind]:
                raise InputError(
                    f"--target-{kind}-{name} is given, but the target is {options.target!r}, not {kind}"
                )
            words += [] if value is None else [f"-{name}={value}"]
    return " ".join(words)
