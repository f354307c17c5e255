"""``tvm.contrib.dlpack``: compiled functions that take tensors of other libraries, which they do anyway."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvmlite.tvm import nd


def convert_func(
    tvm_func: Callable[..., Any], tensor_type: type, to_dlpack_func: Callable[[Any], Any]
) -> Callable[..., Any]:
    """``tvm_func`` that takes tensors of ``tensor_type``, too: ``to_dlpack_func`` gives an object of DLPack,
    whose memory is used."""

    def of_library(one: Any) -> Any:
        return nd.from_dlpack(to_dlpack_func(one)) if isinstance(one, tensor_type) else one

    def call(*args: Any) -> Any:
        return tvm_func(*map(of_library, args))

    return call


def to_pytorch_func(tvm_func: Callable[..., Any]) -> Callable[..., Any]:
    """``tvm_func`` that takes tensors of PyTorch, whose memory is used."""
    import torch

    return convert_func(tvm_func, torch.Tensor, torch.Tensor.detach)
