"""Constants whose elements are computed at each access and not kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack

import numpy as np

from tvmlite.core import dtype as dtypes
from tvmlite.core import mapped
from tvmlite.core.span import Span
from tvmlite.relay.ir.infer import tensor_type_of
from tvmlite.relay.ir.interpret import call_reference
from tvmlite.relay.ir.nodes import Call, Constant

LARGE_BYTES = 1 << 16
"""Constants of at least this many bytes are recomputed instead of kept."""


class DeferredConstant(Constant):
    """A constant of ``shape`` and ``dtype`` whose elements ``fill(out)`` writes to an array at each access.

    ``data`` is computed at each access. So weights that a pass repacks are in memory only once, in the
    library's constants (``buffer_placement.Constants``), and not in the graph as well.
    """

    def __init__(
        self,
        shape: tuple[int, ...],
        dtype: np.dtype,
        fill: Callable[[np.ndarray], object],
        span: Span | None = None,
    ) -> None:
        for name, value in (("_shape", shape), ("_dtype", dtype), ("_fill", fill), ("span", span)):
            object.__setattr__(self, name, value)

    @staticmethod
    def joined(parts: Sequence[Constant], span: Span | None = None) -> DeferredConstant:
        """The rows of all ``parts``, which have the same dtype, one part after the other."""
        rows = sum(part.shape[0] for part in parts)

        def fill(out: np.ndarray) -> None:
            start = 0
            for part in parts:
                part.write_to(out[start : start + part.shape[0]])
                start += part.shape[0]

        return DeferredConstant((rows, *parts[0].shape[1:]), parts[0].dtype, fill, span)

    @staticmethod
    def of_call(call: Call) -> DeferredConstant:
        """The value of ``call``, whose arguments are constants, computed by the operator's reference."""
        type_, args = tensor_type_of(call), [arg for arg in call.args if isinstance(arg, Constant)]
        assert len(args) == len(call.args), "arguments are constants"

        def fill(out: np.ndarray) -> None:
            with ExitStack() as reading:
                values = [reading.enter_context(mapped.reading(arg.data)) for arg in args]
                out[...] = call_reference(call, values)

        shape = tuple(extent for extent in type_.shape if isinstance(extent, int))
        assert len(shape) == type_.ndim, "extents are numbers"
        return DeferredConstant(shape, dtypes.numpy_of(type_.dtype), fill, call.span)

    @property
    def data(self) -> np.ndarray:  # type: ignore[override]
        """A new array with the elements."""
        out = np.empty(self.shape, self.dtype)
        self.write_to(out)
        return out

    @property
    def shape(self) -> tuple[int, ...]:
        """The extent of each axis."""
        return self._shape  # type: ignore[attr-defined]

    @property
    def dtype(self) -> np.dtype:
        """The element type, as a numpy dtype."""
        return self._dtype  # type: ignore[attr-defined]

    def check_unchanged(self) -> None:
        """Do nothing: ``fill`` checks the constants that it reads."""

    def write_to(self, out: np.ndarray) -> None:
        """Write the elements to ``out``, of the same shape and dtype."""
        self._fill(out)  # type: ignore[attr-defined]
