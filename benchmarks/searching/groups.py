"""Fused groups like those of models, to be measured for the cost model, with the package's own templates."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from searching import odd
from tvmlite import relay
from tvmlite.machine.target import Target
from tvmlite.relay import passes
from tvmlite.relay.entry import tasks
from tvmlite.relay.entry.kernels import fused_groups
from tvmlite.relay.entry.lower import anchor
from tvmlite.relay.frontend import from_onnx
from tvmlite.relay.ir.nodes import Function, Module
from tvmlite.relay.onnx import light_models as zoo
from tvmlite.te.space import Task

CONVOLUTIONS = (
    # size, inputs, outputs, kernel, stride, groups
    (56, 64, 64, 3, 1, 1),
    (28, 128, 128, 3, 1, 1),
    (14, 256, 256, 3, 2, 1),
    (56, 256, 64, 1, 1, 1),
    (14, 512, 256, 1, 1, 1),
    (28, 192, 32, 1, 1, 1),
    (56, 96, 96, 3, 1, 96),
    (14, 384, 384, 3, 1, 384),
)
PRODUCTS = ((128, 768, 768), (64, 384, 1536), (1, 512, 512), (32, 1024, 256))


MOST_FLOP = 6e8
"""The most operations of a kernel that is measured, because its reference is computed by plain loops."""

OF_TEMPLATE = {"conv2d": 40, "injective": 18, "pool": 10}
OF_OTHERS = 6
"""The number of groups of the zoo's models that are measured for each template."""


def groups(target: Target) -> list[Task]:
    """Tasks for convolutions and products with a bias and relu, softmax, batched products, unusual
    computations (``odd``), and groups of the models in the onnx package."""
    texts = [_convolution(*shape) for shape in CONVOLUTIONS]
    texts += [_product(*shape) for shape in PRODUCTS]
    texts += [_softmax(256, 1024), _softmax(1536, 128), _batch(12, 128, 64, 128), _batch(8, 64, 128, 64)]
    found = _tasks(target, _groups_of(target, map(relay.parse, [*texts, *odd.texts()])))
    models = (from_onnx(zoo.light_model(name)) for name in zoo.light_names())
    return list((found | _spread(_tasks(target, _groups_of(target, models)))).values())


def _groups_of(target: Target, modules: Iterable[Module]) -> Iterator[Function]:
    for module in modules:
        yield from fused_groups(passes.pipeline(3, target).run(module.unnamed()))


def _tasks(target: Target, wanted: Iterable[Function]) -> dict[str, Task]:
    """The distinct tasks of groups that can be scheduled in several ways, by key."""
    found: dict[str, Task] = {}
    for group in {tasks.task_text(one): one for one in wanted}.values():
        if not tasks.why_no_task(group):
            task = tasks.task_of(group, target)
            if len(task.config_space) > 1 and task.flop <= MOST_FLOP:
                found[task.key] = task
    return found


def _spread(found: dict[str, Task]) -> dict[str, Task]:
    """Select some tasks of each template, from the least work to the most."""
    of_template: dict[str, list[str]] = {}
    for key, task in found.items():
        of_template.setdefault(anchor(tasks.group_of(task.args[0])).schedule, []).append(key)
    kept: dict[str, Task] = {}
    for name, keys in of_template.items():
        keys.sort(key=lambda key: (found[key].flop, key))
        count = min(OF_TEMPLATE.get(name, OF_OTHERS), len(keys))
        for place in np.linspace(0, len(keys) - 1, count).round().astype(int):
            kept[keys[place]] = found[keys[place]]
    return kept


def _convolution(size: int, inputs: int, outputs: int, kernel: int, stride: int, count: int) -> str:
    pad = kernel // 2
    return f"""def @main(%x: Tensor[(1, {inputs}, {size}, {size}), float32],
        %w: Tensor[({outputs}, {inputs // count}, {kernel}, {kernel}), float32],
        %b: Tensor[({outputs}), float32]) {{
      %0 = nn.conv2d(%x, %w, padding=[{pad}, {pad}, {pad}, {pad}], strides=[{stride}, {stride}],
          channels={outputs}, kernel_size=[{kernel}, {kernel}], groups={count});
      nn.relu(nn.bias_add(%0, %b))
    }}"""


def _product(rows: int, inner: int, columns: int) -> str:
    return f"""def @main(%x: Tensor[({rows}, {inner}), float32], %w: Tensor[({columns}, {inner}), float32],
        %b: Tensor[({columns}), float32]) {{
      nn.relu(nn.bias_add(nn.dense(%x, %w), %b))
    }}"""


def _softmax(rows: int, columns: int) -> str:
    return f"def @main(%x: Tensor[({rows}, {columns}), float32]) {{ nn.softmax(%x) }}"


def _batch(batch: int, rows: int, inner: int, columns: int) -> str:
    return f"""def @main(%x: Tensor[({batch}, {rows}, {inner}), float32],
        %y: Tensor[({batch}, {columns}, {inner}), float32]) {{ nn.batch_matmul(%x, %y) }}"""
