"""The objects that ``tvmc`` passes from one step to the next: models, packages and results."""

from __future__ import annotations

import inspect
import os
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
from tvmlite.tvm.absent import MissingName, refusing
from tvmlite.tvm.autotvm.task.relay_integration import bound
from tvmlite.tvm.contrib.utils import tempdir
from tvmlite.tvm.executors.benchmark import BenchmarkResult
from tvmlite.tvm.parser import parse
from tvmlite.tvm.relay import ty
from tvmlite.tvm.relay.frontend import from_onnx
from tvmlite.tvm.runtime.loading import load_module
from tvmlite.tvm.runtime_params import load_param_dict, save_param_dict

FORMATS = ("keras", "onnx", "pb", "tflite", "pytorch", "paddle", "relay")
"""The model formats that TVM's command knows."""

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
"""The files in a saved model: its text, its parameters, the compiled package and the tuning records."""


C_SOURCE = 'the target "c -system=none" compiles to C for microcontrollers (docs/microcontrollers.md)'
"""The alternative to TVM's packages for microcontrollers."""


class NoFile(InputError, FileNotFoundError):
    """A model's file does not exist. It is also a FileNotFoundError, as in TVM."""


class TVMCModel:
    """A loaded model: ``mod`` is its module, ``params`` its weights, ``model_path`` its file.

    Files that ``tune`` and ``compile`` write without a given path go to a temporary folder, which is deleted
    together with this object.
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

    def export_package(
        self,
        executor_factory: Any,
        package_path: Any = None,
        cross: Any = None,
        cross_options: str | None = None,
        output_format: str = "so",
    ) -> str:
        """Write a result of ``relay.build`` to ``package_path``, as a library if it ends in ``.so``, else as
        an archive, and return the path. ``cross`` has no effect, as in ``compile``; the ``output_format``
        ``"mlf"`` is an UnsupportedError."""
        if output_format not in ("so", "tar"):
            raise UnsupportedError(
                f"export_package: output_format is {output_format!r}, expected 'so' or 'tar'",
                Span.of_caller(),
                C_SOURCE,
            )
        return os.fspath(exported(executor_factory, package_path or self.default_package_path()))

    def default_package_path(self) -> str:
        """Return the path to which ``compile`` writes if none is given."""
        return self._folder.relpath(PACKAGE)

    def default_tuning_records_path(self) -> str:
        """Return the path to which ``tune`` writes if none is given."""
        return self._folder.relpath(RECORDS)

    def save(self, model_path: Any) -> None:
        """Write the module as text, its parameters, and the package and records in its folder, if any, to the
        archive ``model_path``, which ``TVMCModel(model_path=...)`` loads."""
        text = astext(bound(self.mod, {}), show_meta_data=True)
        parts = {MODULE: text.encode(), PARAMS: bytes(save_param_dict(self.params))}
        for name in (PACKAGE, RECORDS):
            file = Path(self._folder.relpath(name))
            if file.exists():
                parts[name] = file.read_bytes()
        model_library.write(Path(model_path), {model_library.METADATA: b"{}", **parts})

    def summary(self) -> None:
        """Print the module as text."""
        print(astext(bound(self.mod, {}), show_meta_data=False))

    def _saved(self, path: Any) -> tuple[Any, Mapping[str, Any]]:
        """Return the module and the parameters that ``save`` wrote, and extract the other files into the
        folder; an InputError for any other archive."""
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


class TVMCPackage:
    """A compiled model in the file ``package_path``. ``lib`` is the loaded model; ``lib_path``, the file that
    is loaded, is the package itself."""

    type = "classic"

    def __init__(self, package_path: Any, project_dir: Any = None, compiled: Any = None) -> None:
        self.package_path = self.lib_path = os.fspath(package_path)
        self.lib_name, self.project_dir, self.compiled = Path(self.package_path).name, project_dir, compiled
        if project_dir is not None:
            raise UnsupportedError(
                "TVMCPackage: project_dir is of models for microcontrollers", Span.of_caller(), C_SOURCE
            )

    def __getattr__(self, name: str) -> Any:
        if name in ("graph", "params", "executor_type"):
            raise MissingName(
                f"TVMCPackage.{name} is not in tvmlite: calls and weights are in the library",
                Span.of_caller(),
                "relay.build(...).get_graph_json() and get_params()",
            )
        raise AttributeError(name)

    @property
    def lib(self) -> Library:
        """The model: as compiled in this process, or else loaded from the package on each access."""
        if self.compiled is not None:
            return self.compiled
        path = Path(self.package_path)
        return load(path) if path.suffix else load_module(path, "tar").lib


@dataclass(frozen=True)
class TVMCResult:
    """The ``outputs`` of a run by name (``output_0``, ...), and the ``times`` of runs if measured."""

    outputs: dict[str, np.ndarray]
    times: BenchmarkResult | None = None

    def get_output(self, name: str) -> np.ndarray:
        """Return the output ``name``."""
        if name not in self.outputs:
            raise InputError(f"get_output: there is no output {name!r}; there are {', '.join(self.outputs)}")
        return self.outputs[name]

    def get_top_results(self, max_results: int) -> np.ndarray:
        """Return the indices and the values of the largest elements of the first output, flattened: two rows,
        largest first."""
        values = self.outputs["output_0"].reshape(-1)
        places = np.argsort(-values, kind="stable")[:max_results]
        return np.array([places, values[places]])

    def format_times(self) -> str:
        """Return a table of the times, in milliseconds."""
        return "Execution time summary: not measured" if self.times is None else str(self.times)

    def save(self, output_path: Any) -> None:
        """Write the outputs to an ``.npz`` file."""
        np.savez(output_path, **self.outputs)  # type: ignore[arg-type]

    def __str__(self) -> str:
        shown = [f"{name}: {array.dtype}{list(array.shape)}" for name, array in self.outputs.items()]
        return "\n".join([self.format_times(), "Output Names:", *(f" {line}" for line in shown)])


def get_top_results(result: TVMCResult, max_results: int) -> np.ndarray:
    """Return the indices and the values of the largest elements of the first output, in two rows."""
    return result.get_top_results(max_results)


def exported(lib: Any, package_path: Any) -> Path:
    """Write ``lib`` to ``package_path`` and return the path; without a suffix it becomes an archive, as in
    TVM."""
    package = Path(package_path)
    path = archive_path(package)
    getattr(lib, "lib", lib).export(path)
    path.replace(package)
    return package


def archive_path(package: Path) -> Path:
    """Return ``package``, with the suffix of an archive if it has none."""
    return package if package.suffix else package.with_name(f"{package.name}.tar")


def load_model(
    path: Any,
    model_format: str | None = None,
    shape_dict: Mapping[str, Sequence[int]] | None = None,
    **kwargs: Any,
) -> TVMCModel:
    """Load the model in the file ``path``, with inputs of the shapes in ``shape_dict``. Only ONNX and Relay's
    text format are read; any other format is an UnsupportedError that names it. ``kwargs`` are further
    arguments of ``relay.frontend.from_onnx``."""
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
        module = parse(file.read_text(encoding="utf-8"))
        _check_shapes(file, module, shape_dict or {})
        return TVMCModel(module, {}, file)
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


def _check_shapes(file: Path, module: Any, shapes: Mapping[str, Sequence[int]]) -> None:
    """Raise an InputError unless the inputs of ``module``, read from ``file``, have the given shapes."""
    written = {param.name_hint: tuple(param.type_annotation.shape) for param in module["main"].params}
    for name, shape in shapes.items():
        if name not in written:
            raise InputError(f"{file}: there is no input {name!r}; there are {', '.join(written)}")
        if list(map(str, written[name])) != list(map(str, shape)):
            raise InputError(
                f"{file}: input {name!r} has the shape {written[name]} and not {tuple(shape)}: the shapes of "
                "a module's text are as they are written"
            )


__getattr__ = refusing(__name__)
