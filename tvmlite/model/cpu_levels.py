"""One library with code for several CPU levels: one signature, and weights that the levels share."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tvmlite.core.abi.signature import Signature
from tvmlite.core.node import Node, rewrite
from tvmlite.machine.target import Target
from tvmlite.model.kernels import CompiledKernel
from tvmlite.model.report import Report
from tvmlite.relay.entry.buffer_placement import Constants
from tvmlite.relay.ir.nodes import Constant, Module
from tvmlite.te import expr as e
from tvmlite.te.loop import ir as loop
from tvmlite.te.loop.signature import signature_of

UNSUPPORTED_PROCESSOR = "this processor lacks instructions that the library needs"
"""The last message of every library, whose code is returned if no level can run on the processor."""


@dataclass(frozen=True)
class Level:
    """The compiled code of one CPU level, of that ``name``, or empty if there is only one. ``module`` is the
    graph after all passes, ``report`` says how the kernels were scheduled."""

    name: str
    target: Target
    entry: loop.Function
    constants: Constants
    kernels: tuple[CompiledKernel, ...]
    kernel_labels: tuple[str, ...] = ()
    module: Module | None = None
    report: Report | None = None


def entries_of(levels: Sequence[Level]) -> list[loop.Function]:
    """Return the entries of ``levels``, all with the same parameters: a workspace if one of them has it."""
    if all(one.entry.workspace is None for one in levels):
        return [one.entry for one in levels]
    no_workspace = e.const(0, e.INDEX)
    return [
        dataclasses.replace(one.entry, workspace=no_workspace) if one.entry.workspace is None else one.entry
        for one in levels
    ]


def shared_constants(
    levels: Sequence[Level], entries: Sequence[loop.Function]
) -> tuple[Constants, list[loop.Function]]:
    """Return the constants of all ``levels``, equal bytes once, and ``entries`` with the offsets in them."""
    shared, places = Constants(), {}
    relocated = []
    for level, entry in zip(levels, entries, strict=True):
        new_offsets: dict[int, int] = {}
        for constant, offset in level.constants.offsets.items():
            digest = _digest(constant)
            if digest not in places:
                places[digest] = shared.offset(constant)
            new_offsets[offset] = places[digest]
        relocated.append(_relocated(entry, new_offsets))
    return shared, relocated


def _digest(constant: Constant) -> bytes:
    made = np.empty(constant.shape, constant.dtype)
    constant.write_to(made)
    data = np.ascontiguousarray(made).reshape(-1).view(np.uint8)
    return hashlib.blake2b(data.data, digest_size=32).digest()


def _relocated(entry: loop.Function, new_offsets: Mapping[int, int]) -> loop.Function:
    """``entry`` with its views of constants at ``new_offsets``, which are given by the old."""
    if all(old == offset for old, offset in new_offsets.items()):
        return entry

    def rule(node: Node) -> Node:
        if isinstance(node, loop.View) and node.buffer.scope == "constant":
            assert isinstance(node.offset, e.Const), "constants lie at fixed places"
            return dataclasses.replace(node, offset=e.const(new_offsets[int(node.offset.value)], e.INDEX))
        return node

    return dataclasses.replace(entry, body=rewrite(entry.body, rule))


def renamed(entry: loop.Function, symbol: str) -> loop.Function:
    """Return ``entry`` renamed to ``symbol``; it still reads the constants of its own name."""
    return dataclasses.replace(entry, name=symbol, attrs=(*entry.attrs, ("constants_of", entry.name)))


def common_signature(signatures: Sequence[Signature]) -> Signature:
    """Return the signature of entries that do the same, for callers: the largest workspace, a profile large
    enough for all, and every message once; the last is ``UNSUPPORTED_PROCESSOR``."""
    first = signatures[0]
    assert all(one.parameters == first.parameters for one in signatures), "levels have the same parameters"
    known = [one.workspace for one in signatures]
    workspace = None if None in known else max(size for size in known if size is not None)
    messages = dict.fromkeys(message for one in signatures for message in one.messages)
    kernels = max((one.kernels for one in signatures), key=len)
    return dataclasses.replace(
        first, workspace=workspace, messages=(*messages, UNSUPPORTED_PROCESSOR), kernels=kernels
    )


def signature_with(entry: loop.Function, constants: int) -> Signature:
    """Return the signature of ``entry`` with ``constants`` bytes of constants."""
    return dataclasses.replace(signature_of(entry), constants=constants)


def described(signature: Signature, inputs: Sequence[str], outputs: Sequence[str]) -> dict[str, Any]:
    """Return names, dtypes and shapes of a model's arrays for metadata; a computed extent is null."""
    given = [p for p in signature.parameters if p.kind in ("input", "scalar")]

    def rows(names: Sequence[str], parameters: Sequence[Any]) -> list[dict[str, Any]]:
        return [
            {"name": name, "dtype": p.dtype, "shape": list(p.shape)}
            for name, p in zip(names, parameters, strict=True)
        ]

    return {"inputs": rows(inputs, given), "outputs": rows(outputs, signature.outputs)}
