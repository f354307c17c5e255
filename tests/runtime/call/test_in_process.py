"""Compiled code cannot be pickled; the error says how to pass it to another process."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tvmlite
from tvmlite import relay, runtime, te
from tvmlite.core.errors import LibraryError


def _library() -> Any:
    x = relay.var("x", (2, 3))
    return tvmlite.compile(relay.IRModule.from_expr(relay.Function((x,), relay.nn.relu(x))))


def _function() -> Any:
    a = te.placeholder((3,), name="a")
    b = te.compute((3,), lambda i: a[i] + 1, name="b")
    return tvmlite.build(te.create_schedule(b.op), [a, b])


@pytest.mark.parametrize("make", [_library, _function])
@pytest.mark.parametrize("copied", [pickle.dumps, copy.deepcopy])
def test_pickling_and_deep_copying_are_refused_with_advice(
    make: Callable[[], Any], copied: Callable[[Any], Any]
) -> None:
    compiled = make()
    with pytest.raises(LibraryError) as caught:
        copied(compiled)
    text = str(caught.value)
    assert text.startswith(f"a {type(compiled).__name__} is neither pickled nor copied in depth")
    assert "lib.export('model.so')" in text
    assert "runtime.load('model.so')" in text


def test_pickling_a_loaded_library_is_refused(tmp_path: Path) -> None:
    _library().export(tmp_path / "model.so")
    with pytest.raises(LibraryError, match="a Library is neither pickled"):
        pickle.dumps(runtime.load(tmp_path / "model.so"))


def test_passing_a_library_to_a_process_pool_is_refused_with_advice() -> None:
    context = multiprocessing.get_context("spawn")
    with context.Pool(1) as pool, pytest.raises(LibraryError, match=r"lib\.export"):
        pool.apply(len, (_library(),))


def test_a_shallow_copy_shares_the_code() -> None:
    x = np.array([[-1, 2, -3], [4, -5, 6]], np.float32)
    np.testing.assert_array_equal(copy.copy(_library())(x), np.maximum(x, 0))
