"""Fused groups as models have them, to be measured for the cost model: their rules are the package's own."""

from __future__ import annotations

import tvmlite
from tvmlite import relay
from tvmlite.core.target import Target
from tvmlite.relay import tasks
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


def groups(target: Target) -> list[Task]:
    """A task of each: convolutions and products with a bias and relu, softmax, products in a batch."""
    texts = [_convolution(*shape) for shape in CONVOLUTIONS]
    texts += [_product(*shape) for shape in PRODUCTS]
    texts += [_softmax(256, 1024), _softmax(1536, 128), _batch(12, 128, 64, 128), _batch(8, 64, 128, 64)]
    found: dict[str, Task] = {}
    for text in texts:
        for kernel in tvmlite.compile(relay.parse(text), target).kernels:
            group = kernel.task.group
            if not tasks.why_no_task(group):
                task = tasks.task_of(group, target)
                if len(task.config_space) > 1:
                    found[task.key] = task
    return list(found.values())


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
