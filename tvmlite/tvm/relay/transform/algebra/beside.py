"""Concatenates the operands of several products into those of one, and splits its result into parts."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

from tvmlite.relay.ir.infer import tensor_type_of
from tvmlite.tvm.relay.expr import Tuple
from tvmlite.tvm.relay.op.functions import find


def _shape(node: Any) -> tuple[Any, ...]:
    return tuple(tensor_type_of(node).shape)


class Beside(ABC):
    """Calls of ``op`` on the same data, combined into one. ``axis`` is the axis of the combined result along
    which the results of the calls are concatenated."""

    op: ClassVar[str]
    weight_axis: ClassVar[int] = 0

    def __init__(self, calls: Sequence[Any]) -> None:
        self.calls = list(calls)
        self.axis = self.first_axis() if self.calls else 0
        self.rank = len(_shape(self.calls[0])) if self.calls else 0
        self.sizes = [int(_shape(call)[self.axis]) for call in self.calls]

    @abstractmethod
    def first_axis(self) -> int:
        """The axis of the product's result along which the calls are concatenated."""

    @abstractmethod
    def product(self) -> Any:
        """The combined product."""

    def takes(self, call: Any) -> bool:
        """Whether ``call`` can be combined with any other."""
        return tensor_type_of(call).is_static

    @abstractmethod
    def fits(self, first: Any, call: Any) -> bool:
        """Whether ``call`` can be combined with ``first``."""

    def operand_fits(self, first: Any, call: Any, index: int) -> bool:
        """Whether the operands ``index`` of two elementwise calls after the products can be concatenated:
        both have the axis's full extent, and their other extents are equal."""
        a, b = (_shape(one.args[index]) for one in (first, call))
        if tensor_type_of(first.args[index]).dtype != tensor_type_of(call.args[index]).dtype:
            return False
        place = self.place(len(a))
        if len(a) != len(b) or place < 0:
            return False
        whole = [shape[self.axis - self.rank] for shape in (_shape(first), _shape(call))]
        return [a[place], b[place]] == whole and all(
            x == y for axis, (x, y) in enumerate(zip(a, b, strict=True)) if axis != place
        )

    def place(self, rank: int) -> int:
        """The concatenation axis in an operand of ``rank`` axes; negative if the operand does not have it."""
        return rank - (self.rank - self.axis)

    def operand(self, calls: Sequence[Any], index: int) -> Any:
        """The operands ``index`` of ``calls``, concatenated."""
        place = self.place(len(_shape(calls[0].args[index])))
        return find("concatenate")(Tuple([call.args[index] for call in calls]), axis=place)

    def may_follow(self, call: Any) -> bool:
        """Whether the elementwise ``call`` can be applied to the combined product."""
        return True

    def follow(self, call: Any) -> None:
        """Update ``axis`` and ``rank`` after ``call`` is applied to the combined product."""
        grown = len(_shape(call)) - self.rank
        behind = call.op == "expand_dims" and call["axis"] % (self.rank + 1) > self.axis
        self.axis += 0 if behind else grown
        self.rank += grown

    def parts(self, whole: Any) -> list[Any]:
        """The result of each call, as a slice of the combined result ``whole``."""
        rank = self.sliced_axes
        made = []
        for start, size in zip(itertools.accumulate([0, *self.sizes]), self.sizes, strict=False):
            begin = [start if axis == self.axis else 0 for axis in range(rank)]
            end = [size if axis == self.axis else -1 for axis in range(rank)]
            made.append(
                find("strided_slice")(whole, begin=begin, end=end, strides=[1] * rank, slice_mode="size")
            )
        return made

    @property
    def sliced_axes(self) -> int:
        """The number of leading axes that the slice of a part specifies."""
        return self.axis + 1

    def weights(self) -> Any:
        """The weights, concatenated."""
        return find("concatenate")(Tuple([call.args[1] for call in self.calls]), axis=self.weight_axis)


class Conv2Ds(Beside):
    """Convolutions, concatenated along the channels."""

    op = "nn.conv2d"

    def first_axis(self) -> int:
        """The axis of channels."""
        layout = self.calls[0]["out_layout"] or self.calls[0]["data_layout"]
        return layout.index("C")

    def takes(self, call: Any) -> bool:
        """Whether ``call`` is a convolution without groups, in layouts without blocks."""
        layouts = (call["data_layout"], call["kernel_layout"], call["out_layout"])
        return super().takes(call) and call["groups"] == 1 and all(one.isupper() for one in layouts if one)

    def fits(self, first: Any, call: Any) -> bool:
        """Whether everything except the number of channels is equal."""
        names = "strides padding dilation groups data_layout kernel_layout out_dtype out_layout".split()
        if any(first[name] != call[name] for name in names):
            return False
        a, b, layout = _shape(first.args[1]), _shape(call.args[1]), first["kernel_layout"]
        types = [tensor_type_of(one.args[1]).dtype for one in (first, call)]
        return types[0] == types[1] and all(
            x == y for axis, x, y in zip(layout, a, b, strict=True) if axis != "O"
        )

    def product(self) -> Any:
        """The convolution with all output channels."""
        first = self.calls[0]
        weight = find("concatenate")(
            Tuple([call.args[1] for call in self.calls]), axis=first["kernel_layout"].index("O")
        )
        return find("nn.conv2d")(first.args[0], weight, **{**dict(first.attrs), "channels": sum(self.sizes)})


class Denses(Beside):
    """Dense layers, concatenated along the units."""

    op = "nn.dense"

    def first_axis(self) -> int:
        """The axis of units."""
        return len(_shape(self.calls[0])) - 1

    def takes(self, call: Any) -> bool:
        """Whether ``call`` multiplies two matrices."""
        return super().takes(call) and len(_shape(call)) == 2

    def fits(self, first: Any, call: Any) -> bool:
        """Whether the weights have equal row lengths and dtypes, and the results one dtype."""
        a, b = (tensor_type_of(one.args[1]) for one in (first, call))
        return a.dtype == b.dtype and a.shape[1] == b.shape[1] and first["out_dtype"] == call["out_dtype"]

    def product(self) -> Any:
        """The dense layer with all units."""
        first = self.calls[0]
        attrs = {**dict(first.attrs), "units": sum(self.sizes)}
        return find("nn.dense")(first.args[0], self.weights(), **attrs)

    def operand_fits(self, first: Any, call: Any, index: int) -> bool:
        """Whether the operands can be concatenated along the last axis, with those of extent 1 repeated."""
        a, b = (_shape(one.args[index]) for one in (first, call))
        if len(a) != len(b) or self.axis != self.rank - 1 or a[:-1] != b[:-1]:
            return False
        if tensor_type_of(first.args[index]).dtype != tensor_type_of(call.args[index]).dtype:
            return False
        units = (_shape(one)[-1] for one in (first, call))
        return not a or all(shape[-1] in (1, size) for shape, size in zip((a, b), units, strict=True))

    def operand(self, calls: Sequence[Any], index: int) -> Any:
        """The operands, concatenated; one with a single value for all units is repeated first."""
        rank = len(_shape(calls[0].args[index]))
        last = max(rank - 1, 0)
        whole: list[Any] = []
        for call, size in zip(calls, self.sizes, strict=True):
            one = call.args[index]
            shape = _shape(one)
            if not shape:
                one = find("repeat")(find("expand_dims")(one, axis=-1), repeats=size, axis=0)
            elif shape[-1] == 1 and size != 1:
                one = find("repeat")(one, repeats=size, axis=last)
            whole.append(one)
        return find("concatenate")(Tuple(whole), axis=last)

    @property
    def sliced_axes(self) -> int:
        """The rank: all axes are specified."""
        return self.rank


class StackedDenses(Beside):
    """Dense layers with weights of one shape, combined into a batch of matrix products."""

    op = "nn.dense"

    def first_axis(self) -> int:
        """The batch axis."""
        return 0

    def takes(self, call: Any) -> bool:
        """Whether ``call`` multiplies two matrices."""
        return super().takes(call) and len(_shape(call)) == 2

    def fits(self, first: Any, call: Any) -> bool:
        """Whether the weights have one type, and the results one dtype."""
        a, b = (tensor_type_of(one.args[1]) for one in (first, call))
        return a.dtype == b.dtype and a.shape == b.shape and first["out_dtype"] == call["out_dtype"]

    def product(self) -> Any:
        """The batched product of the repeated data and the stacked weights."""
        data = find("stack")(Tuple([call.args[0] for call in self.calls]), axis=0)
        weight = find("stack")(Tuple([call.args[1] for call in self.calls]), axis=0)
        return find("nn.batch_matmul")(data, weight, out_dtype=self.calls[0]["out_dtype"])

    def may_follow(self, call: Any) -> bool:
        """Whether ``call`` has no axis attribute, which would be wrong for the batch's additional axis."""
        return "axis" not in dict(call.attrs)

    def operand_fits(self, first: Any, call: Any, index: int) -> bool:
        """Whether the operands have one type, of rank 1 or 2."""
        a, b = (tensor_type_of(one.args[index]) for one in (first, call))
        return a.dtype == b.dtype and a.shape == b.shape and 1 <= a.ndim <= 2 == len(_shape(first))

    def operand(self, calls: Sequence[Any], index: int) -> Any:
        """The operands, stacked."""
        args = [call.args[index] for call in calls]
        if len(_shape(args[0])) < 2:
            args = [find("expand_dims")(one, axis=0) for one in args]
        return find("stack")(Tuple(args), axis=0)

    def parts(self, whole: Any) -> list[Any]:
        """The results of the layers: the slices along the batch axis."""
        split = find("split")(whole, indices_or_sections=len(self.calls), axis=0)
        return [find("squeeze")(split[index], axis=[0]) for index in range(len(self.calls))]


class BatchMatmuls(Beside):
    """Batched matrix products, concatenated along the columns."""

    op = "nn.batch_matmul"
    weight_axis = 1

    def first_axis(self) -> int:
        """The axis of columns."""
        return 2

    def takes(self, call: Any) -> bool:
        """Whether only the right operand is transposed, which is the default."""
        return super().takes(call) and not call["transpose_a"] and bool(call["transpose_b"])

    def fits(self, first: Any, call: Any) -> bool:
        """Whether everything except the number of columns is equal."""
        a, b = (tensor_type_of(one.args[1]) for one in (first, call))
        same = a.shape[0] == b.shape[0] and a.shape[2] == b.shape[2]
        return same and a.dtype == b.dtype and first["out_dtype"] == call["out_dtype"]

    def product(self) -> Any:
        """The batched product with all columns."""
        first = self.calls[0]
        return find("nn.batch_matmul")(first.args[0], self.weights(), **dict(first.attrs))

    def operand(self, calls: Sequence[Any], index: int) -> Any:
        """The operands, concatenated along their last axis."""
        return find("concatenate")(Tuple([call.args[index] for call in calls]), axis=-1)
