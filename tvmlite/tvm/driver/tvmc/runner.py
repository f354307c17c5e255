"""``tvmc run``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tvmlite.core.dtype import numpy_of
from tvmlite.core.errors import InputError, UnsupportedError
from tvmlite.core.span import Span
from tvmlite.model import example_inputs
from tvmlite.runtime.library.library import Library
from tvmlite.runtime.ndarray import cpu
from tvmlite.tvm.absent import refusing
from tvmlite.tvm.contrib.graph_executor import GraphModule
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
    """Run the model in ``tvmc_package`` on ``inputs`` by name; what is not given is filled by
    ``fill_mode``, from ``seed`` if at random. With ``benchmark`` then ``repeat`` times ``number`` runs are
    timed; ``profile`` prints the time of each kernel."""
    if device not in ("cpu", "llvm"):
        raise UnsupportedError(
            f"--device is {device!r}: there is code for CPUs only", Span.of_caller(), "--device cpu"
        )
    if hostname is not None or rpc_key is not None:
        raise UnsupportedError(
            f"--rpc-tracker {hostname}: nothing is run on other machines", Span.of_caller(), "run tvmc there"
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


def generate_tensor_data(shape: Sequence[int], dtype: str, fill_mode: str, seed: int = 0) -> np.ndarray:
    """An array filled with ``"zeros"``, ``"ones"``, or at ``"random"`` from ``seed``: floats in [0, 1),
    integers from 0 to 127."""
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
