"""``tvm.te.tensor``: the classes of tensors and operations."""

from tvmlite.te.tensor.extern import ExternOp as ExternOp
from tvmlite.te.tensor.extern import ExternOp as HybridOp
from tvmlite.te.tensor.scan import ScanOp as ScanOp
from tvmlite.te.tensor.tensor import ComputeOp as ComputeOp
from tvmlite.te.tensor.tensor import ComputeOp as TensorComputeOp
from tvmlite.te.tensor.tensor import Operation as Operation
from tvmlite.te.tensor.tensor import PlaceholderOp as PlaceholderOp
from tvmlite.te.tensor.tensor import Tensor as Tensor
from tvmlite.te.tensor.tensor import TensorSlice as TensorSlice
from tvmlite.tvm.absent import refusing

__all__ = [
    "ComputeOp",
    "ExternOp",
    "HybridOp",
    "Operation",
    "PlaceholderOp",
    "ScanOp",
    "Tensor",
    "TensorComputeOp",
    "TensorSlice",
]


__getattr__ = refusing(__name__)
