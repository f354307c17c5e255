"""Print what is in a compiled library, without running anything of it."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tvmlite.core.abi.signature import Parameter, Signature
from tvmlite.machine.features import missing_features
from tvmlite.machine.target import Target
from tvmlite.machine.triple import Triple
from tvmlite.runtime import read_metadata
from tvmlite.runtime.library import levels
from tvmlite.te.visualizer.text import amount, table

NAME = "inspect"
HELP = "print what is in a compiled library"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    parser.add_argument("library", type=Path, help="a compiled library of any target: .so, .wasm, .tar")
    parser.add_argument("--json", action="store_true", help="print all of its metadata as JSON")


def main(options: argparse.Namespace) -> int:
    """Run the command."""
    fields = read_metadata(options.library)
    signature = Signature.from_json(fields["entry"])
    if options.json:
        print(json.dumps(fields | {"entry": json.loads(fields["entry"])}, indent=1))
    else:
        print("\n".join(_lines(options.library, fields, signature)))
    return 0


def _lines(path: Path, fields: Mapping[str, Any], signature: Signature) -> Iterator[str]:
    weights = amount(signature.constants, "B")
    yield f"{path}: {amount(path.stat().st_size, 'B')}, of that {weights} weights"
    yield f"made by tvmlite {fields.get('version', '(not said)')}, calling convention {fields['abi']}"
    rows = levels.level_rows(path, fields)
    yield from _levels(rows) if rows[0]["name"] else _needs(rows[0])
    yield f"function: {signature.c_prototype()}"
    yield ""
    kinds = ("input", "scalar")
    yield from _arrays("input", [p for p in signature.parameters if p.kind in kinds], fields)
    yield from _arrays("output", signature.outputs, fields)
    yield f"scratch memory: {_scratch(signature)}"
    yield ""
    labels = fields.get("kernel_labels", signature.kernels)
    counted = Counter(map(str, labels))
    yield f"{len(labels)} kernels" + (", in order of first use:" if labels else "")
    yield from (
        f"  {label}" + (f"  ({count} times)" if count > 1 else "") for label, count in counted.items()
    )


def _needs(row: Mapping[str, Any]) -> Iterator[str]:
    """The processor features that a library without levels needs."""
    yield f"target: {row['target']}"
    lacking = missing_features(row["features"])
    yield f"instruction sets: {', '.join(row['features']) or 'those that every such processor has'}"
    if not Triple.parse(Target.parse(row["target"]).triple).is_native:
        yield "they are of another kind of machine than this one"
    else:
        yield f"this processor {'lacks ' + ', '.join(lacking) if lacking else 'has them all'}"


def _levels(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """The CPU levels of the library, what each needs in addition to those before it, and which one this
    machine runs."""
    made, known = [("level", "compiled for", "here", "instruction sets")], frozenset[str]()
    targets = [Target.parse(row["target"]) for row in rows]
    native = Triple.parse(targets[0].triple).is_native
    lacking = [missing_features(row["features"]) if native else [] for row in rows]
    used = max((k for k, missing in enumerate(lacking) if not missing), default=-1) if native else -1
    for k, (row, target) in enumerate(zip(rows, targets, strict=True)):
        here = "another kind of machine" if not native else f"lacks {', '.join(lacking[k])}"
        if native and not lacking[k]:
            here = "used" if k == used else "runs"
        needs = sorted(set(row["features"]) - known)
        made.append((str(row["name"]), target.cpu, here, ", ".join(needs)))
        known |= frozenset(row["features"])
    yield from table(made)
    if native and used < 0:
        yield "this processor runs none of them"


def _arrays(what: str, parameters: Sequence[Parameter], fields: Mapping[str, Any]) -> Iterator[str]:
    names = fields.get(f"{what}_names", [p.name for p in parameters])
    rows = [(what, "type", "in C")]
    for name, parameter in zip(names, parameters, strict=False):
        extents = ", ".join("?" if extent is None else str(extent) for extent in parameter.shape)
        rows.append((str(name), f"{parameter.dtype}[{extents}]", parameter.name))
    yield from [*table(rows), ""]


def _scratch(signature: Signature) -> str:
    if signature.workspace is not None:
        return amount(signature.workspace, "B")
    sizes = ", ".join(p.name for p in signature.shape_sizes)
    return f"depends on {sizes or 'the number of threads'}: {signature.name}_shapes gives it"
