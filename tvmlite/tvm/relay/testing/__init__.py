"""``relay.testing``: networks, and helpers for tests of passes."""

from __future__ import annotations

import importlib
from collections import Counter
from typing import Any

import numpy as np

from tvmlite.relay.ir import nodes
from tvmlite.runtime.ndarray import NDArray, cpu
from tvmlite.tvm.absent import lookup, missing
from tvmlite.tvm.ir.module import IRModule
from tvmlite.tvm.ir.transform import Pass
from tvmlite.tvm.relay import transform
from tvmlite.tvm.relay.analysis import post_order_visit
from tvmlite.tvm.relay.expr import Function
from tvmlite.tvm.relay.op.op import Op
from tvmlite.tvm.relay.testing.init import create_workload
from tvmlite.tvm.relay.transform import gradient as gradient
from tvmlite.tvm.relay.transform.gradient.check import check_grad as check_grad

_NETWORKS = (
    "dcgan", "densenet", "dqn", "inception_v3", "init", "layers", "lstm", "mlp", "mobilenet", "resnet",
    "resnet_3d", "squeezenet", "synthetic", "vgg",
)  # fmt: skip

__all__ = [  # pyright: ignore[reportUnsupportedDunderAll]
    "TempOpAttr", "check_grad", "count_ops", "create_workload", "enabled_targets", "rand", "run_infer_type",
    "run_opt_pass", *_NETWORKS,
]  # fmt: skip


class TempOpAttr:
    """Sets an operator's attribute in a block: ``with TempOpAttr("nn.conv2d", "FTVMLegalize", rule):``"""

    def __init__(self, op_name: str, attr_key: str, attr_value: Any) -> None:
        self._op, self._key, self._value = Op.get(op_name), attr_key, attr_value

    def __enter__(self) -> None:
        self._before = self._op.get_attr(self._key)
        self._op.set_attr(self._key, self._value)

    def __exit__(self, *error: object) -> None:
        self._op.reset_attr(self._key)
        if self._before is not None and self._op.get_attr(self._key) is None:
            self._op.set_attr(self._key, self._before)


def run_opt_pass(expr: Any, opt_pass: Any, import_prelude: bool = False) -> Any:
    """Apply to ``expr`` one pass, in the current ``PassContext``, or a list of passes, with opt level 3. The
    result is a function if ``expr`` is one, else an expression."""
    if import_prelude:
        missing("relay.testing.run_opt_pass(import_prelude=True)", "there are no algebraic data types")()
    mod = IRModule.from_expr(expr)
    if isinstance(opt_pass, Pass):
        mod = opt_pass(mod)
    else:
        with transform.PassContext(opt_level=3):
            mod = transform.Sequential(opt_pass)(mod)
    main = mod["main"]
    return main if isinstance(expr, Function) else main.body


def run_infer_type(expr: Any) -> Any:
    """Infer the types in ``expr``."""
    return run_opt_pass(expr, transform.InferType())


def count_ops(expr: Any) -> Counter[str]:
    """The number of calls of each operator, by name."""
    found: Counter[str] = Counter()

    def visit(node: Any) -> None:
        if isinstance(node, nodes.Call) and isinstance(node.op, str):
            found[str(node.op)] += 1

    post_order_visit(expr, visit)
    return found


def rand(dtype: str, *shape: int) -> NDArray:
    """An array of random numbers from 0 to 1."""
    return np.random.rand(*shape).astype(dtype).view(NDArray)


def enabled_targets() -> list[tuple[str, Any]]:
    """The available targets and devices: the CPU."""
    return [("llvm", cpu(0))]


ctx_list = enabled_targets


def __getattr__(name: str) -> Any:
    if name in _NETWORKS:
        return importlib.import_module(f"tvmlite.tvm.relay.testing.{name}")
    return lookup(__name__, name)
