"""Writes a compiled model as an archive, similar to TVM's model library format."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path

from tvmlite.model.report import Report
from tvmlite.relay.ir.nodes import Module
from tvmlite.relay.text.printer import astext
from tvmlite.runtime.library import link, model_library

HOST = "codegen/host"
FOLDERS = {".a": f"{HOST}/lib", ".c": f"{HOST}/src", ".h": f"{HOST}/include"}
CASES = "tests"
"""The folder of files with other endings: inputs and results for other tests."""


def write(
    path: Path, metadata: str, module: Module, report: Report, export: Callable[[Path], list[Path]]
) -> None:
    """Write the archive ``path``. ``export`` writes the model's code into a folder, and returns its files.

    ``module`` is the graph after all passes; it is written without weights, which are in the code.
    """
    kernels = [dataclasses.asdict(dataclasses.replace(row, from_cache=False)) for row in report.rows]
    decisions = [dataclasses.asdict(one) for one in report.measured]
    with link.temporary_folder("tvmlite-archive-") as folder:
        code = {
            f"{FOLDERS.get(file.suffix, CASES)}/{file.name}": file.read_bytes() for file in export(folder)
        }
    files = {
        model_library.METADATA: metadata.encode(),
        **dict(sorted(code.items())),
        "src/relay.txt": astext(module).encode(),
        "records.json": json.dumps({"kernels": kernels, "decisions": decisions}, indent=1).encode(),
    }
    link.write_atomically(path, lambda output: model_library.write(output, files), mode=0o666)
