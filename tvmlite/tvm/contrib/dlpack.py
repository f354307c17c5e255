"""``tvm.contrib.dlpack``: let compiled functions take tensors of other libraries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvmlite.tvm import nd


def convert_func(
    tvm_func: Callable[..., Any], tensor_type: type, to_dlpack_func: Callable[[Any], Any]
) -> Callable[..., Any]:
    """Return ``tvm_func`` as a function that also takes tensors of ``tensor_type``. ``to_dlpack_func``
    converts one to a DLPack object, whose memory is used without a copy."""

    def of_library(one: Any) -> Any:
        return nd.from_dlpack(to_dlpack_func(one)) if isinstance(one, tensor_type) else one

    def call(*args: Any) -> Any:
        return tvm_func(*map(of_library, args))

    return call


def to_pytorch_func(tvm_func: Callable[..., Any]) -> Callable[..., Any]:
    """Return ``tvm_func`` as a function that also takes PyTorch tensors, without a copy."""
    import torch

    return convert_func(tvm_func, torch.Tensor, torch.Tensor.detach)
