"""Normalization layers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvmlite import relay
from tvmlite.core import arguments
from tvmlite.te.tensor.tensor import Tensor
from tvmlite.tvm.absent import refusing
from tvmlite.tvm.topi.nn.padding import each
from tvmlite.tvm.topi.operate import operate


def lrn(
    data: Tensor, size: int, axis: int = 1, alpha: float = 0.0001, beta: float = 0.75, bias: float = 2
) -> Tensor:
    """Return the local response normalization of ``data`` along ``axis``."""
    return operate("nn.lrn", lambda x: relay.nn.lrn(x, size, axis, bias, alpha, beta), data)


def batch_norm(
    data: Tensor,
    gamma: Tensor,
    beta: Tensor,
    moving_mean: Tensor,
    moving_var: Tensor,
    axis: int | None = None,
    epsilon: float | None = None,
    center: bool | None = None,
    scale: bool | None = None,
    training: bool | None = None,
    momentum: float | None = None,
) -> list[Tensor]:
    """Return ``data`` normalized by the moving statistics of ``axis`` (by default 1), and copies of these.

    With ``training``, ``data`` is normalized by its own statistics, and the returned moving statistics are
    ``(1 - momentum) * moving + momentum * own``, where ``momentum`` is 0.1 by default.
    """
    place = 1 if axis is None else axis
    part = 0.1 if momentum is None else momentum
    if not 0 <= part <= 1:
        raise arguments.refused("topi.nn.batch_norm: momentum", momentum, "a number from 0 to 1")
    options = place, 1e-5 if epsilon is None else epsilon, center is not False, scale is not False

    def moved(old: Any, new: Any) -> Any:
        kept, taken = (relay.const(one, moving_mean.dtype) for one in (1 - part, part))
        return relay.add(relay.multiply(old, kept), relay.multiply(new, taken))

    def formula(x: Any, g: Any, b: Any, *moving: Any) -> Any:
        own = moving
        if training:
            kept = relay.mean(x, place, keepdims=True, exclude=True)
            own = relay.mean(x, place, exclude=True), relay.variance(x, kept, place, exclude=True)
            moving = tuple(map(moved, moving, own))
        made = relay.nn.batch_norm(x, g, b, *own, *options)[0]
        return relay.Tuple((made, *map(relay.copy, moving)))

    return operate("nn.batch_norm", formula, data, gamma, beta, moving_mean, moving_var)


def _axes(data: Tensor, axis: Any) -> list[int]:
    return [one % data.ndim for one in each(axis, len(axis) if isinstance(axis, (tuple, list)) else 1)]


def _over(data: Tensor, axis: Any, normalized: Callable[..., Any]) -> Callable[..., Any]:
    """A function that makes the Relay expression ``normalized(x, *weights)``. Several axes ``axis``, which
    are also those of the weights, are merged into one, the last."""
    axes = _axes(data, axis)
    order = [n for n in range(data.ndim) if n not in axes] + axes
    shape = [data.shape[n] for n in order]
    back = [order.index(n) for n in range(data.ndim)]

    def formula(x: Any, *weights: Any) -> Any:
        rows = relay.reshape(relay.transpose(x, order), (*shape[: -len(axes)], -1))
        made = normalized(rows, *(relay.reshape(one, (-1,)) for one in weights))
        return relay.transpose(relay.reshape(made, shape), back)

    return formula if len(axes) > 1 else lambda *x: normalized(*x, axis=axes[0])


def layer_norm(data: Tensor, gamma: Tensor, beta: Tensor, axis: Any, epsilon: float = 1e-5) -> Tensor:
    """Return ``data`` normalized along ``axis``, or jointly along several axes."""

    def normalized(x: Any, g: Any, b: Any, axis: int = -1) -> Any:
        return relay.nn.layer_norm(x, g, b, axis, epsilon)

    return operate("nn.layer_norm", _over(data, axis, normalized), data, gamma, beta)


def instance_norm(data: Tensor, gamma: Tensor, beta: Tensor, axis: Any, epsilon: float = 1e-5) -> Tensor:
    """Return ``data`` normalized along ``axis``, or jointly along several. The weights have these axes."""
    return layer_norm(data, gamma, beta, axis, epsilon)


def group_norm(
    data: Tensor,
    gamma: Tensor,
    beta: Tensor,
    num_groups: int,
    channel_axis: int,
    axes: Any,
    epsilon: float = 1e-5,
) -> Tensor:
    """Return ``data`` with each group of channels normalized over its channels and ``axes``."""
    channel, others = channel_axis % data.ndim, _axes(data, axes)
    order = [n for n in range(data.ndim) if n not in (channel, *others)] + [channel, *others]
    shape = [data.shape[n] for n in order]
    back = [order.index(n) for n in range(data.ndim)]

    def formula(x: Any, g: Any, b: Any) -> Any:
        rows = relay.reshape(relay.transpose(x, order), (-1, *shape[-1 - len(others) :]))
        made = relay.nn.group_norm(rows, g, b, num_groups, 1, epsilon)
        return relay.transpose(relay.reshape(made, shape), back)

    return operate("nn.group_norm", formula, data, gamma, beta)


def rms_norm(data: Tensor, weight: Tensor, axis: Any, epsilon: float = 1e-5) -> Tensor:
    """Return ``data`` divided by its root mean square along one or jointly several axes, times ``weight``."""

    def normalized(x: Any, g: Any, axis: int = -1) -> Any:
        return relay.nn.rms_norm(x, g, axis, epsilon)

    return operate("nn.rms_norm", _over(data, axis, normalized), data, weight)


__getattr__ = refusing(__name__)
