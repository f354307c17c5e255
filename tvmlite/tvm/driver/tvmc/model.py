"""What ``tvmc`` hands from one step to the next: models, packages, results."""

from __future__ import annotations

import inspect
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tvmlite.commands.parsing import files
from tvmlite.core.errors import InputError, LibraryError, UnsupportedError
from tvmlite.core.span import Span
from tvmlite.relay.text.printer import astext
from tvmlite.runtime.library import model_library
from tvmlite.runtime.library.library import Library
from tvmlite.runtime.library.load import load
from tvmlite.tvm.absent import missing
from tvmlite.tvm.autotvm.task.relay_integration import bound
from tvmlite.tvm.contrib.utils import tempdir
from tvmlite.tvm.executors.benchmark import BenchmarkResult
from tvmlite.tvm.parser import parse
from tvmlite.tvm.relay import ty
from tvmlite.tvm.relay.frontend import from_onnx
from tvmlite.tvm.runtime.loading import load_module
from tvmlite.tvm.runtime_params import load_param_dict, save_param_dict

FORMATS = ("keras", "onnx", "pb", "tflite", "pytorch", "paddle", "relay")
"""The formats that TVM's command knows."""

ENDINGS = {
    ".h5": "keras",
    ".onnx": "onnx",
    ".pb": "pb",
    ".tflite": "tflite",
    ".pth": "pytorch",
    ".pt": "pytorch",
    ".pdmodel": "paddle",
    ".relay": "relay",
}


MODULE, PARAMS, PACKAGE, RECORDS = "model.relay", "model.params", "package.tar", "tuning_records.json"
"""The parts of a saved model: its text and its parameters, and what it was compiled to and tuned."""


class NoFile(InputError, FileNotFoundError):
    """A model's file is not there; TVM's error is a FileNotFoundError."""


class TVMCModel:
    """A model that was loaded: ``mod`` is its module, with its weights, ``model_path`` its file.

    It has a folder of its own, gone when it is, for what ``tune`` and ``compile`` write without a path.
    """

    def __init__(
        self, mod: Any = None, params: Mapping[str, Any] | None = None, model_path: Any = None
    ) -> None:
        self._folder = tempdir()
        if mod is None:
            if model_path is None:
                raise InputError("TVMCModel: mod or model_path must be given")
            if tarfile.is_tarfile(model_path):
                mod, params = self._saved(model_path)
            else:
                loaded = load_model(model_path)
                mod, params = loaded.mod, loaded.params
        self.mod, self.params = mod, dict(params or {})
        self.model_path = None if model_path is None else Path(model_path)

    export_package = missing("TVMCModel.export_package", "tvmc.compile(model, target, package_path=path)")

    def default_package_path(self) -> str:
        """Where ``compile`` writes, if no path is given."""
        return self._folder.relpath(PACKAGE)

    def default_tuning_records_path(self) -> str:
        """Where ``tune`` writes, if no path is given."""
        return self._folder.relpath(RECORDS)

    def save(self, model_path: Any) -> None:
        """Write the module, as text, its parameters, and the package and records of its folder to the archive
        ``model_path``, of which ``TVMCModel(model_path=...)`` is this model again."""
        parts = {MODULE: astext(bound(self.mod, {})).encode(), PARAMS: bytes(save_param_dict(self.params))}
        for name in (PACKAGE, RECORDS):
            file = Path(self._folder.relpath(name))
            if file.exists():
                parts[name] = file.read_bytes()
        model_library.write(Path(model_path), {model_library.METADATA: b"{}", **parts})

    def summary(self) -> None:
        """Print the module as text."""
        print(astext(bound(self.mod, {}), show_meta_data=False))

    def _saved(self, path: Any) -> tuple[Any, Mapping[str, Any]]:
        """The module and the parameters that ``save`` wrote, the rest put into the folder; an InputError for
        another archive."""
        what = f"TVMCModel: {path} is no model that TVMCModel.save wrote"
        try:
            found = model_library.read_files(Path(path), (MODULE, PARAMS, PACKAGE, RECORDS))
        except LibraryError as error:
            raise InputError(f"{what}: {error}") from error
        if not {MODULE, PARAMS} <= found.keys():
            raise InputError(what)
        for name in found.keys() & {PACKAGE, RECORDS}:
            Path(self._folder.relpath(name)).write_bytes(found[name])
        return parse(found[MODULE].decode()), load_param_dict(found[PARAMS])


@dataclass(frozen=True)
class TVMCPackage:
    """A compiled model in a file. ``lib`` is the model in this process, loaded when it is first asked for."""

    package_path: Path | str
    compiled: Library | None = None

    @property
    def lib(self) -> Library:
        """The model."""
        if self.compiled is not None:
            return self.compiled
        path = Path(self.package_path)
        return load(path) if path.suffix else load_module(path, "tar").lib


@dataclass(frozen=True)
class TVMCResult:
    """``outputs`` by name (``output_0``, ...), and the ``times`` of runs, where they were measured."""

    outputs: dict[str, np.ndarray]
    times: BenchmarkResult | None = None

    def get_output(self, name: str) -> np.ndarray:
        """The output ``name``."""
        if name not in self.outputs:
            raise InputError(f"get_output: there is no output {name!r}; there are {', '.join(self.outputs)}")
        return self.outputs[name]

    def get_top_results(self, max_results: int) -> np.ndarray:
        """The places and the values of the largest elements of the first output: two rows, the largest
        first."""
        values = self.outputs["output_0"].reshape(-1)
        places = np.argsort(-values, kind="stable")[:max_results]
        return np.array([places, values[places]])

    def format_times(self) -> str:
        """A table of the times, in milliseconds."""
        return "Execution time summary: not measured" if self.times is None else str(self.times)

    def save(self, output_path: Any) -> None:
        """Write the outputs to an ``.npz``."""
        np.savez(output_path, **self.outputs)  # type: ignore[arg-type]

    def __str__(self) -> str:
        shown = [f"{name}: {array.dtype}{list(array.shape)}" for name, array in self.outputs.items()]
        return "\n".join([self.format_times(), "Output Names:", *(f" {line}" for line in shown)])


def load_model(
    path: Any,
    model_format: str | None = None,
    shape_dict: Mapping[str, Sequence[int]] | None = None,
    **kwargs: Any,
) -> TVMCModel:
    """The model in the file ``path``, with inputs of the shapes in ``shape_dict``. Only ONNX
    is read, and the text of a relay module: another format is an UnsupportedError that names it. ``kwargs``
    are further arguments of ``relay.frontend.from_onnx``."""
    if not Path(path).exists():
        raise NoFile(f"FILE {path}: there is no such file")
    file = files.readable(Path(path), "FILE")
    unknown = kwargs.keys() - inspect.signature(from_onnx).parameters.keys()
    if unknown:
        raise InputError(f"load: there is no option {', '.join(sorted(unknown))}")
    found = model_format or ENDINGS.get(file.suffix, "")
    if found not in FORMATS:
        raise InputError(
            f"{file}: the format of {file.suffix or 'the file'} is not known", hint="--model-format onnx"
        )
    if found == "relay":
        if shape_dict:
            raise InputError(f"{file}: the shapes of a module's text are as they are written")
        return TVMCModel(parse(file.read_text(encoding="utf-8")), {}, file)
    if found != "onnx":
        raise UnsupportedError(
            f"{file}: {found} models are not read, only ONNX and relay's text",
            Span.of_caller(),
            "export the model to ONNX",
        )
    shapes: dict[str, Any] = {
        name: [ty.Any() if one == -1 else one for one in shape] for name, shape in (shape_dict or {}).items()
    }
    return TVMCModel(*from_onnx(file, shapes or None, **kwargs), file)
