"""Converts dense layers whose weights are mostly zero to block-sparse (BSR) matrix products."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tvmlite.core.errors import InputError
from tvmlite.core.node import rewrite
from tvmlite.core.span import Span
from tvmlite.relay.ir import nodes
from tvmlite.relay.ir.types import show_shape
from tvmlite.tvm import nd
from tvmlite.tvm.absent import refusing
from tvmlite.tvm.relay.analysis import free_vars
from tvmlite.tvm.relay.expr import Function, adopt, var
from tvmlite.tvm.relay.op.builders import function

_PARTS = ("data", "indices", "indptr")


def convert(
    func: Any,
    params: Mapping[str, Any],
    blocksize: tuple[int, int],
    sparsity_threshold: float,
    filter_func: Callable[[Any], bool] | None = None,
) -> tuple[Any, dict[str, Any]]:
    """Replace ``nn.dense`` by ``nn.sparse_dense`` in ``func`` where the weight is in ``params`` and at least
    the fraction ``sparsity_threshold`` of it is 0. Return the new function and parameters.

    Each such weight is replaced by three parameters with blocks of ``blocksize``: ``weight.data``,
    ``weight.indices`` and ``weight.indptr``. A ``filter_func`` selects the calls to replace.
    """
    found: dict[str, dict[str, np.ndarray]] = {}
    variables: dict[str, list[Any]] = {}

    def rule(node: Any) -> Any:
        name = _weight_of(node, params)
        if name is None or (filter_func is not None and not filter_func(node)):
            return node
        weight = np.asarray(params[name])
        if np.mean(weight == 0) < sparsity_threshold:
            return node
        if name not in found:
            parts = dict(zip(_PARTS, _blocks(name, weight, blocksize), strict=True))
            found[name] = {f"{name}.{part}": one for part, one in parts.items()}
            variables[name] = [
                var(key, shape=one.shape, dtype=str(one.dtype)) for key, one in found[name].items()
            ]
        return adopt(function("nn.sparse_dense")(node.args[0], variables[name]))

    body = rewrite(func.body, rule)
    made = adopt(Function(free_vars(body), body, attrs=func.attrs))
    left = {one.name for one in made.params}
    kept = {name: value for name, value in params.items() if name not in found or name in left}
    sparse = {key: nd.array(one) for parts in found.values() for key, one in parts.items()}
    return made, kept | sparse


def _weight_of(node: Any, params: Mapping[str, Any]) -> str | None:
    """The name of the parameter that is the weight of the dense layer ``node``; None for other nodes."""
    if not isinstance(node, nodes.Call) or node.op != "nn.dense" or node["out_dtype"]:
        return None
    weight = node.args[1]
    return weight.name if isinstance(weight, nodes.Var) and weight.name in params else None


def _blocks(
    name: str, weight: np.ndarray, size: tuple[int, int]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The nonzero blocks of ``weight``, the block column of each, and the index of each row's first block."""
    tall, wide = size
    if weight.shape[0] % tall or weight.shape[1] % wide:
        raise InputError(
            f"bsr_dense.convert: {name!r} is {show_shape(weight.shape)}, blocks of {size} do not fit",
            Span.of_caller(),
        )
    blocks = weight.reshape(weight.shape[0] // tall, tall, -1, wide).swapaxes(1, 2)
    there = (blocks != 0).any((2, 3))
    rows, columns = np.nonzero(there)
    starts = np.concatenate([[0], np.cumsum(there.sum(1))])
    return np.ascontiguousarray(blocks[rows, columns]), columns.astype("int32"), starts.astype("int32")


__getattr__ = refusing(__name__)
