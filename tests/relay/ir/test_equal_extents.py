"""Extents that an operator requires to be equal: proved, or checked at run time."""

from __future__ import annotations

import numpy as np
import pytest

import tvmlite
from tvmlite import relay, te
from tvmlite.core.errors import ExecutionError, TypeInferError
from tvmlite.relay.ir.dims import Assumable, proved_equal, same_dim
from tvmlite.relay.ir.equal_extents import with_equal_extents
from tvmlite.relay.ir.infer import type_of
from tvmlite.relay.ir.nodes import Function, Module, Tuple, constant, var
from tvmlite.relay.ir.op import make
from tvmlite.relay.ir.types import dim

h, w = dim("h"), dim("w")


def test_extents_are_assumed_equal_unless_proved_different() -> None:
    assumed: list = []
    one, other, next_, three = (
        Assumable(str(value), "int64", value=value, assumed=assumed)
        for value in (h // 4 * 2, h // 2, h + 1, te.const(3, "int64"))
    )

    assert same_dim(one, other)
    assert same_dim(next_ - 1, h)
    assert not same_dim(next_, h)
    assert not same_dim(three, 4)
    assert [(str(a), str(b)) for a, b in assumed] == [("h // 4 * 2", "h // 2")]
    assert not same_dim(h // 4 * 2, h // 2)
    assert not proved_equal((h + 1) // 2 * 2, h + 1)


def test_the_assumption_is_put_on_the_argument_that_differs() -> None:
    x, y = var("x", (h // 4 * 2, 3)), var("y", (h // 2, 3))
    call = make("concatenate", Tuple((x, y)), axis=1)

    fitted = with_equal_extents(call)

    assert str(type_of(fitted)) == "Tensor[(h // 2, 6), float32]"
    first, second = fitted.args[0].fields  # type: ignore[attr-defined]
    assert first.op == "assume_shape"
    assert second is y


def test_a_static_extent_is_kept_when_a_dimension_is_assumed_equal_to_it() -> None:
    x, weight = var("x", ("n", w)), constant(np.ones((4, 8), "float32"))

    fitted = with_equal_extents(make("nn.dense", x, weight))

    assert str(type_of(fitted.args[0])) == "Tensor[(n, 8), float32]"
    assert fitted.args[1] is weight


def test_a_call_whose_extents_fit_is_returned_unchanged() -> None:
    call = make("add", var("x", (h,)), var("y", (h,)))
    assert with_equal_extents(call) is call


def test_a_call_that_cannot_fit_is_left_to_type_inference() -> None:
    call = make("concatenate", Tuple((var("x", (h, 3)), var("y", (h + 1, 3)))), axis=1)

    assert with_equal_extents(call) is call
    with pytest.raises(TypeInferError, match="expected them to differ on axis 1 only"):
        type_of(call)


def test_extents_are_checked_at_run_time_and_the_error_has_the_sizes() -> None:
    x, y, z = var("x", (h // 4 * 2, 3)), var("y", (h // 2, 3)), var("z", (h,))
    call = with_equal_extents(make("add", x, y))
    lib = tvmlite.compile(Module({"main": Function((x, y, z), call)}))

    a, b = np.ones((2, 3), "float32"), np.ones((3, 3), "float32")

    np.testing.assert_array_equal(lib(a, a, np.zeros(5, "float32")), a + a)
    with pytest.raises(ExecutionError, match=r"h // 2 and h // 4 \* 2 must be equal \(h is 6\)"):
        lib(a, b, np.zeros(6, "float32"))


@pytest.mark.parametrize(
    ("name", "shapes", "attrs", "key"),
    [
        ("nn.conv2d", [(1, 4, "h", "w"), (8, 4, 3, 3)], {"padding": (h, 1, 1, 1)}, "padding"),
        ("nn.avg_pool1d", [(1, 4, "h")], {"pool_size": 2, "strides": h}, "strides"),
        ("nn.col2im", [(1, 12, 4)], {"image_shape": (3, 3), "kernel_size": (2, 2), "strides": h}, "strides"),
        (
            "vision.roi_align",
            [(1, 4, "h", "w"), (3, 5)],
            {"pooled_size": (h, 2), "spatial_scale": 1.0},
            "pooled",
        ),
        ("nn.group_norm", [(1, 4, "h"), (4,), (4,)], {"num_groups": h}, "num_groups"),
    ],
)
def test_a_symbolic_attribute_that_must_be_static_is_refused(name, shapes, attrs, key) -> None:
    args = [var(f"x{k}", shape) for k, shape in enumerate(shapes)]

    with pytest.raises(TypeInferError, match=rf"{name}: {key}.* is .*h.*, expected an integer"):
        type_of(make(name, *args, **attrs))


def test_a_split_into_a_symbolic_number_of_sections_is_refused() -> None:
    with pytest.raises(TypeInferError, match="indices_or_sections is h, expected a number or a tuple"):
        type_of(relay.split(var("x", (8,)), h))
