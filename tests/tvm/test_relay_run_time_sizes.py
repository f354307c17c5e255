"""Sizes given by tensors: ``relay.reshape(x, shape)`` where ``shape`` is an argument of the run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tvmlite.tvm as tvm
from tvmlite.core.errors import ExecutionError, TypeInferError
from tvmlite.tvm import relay

X = relay.var("x", shape=(2, 3, 4))
DATA = np.arange(24, dtype=np.float32).reshape(2, 3, 4)


def sizes(*shape: int) -> Any:
    return relay.var("sizes", shape=shape, dtype="int64")


def run(kind: str, build: Callable[[Any], Any], given: Any) -> np.ndarray:
    array = np.asarray(given, np.int64)
    wanted = sizes(*array.shape)
    main = relay.Function([X, wanted], build(wanted))
    return relay.create_executor(kind, tvm.IRModule.from_expr(main)).evaluate()(DATA, array).numpy()


FILL = np.float32(7)


@pytest.mark.parametrize("kind", ["debug", "vm"])
@pytest.mark.parametrize(
    ("build", "given", "expected"),
    [
        (lambda n: relay.reshape(X, n), (6, 4), DATA.reshape(6, 4)),
        (lambda n: relay.reshape(X, n), (0, -1), DATA.reshape(2, 12)),
        (lambda n: relay.reshape(X, n), (2, 0, 2, 2), DATA.reshape(2, 3, 2, 2)),
        (lambda n: relay.reshape(X, n), (-3, 0), DATA.reshape(6, 4)),
        (lambda n: relay.reshape(X, n), (0, -3), DATA.reshape(2, 12)),
        (lambda n: relay.topk(X, n, -1, "values"), 2, -np.sort(-DATA)[..., :2]),
        (lambda n: relay.topk(X, n, -1, "values"), 0, -np.sort(-DATA)),  # all, as in TVM
        (lambda n: relay.tile(X, n), (2, 1), np.tile(DATA, (2, 1))),
        (lambda n: relay.zeros(n, "int8"), (2, 0, 3), np.zeros((2, 0, 3))),
        (lambda n: relay.full(relay.const(FILL), n), (2, 5), np.full((2, 5), FILL)),
        (lambda n: relay.broadcast_to(X, n), (5, 2, 3, 4), np.broadcast_to(DATA, (5, 2, 3, 4))),
        (lambda n: relay.nn.pad(X, n), ((0, 1), (2, 0), (0, 0)), np.pad(DATA, ((0, 1), (2, 0), (0, 0)))),
        (lambda n: relay.strided_slice(X, n, (2, 3, 3)), (0, 1, 2), DATA[0:, 1:, 2:3]),
        (lambda n: relay.one_hot(relay.const([0, 2]), 1.0, 0.0, n, -1, "float32"), 4, np.eye(4)[[0, 2]]),
    ],
)
def test_an_operator_takes_its_sizes_from_a_tensor(
    kind: str, build: Callable[[Any], Any], given: Any, expected: np.ndarray
) -> None:
    np.testing.assert_array_equal(run(kind, build, given), expected)


ONES = relay.var("o", shape=(1, 3, 1))


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (relay.reshape(X, relay.const([6, 4])), relay.reshape(X, (6, 4))),
        (relay.reshape(X, relay.shape_of(relay.var("y", shape=(6, 4)))), relay.reshape(X, (6, 4))),
        (relay.tile(X, relay.const([2.0, 1.0])), relay.tile(X, (2, 1))),
        (relay.expand_dims(X, relay.const(1)), relay.expand_dims(X, 1)),
        (relay.squeeze(ONES, relay.const([0, 2])), relay.squeeze(ONES, (0, 2))),
    ],
)
def test_constant_size_tensors_are_equivalent_to_numbers(given: Any, expected: Any) -> None:
    assert tvm.ir.structural_equal(given, expected)


@pytest.mark.parametrize("kind", ["debug", "vm"])
@pytest.mark.parametrize(
    ("build", "given"),
    [
        (lambda n: relay.reshape(X, n), (5, 5)),
        (lambda n: relay.reshape(X, n), (-2, 4)),  # codes that change the number of axes
        (lambda n: relay.broadcast_to(X, n), (2, 3, 5)),
        (lambda n: relay.zeros(n, "int8"), (2, -1)),
    ],
)
def test_sizes_that_do_not_fit_are_errors_at_run_time(
    kind: str, build: Callable[[Any], Any], given: Any
) -> None:
    with pytest.raises(ExecutionError, match=r"must be equal|must not be negative"):
        run(kind, build, given)


def test_dynamic_to_static_replaces_constant_sizes() -> None:
    there = relay.reshape(X, relay.shape_of(relay.var("y", shape=(6, 4))) * relay.const(1))
    back = relay.reshape(there, relay.shape_of(X))
    assert "size_" in str(back)

    made = relay.transform.DynamicToStatic()(tvm.IRModule.from_expr(relay.tile(back, relay.const([2, 1, 1]))))

    assert "size_" not in str(made)
    assert made["main"].ret_type == relay.TensorType((4, 3, 4))
    open_sizes = tvm.IRModule.from_expr(relay.zeros(sizes(2), "int8"))
    assert tvm.ir.structural_equal(relay.transform.DynamicToStatic()(open_sizes), open_sizes)


def test_text_of_run_time_sizes_is_parsed_back() -> None:
    main = relay.Function([X, n := sizes(2)], relay.reshape(X, n))

    text = main.astext()

    assert "let dims (size_" in text
    assert tvm.ir.structural_equal(tvm.parser.parse_expr(text), main)


def test_the_number_of_sizes_must_be_known() -> None:
    with pytest.raises(
        TypeInferError, match=r"zeros: shape is .*, expected numbers, or a tensor of known shape"
    ):
        relay.zeros(relay.var("n", shape=(relay.Any(),), dtype="int64"), "int8")
    with pytest.raises(TypeInferError, match="zeros: shape has no type of a tensor"):
        relay.zeros(relay.var("n"), "int8")
    with pytest.raises(TypeInferError, match="reshape: data has no type of a tensor"):
        relay.reshape(relay.var("data"), sizes(2))
    assert relay.reshape(relay.var("data"), relay.const([6, 4])).attrs.newshape == (6, 4)


# --- axes, strides, scales and steps ----------------------------------------------------------------


def of_tensors(kind: str, build: Callable[..., Any], data: Any, *given: Any) -> np.ndarray:
    """The result of ``build`` for ``data`` and numbers that are arguments of the run."""
    arrays = [np.asarray(one) for one in (data, *given)]
    params = [relay.var(f"p{at}", shape=one.shape, dtype=str(one.dtype)) for at, one in enumerate(arrays)]
    module = tvm.IRModule.from_expr(relay.Function(params, build(*params)))
    return relay.create_executor(kind, module).evaluate()(*arrays).numpy()


@pytest.mark.parametrize("kind", ["debug", "vm"])
@pytest.mark.parametrize(
    ("begin", "end", "strides"),
    [((1, 2, 3), (2, 0, 0), (1, -1, -2)), ((-1, -1, 0), (-4, -9, 9), (-1, -2, 3)), ((0, 2), (2, 1), (2, 1))],
)
def test_strides_of_either_sign_come_from_a_tensor(kind: str, begin: Any, end: Any, strides: Any) -> None:
    at = tuple(slice(*one) for one in zip(begin, end, strides, strict=True))

    found = of_tensors(kind, relay.strided_slice, DATA, *map(np.int64, (begin, end, strides)))

    np.testing.assert_array_equal(found, DATA[at])


@pytest.mark.parametrize(
    ("begin", "end", "strides"),
    [
        ((0, 1, 0), (2, 3, 4), (1, 1, 3)),
        ((1, 2, 3), (-3, -4, -5), (-1, -2, -1)),
        ((0, 0, -1), (9, 1, 0), (2, 1, -2)),
    ],
)
def test_dynamic_to_static_makes_a_slice_of_known_strides(begin: Any, end: Any, strides: Any) -> None:
    names = [relay.var(name, shape=(3,), dtype="int64") for name in ("begin", "end", "strides")]
    function = relay.Function([X, *names], relay.strided_slice(X, *names))
    given = dict(zip(names, map(np.int64, (begin, end, strides)), strict=True))
    bound = relay.bind(function, {name: relay.const(value, "int64") for name, value in given.items()})

    made = relay.transform.DynamicToStatic()(tvm.IRModule.from_expr(bound))

    assert made["main"].body.op == relay.op.get("strided_slice")
    found = relay.create_executor("debug", made).evaluate()(DATA).numpy()
    at = tuple(slice(*one) for one in zip(begin, end, strides, strict=True))
    np.testing.assert_array_equal(found, DATA[at])


@pytest.mark.parametrize(
    ("name", "scales", "how"),
    [
        ("upsampling", (2, 3), {"layout": "NHWC"}),
        ("upsampling", (1.5, 2), {"method": "bilinear", "align_corners": True}),
        ("upsampling3d", (2, 1, 3), {"method": "trilinear"}),
    ],
)
def test_dynamic_to_static_makes_an_upsampling_of_known_scales(name: str, scales: Any, how: Any) -> None:
    data = relay.var("data", shape=(1, 4, 6, 2, 8)[-len(scales) - 2 :])
    params = [relay.var(f"scale{at}", shape=()) for at in range(len(scales))]
    build = getattr(relay.nn, name)
    function = relay.Function([data, *params], build(data, *params, **how))
    bound = relay.bind(function, dict(zip(params, map(relay.const, map(np.float32, scales)), strict=True)))

    made = relay.transform.DynamicToStatic()(tvm.IRModule.from_expr(bound))

    assert tvm.ir.structural_equal(made, tvm.IRModule.from_expr(build(data, *map(float, scales), **how)))


@pytest.mark.parametrize("kind", ["debug", "vm"])
@pytest.mark.parametrize(
    ("axis", "shape"), [(0, (1, 1, 2, 3, 4)), (-1, (2, 3, 4, 1, 1)), (2, (2, 3, 1, 1, 4))]
)
def test_expand_dims_takes_its_axis_from_a_tensor(kind: str, axis: int, shape: Any) -> None:
    found = of_tensors(kind, lambda x, n: relay.expand_dims(x, n, 2), DATA, np.int32(axis))

    np.testing.assert_array_equal(found, DATA.reshape(shape))


@pytest.mark.parametrize("kind", ["debug", "vm"])
@pytest.mark.parametrize("axis", [(0, 3), (-1, 0), (3, -4)])
def test_squeeze_takes_its_axes_from_a_tensor(kind: str, axis: Any) -> None:
    data = DATA.reshape(1, 6, 4, 1)

    found = of_tensors(kind, relay.squeeze, data, np.int64(axis))

    np.testing.assert_array_equal(found, np.squeeze(data, axis))


@pytest.mark.parametrize("kind", ["debug", "vm"])
@pytest.mark.parametrize("numbers", [(2, 11, 3), (7, -2, -4), (5, 5, 1), (3, 1, 1)])
def test_arange_takes_its_bounds_from_tensors(kind: str, numbers: Any) -> None:
    start, *others = map(np.int32, numbers)

    found = of_tensors(kind, lambda *one: relay.arange(*one, dtype="int32"), start, *others)

    np.testing.assert_array_equal(found, np.arange(*numbers))


@pytest.mark.parametrize("kind", ["debug", "vm"])
@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_upsampling_takes_a_scale_from_a_tensor(kind: str, layout: str) -> None:
    data = DATA.reshape(1, 2, 3, 4) if layout == "NCHW" else DATA.reshape(1, 3, 4, 2)
    axes = [layout.index(axis) for axis in "HW"]

    found = of_tensors(kind, lambda x, n: relay.nn.upsampling(x, 3, n, layout), data, np.float32(2))

    np.testing.assert_array_equal(found, data.repeat(3, axes[0]).repeat(2, axes[1]))


def test_a_size_from_a_tensor_has_the_type_any() -> None:
    made = relay.zeros(sizes(2), "int8")

    assert made.checked_type == relay.TensorType((relay.Any(), relay.Any()), "int8")
    assert made.checked_type != relay.TensorType((relay.Any(), 3), "int8")


def test_topk_along_an_open_axis_takes_k_from_a_tensor() -> None:
    x = relay.var("x", shape=(relay.Any(), 2))
    main = relay.Function([x, k := relay.var("k", shape=(), dtype="int64")], relay.topk(x, k, 0, "values"))

    run = relay.create_executor("vm", tvm.IRModule.from_expr(main)).evaluate()

    for rows in (3, 5):
        data = np.random.default_rng(rows).random((rows, 2), np.float32)
        np.testing.assert_array_equal(run(data, np.int64(4)).numpy(), -np.sort(-data, axis=0)[:4])


def test_axes_of_the_wrong_rank_are_errors() -> None:
    with pytest.raises(TypeInferError, match=r"expand_dims: axis is .*, expected a scalar"):
        relay.expand_dims(X, sizes(1, 1))
    with pytest.raises(TypeInferError, match=r"squeeze: axis is .*, expected a vector of known length"):
        relay.squeeze(ONES, sizes(1, 1))


@pytest.mark.parametrize("kind", ["debug", "vm"])
def test_integers_are_resized_to_a_size_from_a_tensor(kind: str) -> None:
    data = DATA.reshape(1, 2, 3, 4).astype(np.int8)

    found = of_tensors(
        kind, lambda x, n: relay.nn.upsampling(x, n, 1, method="bilinear"), data, np.float32(2)
    )

    assert found.dtype == np.int8
    assert found.shape == (1, 2, 6, 4)
    np.testing.assert_array_equal(found[:, :, ::2], data)
