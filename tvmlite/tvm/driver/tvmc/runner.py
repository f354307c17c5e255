"""``tvmc run``."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tvmlite.commands import run
from tvmlite.commands.parsing import files
from tvmlite.core.dtype import numpy_of
from tvmlite.core.errors import InputError, UnsupportedError
from tvmlite.core.span import Span
from tvmlite.model import example_inputs
from tvmlite.runtime.library.library import Library
from tvmlite.runtime.ndarray import cpu
from tvmlite.tvm.absent import refusing
from tvmlite.tvm.contrib.graph_executor import GraphModule
from tvmlite.tvm.driver.tvmc.common import tracker_host_port_from_cli
from tvmlite.tvm.driver.tvmc.compiler import with_defaults
from tvmlite.tvm.driver.tvmc.model import TVMCPackage, TVMCResult
from tvmlite.tvm.executors.model import ModelExecutor

FILL_MODES = ("random", "zeros", "ones")


def run_module(
    tvmc_package: TVMCPackage,
    device: str = "cpu",
    hostname: str | None = None,
    port: int | str = 9090,
    rpc_key: str | None = None,
    inputs: Mapping[str, Any] | None = None,
    fill_mode: str = "random",
    benchmark: bool = True,
    repeat: int = 10,
    number: int = 10,
    profile: bool = False,
    end_to_end: bool = False,
    options: Any = None,
    seed: int = 0,
) -> TVMCResult:
    """Run the model in ``tvmc_package`` on ``inputs``, a dict by name. Missing inputs are filled by
    ``fill_mode``; random values depend on ``seed``. With ``benchmark`` it then times ``repeat`` runs of
    ``number`` calls; ``profile`` prints the time of each kernel."""
    if device not in ("cpu", "llvm"):
        raise UnsupportedError(
            f"--device is {device!r}: there is code for CPUs only", Span.of_caller(), "--device cpu"
        )
    if hostname is not None or rpc_key is not None:
        raise UnsupportedError(
            f"--rpc-tracker {hostname}:{port}: nothing is run on other machines",
            Span.of_caller(),
            "run tvmc there",
        )
    if not isinstance(tvmc_package, TVMCPackage):
        raise InputError(f"run: a {type(tvmc_package).__name__} given, expected what tvmc.compile gives")
    lib = tvmc_package.lib
    module = GraphModule(ModelExecutor(lib))
    module.set_input(**_inputs(lib, dict(inputs or {}), fill_mode, seed))
    module.run()
    outputs = {f"output_{n}": module.get_output(n).numpy() for n in range(module.get_num_outputs())}
    if profile:
        print(module.module.profiled())
    if not benchmark:
        return TVMCResult(outputs)
    return TVMCResult(outputs, module.benchmark(cpu(), repeat=repeat, number=number, end_to_end=end_to_end))


def add_run_parser(subparsers: Any, main_parser: Any = None, json_params: Any = ()) -> Any:
    """Add and return the parser of ``run``; ``json_params``, dicts of values by option, are defaults."""
    made = subparsers.add_parser("run", help="run a compiled model", description=drive_run.__doc__)
    made.add_argument("PATH", type=Path, help="what tvmc compile wrote")
    made.add_argument("--device", default="cpu", help="cpu")
    made.add_argument("-i", "--inputs", type=Path, help="an .npz with arrays by the names of inputs")
    made.add_argument("-o", "--outputs", type=Path, help="where to write the outputs, as .npz")
    made.add_argument(
        "--fill-mode", choices=FILL_MODES, default="random", help="of inputs that are not given"
    )
    made.add_argument("--print-time", action="store_true", help="print times of runs")
    made.add_argument("--print-top", type=int, metavar="N", help="print the N largest of the first output")
    made.add_argument("--profile", action="store_true", help="print the time of each kernel")
    made.add_argument("--end-to-end", action="store_true", help="time inputs and outputs as well")
    made.add_argument("--repeat", type=int, default=1, metavar="N", help="runs to time (default: 1)")
    made.add_argument("--number", type=int, default=1, metavar="N", help="calls in a run (default: 1)")
    add_rpc_arguments(made)
    made.set_defaults(command=drive_run, parser=made)
    return with_defaults(made, json_params)


def drive_run(args: argparse.Namespace) -> int:
    """Run a compiled model on given or made up inputs."""
    for name in ("repeat", "number", "print_top"):
        value = getattr(args, name)
        if value is not None and value < 1:
            raise InputError(f"--{name.replace('_', '-')} is {value}, expected at least 1")
    files.writable(args.outputs, "--outputs")
    hostname, port = tracker_host_port_from_cli(args.rpc_tracker)
    result = run_module(
        TVMCPackage(args.PATH),
        args.device,
        hostname=hostname,
        port=port or 0,
        rpc_key=args.rpc_key,
        inputs=None if args.inputs is None else run.read_inputs(args.inputs),
        fill_mode=args.fill_mode,
        benchmark=args.print_time,
        repeat=args.repeat,
        number=args.number,
        profile=args.profile,
        end_to_end=args.end_to_end,
    )
    if args.print_time:
        print(result.format_times())
    if args.print_top is not None:
        print(result.get_top_results(args.print_top))
    if args.outputs is not None:
        result.save(args.outputs)
    return 0


def add_rpc_arguments(parser: argparse.ArgumentParser) -> None:
    """Add to ``parser`` TVM's options for running on other machines."""
    parser.add_argument("--rpc-key", help="not supported: there are no other machines")
    parser.add_argument("--rpc-tracker", help="not supported: there are no other machines")


def generate_tensor_data(shape: Sequence[int], dtype: str, fill_mode: str, seed: int = 0) -> np.ndarray:
    """Return an array of ``"zeros"`` or ``"ones"``, or of ``"random"`` values that depend on ``seed``: floats
    in [0, 1), integers from 0 to 127."""
    kind = numpy_of(dtype)
    match fill_mode:
        case "zeros":
            return np.zeros(tuple(shape), kind)
        case "ones":
            return np.ones(tuple(shape), kind)
        case "random" if kind.kind in "iu":
            return np.random.default_rng(seed).integers(0, 128, tuple(shape)).astype(kind)
        case "random":
            return np.random.default_rng(seed).random(tuple(shape)).astype(kind)
    raise InputError(f"fill_mode is {fill_mode!r}, expected one of {', '.join(FILL_MODES)}")


def _inputs(lib: Library, given: dict[str, Any], fill_mode: str, seed: int) -> dict[str, Any]:
    unknown = [name for name in given if name not in lib.input_names]
    if unknown:
        raise InputError(f"there is no input {unknown[0]!r}; there are {', '.join(lib.input_names)}")
    if fill_mode not in FILL_MODES:
        raise InputError(f"--fill-mode is {fill_mode!r}, expected one of {', '.join(FILL_MODES)}")
    if len(given) == len(lib.input_names):
        return given
    made = example_inputs.random_inputs(lib, {}, seed)
    if fill_mode != "random":
        made = {name: np.full_like(one, float(fill_mode == "ones")) for name, one in made.items()}
    return {**made, **given}


__getattr__ = refusing(__name__)
