"""Run a compiled library (or compile and run an ONNX model) on given or random inputs."""

from __future__ import annotations

import argparse
import zipfile
from pathlib import Path

import numpy as np

from tvmlite.commands import common
from tvmlite.commands.parsing import files
from tvmlite.core.errors import InputError
from tvmlite.model.artifact import CompiledModule

NAME = "run"
HELP = "run a compiled library or a model"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    common.model_options(parser, "a compiled library (.so, .tar), or an ONNX file")
    common.thread_option(parser)
    parser.add_argument("--inputs", type=Path, help="an .npz with an array for each input; default: random")
    common.dims_option(parser)
    parser.add_argument("--seed", type=int, default=0, help="seed of random inputs (default: 0)")
    parser.add_argument(
        "--until", metavar="NAME", help="stop at this value or node of the model, and show it"
    )
    parser.add_argument("--outputs", type=Path, help="where to write the outputs, as .npz")
    parser.add_argument("--print-time", action="store_true", help="print the median time of a run")
    parser.add_argument("--profile", action="store_true", help="print the time of each kernel")


def main(options: argparse.Namespace) -> int:
    """Run the command."""
    common.set_threads(options)
    files.writable(options.outputs, "--outputs")
    if options.inputs is not None and options.dims:
        raise InputError("--dims says how large random inputs are; --inputs gives them already")
    given = None if options.inputs is None else read_inputs(options.inputs)
    lib = common.library_of(options)
    if options.until is not None:
        if not isinstance(lib, CompiledModule):
            raise InputError(f"--until needs the model: {options.model} is a library, which has no nodes")
        lib = lib.until(options.until)
    inputs = given if given is not None else common.random_inputs(lib, options, options.seed)
    if given is None:
        print(f"inputs: random, seed {options.seed}")
    outputs = lib.run(inputs)
    for name, array in outputs.items():
        print(f"{name}: {array.dtype}{list(array.shape)}{_summary(array)}")
    if options.outputs is not None:
        np.savez(options.outputs, **outputs)
    if options.print_time:
        print(f"time: {lib.time(*(inputs[name] for name in lib.input_names))}")
    if options.profile:
        print(lib.profile(*(inputs[name] for name in lib.input_names)))
    return 0


def read_inputs(path: Path) -> dict[str, np.ndarray]:
    """Return the arrays of the ``.npz`` ``path`` by name; an InputError if it is not one."""
    files.readable(path, "--inputs", "numpy.savez(path, NAME=array, ...) writes one")
    if not zipfile.is_zipfile(path):
        raise InputError(f"--inputs {path}: not an .npz file (numpy.savez writes one)")
    try:
        with np.load(path, allow_pickle=False) as data:
            return {name: data[name] for name in data.files}
    except (ValueError, zipfile.BadZipFile, EOFError) as error:
        raise InputError(f"--inputs {path}: not an .npz of plain arrays ({error})") from error


def _summary(array: np.ndarray) -> str:
    if array.size == 0:
        return ""
    values = array.astype(np.float64)
    return f", min {values.min():.6g}, max {values.max():.6g}, mean {values.mean():.6g}"
