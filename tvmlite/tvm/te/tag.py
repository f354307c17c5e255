"""``te.tag``: a tag for all tensors that are declared in a ``with`` block or by a decorated function."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ClassVar

from tvmlite.core import arguments
from tvmlite.core.errors import TensorExpressionError
from tvmlite.core.span import Span
from tvmlite.tvm.absent import refusing

ELEMWISE, BROADCAST, INJECTIVE, COMM_REDUCE, COMM_REDUCE_IDX = (
    "elemwise",
    "broadcast",
    "injective",
    "comm_reduce",
    "comm_reduce_idx",
)


class TagScope:
    """Tags the tensors declared in a ``with`` block or, as a decorator, by a function. Scopes do not nest."""

    _current: ClassVar[TagScope | None] = None

    def __init__(self, tag: str) -> None:
        self.tag = arguments.text("tag_scope: tag", tag)

    @classmethod
    def get_current(cls) -> TagScope | None:
        """The active scope, or None."""
        return cls._current

    def __enter__(self) -> TagScope:
        if TagScope._current is not None:
            raise TensorExpressionError(
                f"tag_scope: {self.tag!r} inside {TagScope._current.tag!r}: tags do not nest",
                Span.of_caller(),
            )
        TagScope._current = self
        return self

    def __exit__(self, *_: object) -> None:
        TagScope._current = None

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap ``function`` so that the tensors it declares get the tag."""

        @functools.wraps(function)
        def tagged(*args: Any, **named: Any) -> Any:
            with TagScope(self.tag):
                return function(*args, **named)

        return tagged


def tag_scope(tag: str) -> TagScope:
    """Return a scope for ``tag``: ``with te.tag_scope("conv"): ...`` or ``@te.tag_scope(tag="conv")``."""
    return TagScope(tag)


def tag_of(where: str, given: str) -> str:
    """The tag of a tensor that is declared now: that of the active scope or ``given``; an error if there are
    both."""
    scope = TagScope.get_current()
    if scope is None:
        return given
    if given:
        raise TensorExpressionError(
            f"{where}: tag {given!r} inside tag_scope({scope.tag!r}): a tensor has one tag", Span.of_caller()
        )
    return scope.tag


def is_broadcast(tag: str) -> bool:
    """Whether ``tag`` is that of an element-wise or broadcast operation."""
    return tag in (ELEMWISE, BROADCAST) or tag.startswith((ELEMWISE, BROADCAST))


def is_injective(tag: str) -> bool:
    """Whether ``tag`` is that of an element-wise, broadcast or injective operation."""
    return is_broadcast(tag) or tag.startswith(INJECTIVE)


__getattr__ = refusing(__name__)
