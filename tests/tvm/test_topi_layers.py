"""Layers of ``tvm.topi``: recurrent, simulated quantization, bit-serial, normalized, blocked channels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tvmlite.tvm as tvm
from tvmlite.core.errors import TensorExpressionError, UnsupportedError
from tvmlite.tvm import te, topi
from tvmlite.tvm.topi import testing


def run(make: Callable[..., Any], *arrays: Any) -> Any:
    """The result for ``arrays`` of what ``make`` declares on placeholders; None is passed as None."""
    given = [None if one is None else np.asarray(one) for one in arrays]
    tensors = [None if x is None else te.placeholder(x.shape, x.dtype.name) for x in given]
    made = make(*tensors)
    outputs = list(made) if isinstance(made, (list, tuple)) else [made]
    s = te.create_schedule([one.op for one in outputs])
    arguments = [one for one in tensors if one is not None]
    return tvm.build(s, [*arguments, *outputs], "llvm")(*(one for one in given if one is not None))


def some(*shape: int, seed: int = 0) -> np.ndarray:
    return (np.random.default_rng(seed).random(shape) - 0.5).astype("f4")


@pytest.mark.parametrize(
    ("projected", "biased", "begun", "peepholes", "reverse", "layout"),
    [
        (0, True, False, False, False, "IFGO"),
        (2, False, True, False, True, "IOFG"),
        (3, True, True, True, True, "OIGF"),
    ],
)
def test_lstm_matches_numpy_step_by_step(
    projected: int, biased: bool, begun: bool, peepholes: bool, reverse: bool, layout: str
) -> None:
    steps, batch, inputs, units = 3, 2, 2, 3
    states = projected or units
    given = [
        some(steps, batch, inputs),
        some(4 * units, inputs, seed=1),
        some(4 * units, states, seed=2),
        *(some(4 * units, seed=k) if biased else None for k in (3, 4)),
        some(batch, states, seed=5) if begun else None,
        some(batch, units, seed=6) if begun else None,
        some(projected, units, seed=7) if projected else None,
        *(some(batch, units, seed=k) if peepholes else None for k in (8, 9, 10)),
    ]
    options: dict[str, Any] = {"reverse": reverse, "weight_layout": layout}

    found = run(lambda *x: topi.nn.lstm(*x, **options), *given)
    gates = {"I": 0, "F": 0, "G": 0, "O": 0}
    for name in gates:
        at = layout.index(name) * units
        gates[name] = slice(at, at + units)  # type: ignore[assignment]
    h, c = (
        np.zeros((batch, n), "f4") if x is None else x for n, x in ((states, given[5]), (units, given[6]))
    )
    for step in range(steps):
        sums = given[0][steps - 1 - step if reverse else step] @ given[1].T + h @ given[2].T
        sums = sums + given[3] + given[4] if biased else sums
        i, f, g, o = (sums[:, gates[name]] for name in "IFGO")
        i, f = (i + given[8] * c, f + given[9] * c) if peepholes else (i, f)
        c = c / (1 + np.exp(-f)) + np.tanh(g) / (1 + np.exp(-i))
        h = np.tanh(c) / (1 + np.exp(-(o + given[10] * c if peepholes else o)))
        h = h @ given[7].T if projected else h
        np.testing.assert_allclose(found[0][step], h, atol=1e-5)
        np.testing.assert_allclose(found[1][step], c, atol=1e-5)
    for own, wanted in zip(testing.lstm_python(*given, **options), found, strict=True):
        np.testing.assert_allclose(own, wanted, atol=1e-5)


def test_an_invalid_order_of_lstm_gates_is_an_error() -> None:
    with pytest.raises(
        TensorExpressionError, match="lstm: weight_layout: 'IFGG' given, expected an order of"
    ):
        topi.nn.lstm(te.placeholder((1, 1, 1)), *[te.placeholder((4, 1))] * 2, weight_layout="IFGG")


@pytest.mark.parametrize("dtype", ["disable", "int8", "uint8", "int32"])
def test_simulated_quantize_and_dequantize_match_numpy(dtype: str) -> None:
    data, scale = some(3, 4) * 100, np.array([0.1, 1, 0.5, 3], "f4")
    zero, code = np.array([3, -2, 0, 1], "i4"), np.array(topi.nn.SQNN_DTYPE_TO_CODE[dtype], "i4")
    wanted = data
    if dtype != "disable":
        limits = np.iinfo(dtype)
        wanted = np.clip(np.round(data / scale) + zero, limits.min, limits.max)

    found = run(topi.nn.simulated_quantize, data, code, scale, zero)
    np.testing.assert_allclose(found, wanted, rtol=1e-6)
    back = run(topi.nn.simulated_dequantize, found, code, scale, zero)
    np.testing.assert_allclose(back, wanted if dtype == "disable" else (wanted - zero) * scale, rtol=1e-5)


def levels(bits: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(1).integers(0, 1 << bits, shape).astype("u4")


@pytest.mark.parametrize("unipolar", [True, False])
def test_bitserial_dense_matches_an_integer_product(unipolar: bool) -> None:
    data, weight = levels(2, 2, 8), levels(1, 3, 8)
    meant = weight.astype("i4") * 2 - 1 if unipolar else weight.astype("i4")

    found = run(lambda x, w: topi.nn.bitserial_dense(x, w, 2, 1, unipolar=unipolar), data, weight)
    np.testing.assert_array_equal(found, data.astype("i4") @ meant.T)
    assert found.dtype == np.int16


@pytest.mark.parametrize(("layout", "unipolar"), [("nchw", True), ("nhwc", False)])
def test_bitserial_conv2d_matches_an_integer_convolution(layout: str, unipolar: bool) -> None:
    image, kernel = levels(2, 1, 2, 4, 4), levels(1, 3, 2, 3, 3)
    meant = kernel.astype("i4") * 2 - 1 if unipolar else kernel.astype("i4")
    wanted = testing.conv2d_nchw_python(image.astype("i4"), meant, 1, 1)
    make, options = getattr(topi.nn, f"bitserial_conv2d_{layout}"), (1, 1, 2, 1, "uint32", "int32", unipolar)
    if layout == "nhwc":
        image, kernel, wanted = (
            image.transpose(0, 2, 3, 1),
            kernel.transpose(2, 3, 1, 0),
            wanted.transpose(0, 2, 3, 1),
        )

    np.testing.assert_array_equal(run(lambda x, w: make(x, w, *options), image, kernel), wanted)


def test_packed_kernels_of_bitserial_conv2d_are_refused() -> None:
    image, kernel = te.placeholder((1, 8, 8, 8), "uint32"), te.placeholder((3, 3, 1, 2, 8), "uint32")

    with pytest.raises(UnsupportedError, match="bitserial_conv2d_nhwc: a packed kernel is"):
        topi.nn.bitserial_conv2d_nhwc(image, kernel, 1, 1, 1, 1)


def test_batch_norm_in_training_updates_the_statistics() -> None:
    x, ones = some(2, 3, 4), np.ones(3, "f4")
    weights = ones * 2, ones * 3, some(3, seed=1), ones * 0.5

    found = run(lambda *v: topi.nn.batch_norm(*v, training=True, momentum=0.25), x, *weights)
    mean, variance = x.mean((0, 2)), x.var((0, 2))
    normal = (x - mean[:, None]) / np.sqrt(variance[:, None] + 1e-5)
    np.testing.assert_allclose(found[0], normal * 2 + 3, atol=1e-4)
    np.testing.assert_allclose(found[1], weights[2] * 0.75 + mean * 0.25, atol=1e-6)
    np.testing.assert_allclose(found[2], weights[3] * 0.75 + variance * 0.25, atol=1e-6)
    kept = run(topi.nn.batch_norm, x, *weights)
    np.testing.assert_array_equal(kept[1], weights[2])
    with pytest.raises(TensorExpressionError, match="momentum: 2 given, expected a number from 0 to 1"):
        topi.nn.batch_norm(*[te.placeholder((3,))] * 5, momentum=2)


def test_instance_norm_over_several_axes_matches_numpy() -> None:
    x, gamma, beta = some(2, 3, 4), some(3, 4, seed=1), some(3, 4, seed=2)
    mean, variance = x.mean((1, 2), keepdims=True), x.var((1, 2), keepdims=True)
    wanted = (x - mean) / np.sqrt(variance + 1e-5) * gamma + beta

    found = run(lambda *v: topi.nn.instance_norm(*v, (1, 2)), x, gamma, beta)
    np.testing.assert_allclose(found, wanted, atol=1e-4)
    np.testing.assert_allclose(testing.instance_norm_python(x, gamma, beta, (1, 2)), wanted, atol=1e-6)
    np.testing.assert_allclose(
        testing.rms_norm_python(x, gamma, (1, 2)),
        run(lambda *v: topi.nn.rms_norm(*v, (1, 2)), x, gamma),
        atol=1e-5,
    )


def test_positional_arguments_of_convolutions_are_in_tvms_order() -> None:
    rows, kernel = some(1, 2, 6), some(3, 2, 3, seed=1)
    wanted = testing.conv1d_ncw_python(rows, kernel, 1, 1, 1)
    np.testing.assert_allclose(
        run(lambda x, w: topi.nn.conv1d_ncw(x, w, 1, 1, 1, "float32"), rows, kernel), wanted, atol=1e-5
    )
    volume, kernel = some(1, 4, 3, 4, 5), some(2, 2, 2, 2, 2, seed=1)
    found = run(lambda x, w: topi.nn.conv3d_ncdhw(x, w, 1, 0, 1, 2, "float32"), volume, kernel)
    np.testing.assert_allclose(found, testing.conv3d_ncdhw_python(volume, kernel, 1, 0, 2), atol=1e-5)


def test_depthwise_conv2d_nhwc_accepts_two_kernel_layouts() -> None:
    image, kernel = some(1, 5, 5, 2), some(3, 3, 2, 3, seed=1)
    wanted = testing.depthwise_conv2d_python_nhwc(image, kernel, 1, 0)

    found = run(
        lambda x, w: topi.nn.depthwise_conv2d_nhwc(x, w, 1, 0, 1, "HWIO"), image, kernel.transpose(0, 1, 3, 2)
    )
    np.testing.assert_allclose(found, wanted, atol=1e-5)
    with pytest.raises(TensorExpressionError, match="kernel_layout: 'OIHW' given, expected HWOI or HWIO"):
        topi.nn.depthwise_conv2d_nhwc(
            te.placeholder((1, 5, 5, 2)), te.placeholder((3, 3, 2, 3)), 1, 0, 1, "OIHW"
        )


def test_group_conv3d_transpose_matches_the_reference() -> None:
    volume, kernel = some(1, 4, 2, 2, 3), some(4, 1, 2, 2, 1, seed=1)
    halves = [
        testing.conv3d_transpose_ncdhw_python(volume[:, at : at + 2], kernel[at : at + 2], 2, 0, (0, 0, 0))
        for at in (0, 2)
    ]

    found = run(
        lambda x, w: topi.nn.group_conv3d_transpose_ncdhw(x, w, 2, 0, "float32", (0, 0, 0), 2), volume, kernel
    )
    np.testing.assert_allclose(found, np.concatenate(halves, axis=1), atol=1e-5)


def test_pool2d_accepts_blocked_channels() -> None:
    image = some(1, 2, 4, 4, 3)
    options = (2, 2), (2, 2), (1, 1), (0, 0, 0, 0), "max"

    found = run(lambda x: topi.nn.pool2d(x, *options, layout="NCHW3c"), image)
    np.testing.assert_array_equal(found, image.reshape(1, 2, 2, 2, 2, 2, 3).max((3, 5)))


def test_upsampling_accepts_blocked_channels() -> None:
    image = some(1, 2, 3, 3, 2)

    found = run(lambda x: topi.nn.upsampling(x, 2, 2, "NCHW2c"), image)
    np.testing.assert_array_equal(found, image.repeat(2, 2).repeat(2, 3))


def test_conv2d_nchwc_infers_groups_from_the_kernel() -> None:
    image, kernel = some(1, 8, 4, 4), some(4, 4, 3, 3, seed=1)
    wanted = (
        testing.conv2d_nchw_python(image, kernel, 1, 1, 2).reshape(1, 2, 2, 4, 4).transpose(0, 1, 3, 4, 2)
    )
    blocks = image.reshape(1, 2, 4, 4, 4).transpose(0, 1, 3, 4, 2)
    packed = kernel.reshape(2, 2, 1, 4, 3, 3).transpose(0, 2, 4, 5, 3, 1)

    found = run(
        lambda x, w: topi.x86.conv2d_NCHWc(x, w, 1, 1, 1, "NCHW4c", "NCHW2c", "float32"), blocks, packed
    )
    np.testing.assert_allclose(found, wanted, atol=1e-5)


def test_extents_may_be_expressions_of_variables() -> None:
    n, data = te.var("n"), some(4, 3)
    x = te.placeholder((n + 1, 3))
    twice, sums = topi.concatenate([topi.negative(x), x]), topi.cumsum(x, axis=1)
    f = tvm.build(te.create_schedule([twice.op, sums.op]), [n, x, twice, sums])

    out = tvm.nd.array(np.zeros((8, 3), "f4")), tvm.nd.array(np.zeros((4, 3), "f4"))
    f(3, tvm.nd.array(data), *out)
    np.testing.assert_array_equal(out[0].numpy(), np.concatenate([-data, data]))
    np.testing.assert_allclose(out[1].numpy(), data.cumsum(1), rtol=1e-5)
    assert topi.exp(te.placeholder((n,))).shape[0] is n
