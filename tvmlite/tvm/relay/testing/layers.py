"""Layers whose parameters are named after them: ``conv2d(data, name="stem", ...)`` has ``stem_weight``."""

from __future__ import annotations

from typing import Any

from tvmlite.tvm.relay.expr import var
from tvmlite.tvm.relay.op.functions import find


def batch_norm_infer(
    data: Any,
    gamma: Any = None,
    beta: Any = None,
    moving_mean: Any = None,
    moving_var: Any = None,
    **options: Any,
) -> Any:
    """The first result of a batch normalization. ``name`` is the prefix of its parameters' names."""
    name = options.pop("name")
    names = ("gamma", "beta", "moving_mean", "moving_var")
    given = (gamma, beta, moving_mean, moving_var)
    filled = [var(f"{name}_{part}") if one is None else one for part, one in zip(names, given, strict=True)]
    return find("nn.batch_norm")(data, *filled, **options)[0]


def conv1d(data: Any, weight: Any = None, **options: Any) -> Any:
    """A convolution along one axis."""
    return _weighted("nn.conv1d", data, weight, options)


def conv2d(data: Any, weight: Any = None, **options: Any) -> Any:
    """A convolution of images."""
    return _weighted("nn.conv2d", data, weight, options)


def conv3d(data: Any, weight: Any = None, **options: Any) -> Any:
    """A convolution of volumes."""
    return _weighted("nn.conv3d", data, weight, options)


def conv2d_transpose(data: Any, weight: Any = None, **options: Any) -> Any:
    """A transposed convolution of images."""
    return _weighted("nn.conv2d_transpose", data, weight, options)


def dense_add_bias(
    data: Any, weight: Any = None, bias: Any = None, units: int | None = None, **options: Any
) -> Any:
    """A dense layer with a bias."""
    name = options.pop("name")
    weight = var(f"{name}_weight") if weight is None else weight
    bias = var(f"{name}_bias") if bias is None else bias
    return find("nn.bias_add")(find("nn.dense")(data, weight, units, **options), bias, axis=-1)


def conv_kernel_layout(data_layout: str, is_depthwise: bool = False) -> str:
    """The usual kernel layout for a data layout."""
    table = {
        "NCHW": "OIHW",
        "NHWC": "HWOI" if is_depthwise else "HWIO",
        "NCDHW": "OIDHW",
        "NDHWC": "DHWOI" if is_depthwise else "DHWIO",
    }
    if data_layout not in table:
        raise ValueError(
            f"conv_kernel_layout: data_layout is {data_layout!r}, expected one of {', '.join(table)}"
        )
    return table[data_layout]


def _weighted(op: str, data: Any, weight: Any, options: dict[str, Any]) -> Any:
    name = options.pop("name")
    return find(op)(data, var(f"{name}_weight") if weight is None else weight, **options)
