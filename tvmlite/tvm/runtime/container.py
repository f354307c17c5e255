"""``tvm.runtime.container``: the results of a function that gives several."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


class ADT(list[Any]):
    """Several values as one, by their places; ``tag`` is 0, as that of TVM's tuples."""

    tag = 0


def tuple_object(fields: Iterable[Any] = ()) -> ADT:
    """``fields`` as one value."""
    return ADT(fields)
