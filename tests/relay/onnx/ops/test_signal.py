"""DFT of lengths with all kinds of factors, and STFT, against numpy; mel filters against onnxruntime."""

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

import tvmlite
from tvmlite.core.errors import ModelError, UnsupportedError
from tvmlite.relay.ir.interpret import interpret
from tvmlite.relay.onnx import from_onnx


def _model(op_type, data, held, opset=20, **attrs):
    names = ["x", *("" if a is None else f"c{i}" for i, a in enumerate(held))]
    node = helper.make_node(op_type, names, ["y"], **attrs)
    weights = [numpy_helper.from_array(a, f"c{i}") for i, a in enumerate(held) if a is not None]
    given = helper.make_tensor_value_info("x", helper.np_dtype_to_tensor_dtype(data.dtype), data.shape)
    made = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph([node], "g", [given], [made], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)


def _random(*shape):
    return np.random.default_rng(sum(shape)).normal(size=shape).astype(np.float32)


def _complex(x):
    return x[..., 0] + 1j * x[..., 1] if x.shape[-1] == 2 else x[..., 0]


def _close(got, want):
    np.testing.assert_allclose(_complex(got), want, atol=3e-6 * np.abs(want).max())


@pytest.mark.parametrize("fields", [1, 2])
@pytest.mark.parametrize("size", [1, 2, 7, 31, 32, 36, 64, 97, 210, 1024, 1031])
def test_transform_of_any_length_equals_numpys(size, fields):
    x = _random(3, size, fields)

    _close(interpret(from_onnx(_model("DFT", x, [None, np.array(1)])), [x]), np.fft.fft(_complex(x), axis=1))


@pytest.mark.parametrize("length", [5, 48, 60])
def test_the_axis_is_cropped_or_padded_to_the_length(length):
    x = _random(2, 48, 3, 1)
    model = _model("DFT", x, [np.array(length), np.array(1)], onesided=1)

    _close(interpret(from_onnx(model), [x]), np.fft.rfft(x[..., 0], length, axis=1))


@pytest.mark.parametrize("size", [8, 51, 63])
def test_inverse_transform_equals_numpys(size):
    x = _random(2, size, 2)

    _close(interpret(from_onnx(_model("DFT", x, [], inverse=1)), [x]), np.fft.ifft(_complex(x), axis=1))


@pytest.mark.parametrize(
    ("length", "count"), [(None, 33), (64, 33), (65, 33), (64, 20), (9, 33), (2, 2), (1, 1)]
)
def test_onesided_inverse_gives_a_real_signal(length, count):
    x = _random(2, count, 2)
    held = [] if length is None else [np.array(length)]
    made = interpret(from_onnx(_model("DFT", x, held, inverse=1, onesided=1)), [x])

    assert made.shape[-1] == 1
    _close(made, np.fft.irfft(_complex(x), length, axis=1))


def test_a_large_prime_length_is_refused():
    with pytest.raises(UnsupportedError, match="prime factor 2053"):
        from_onnx(_model("DFT", _random(1, 2053, 1), []))


def test_transforming_the_complex_axis_is_refused():
    with pytest.raises(ModelError, match="axis -1 of data"):
        from_onnx(_model("DFT", _random(1, 8, 2), [None, np.array(-1)]))


@pytest.mark.parametrize("onesided", [0, 1])
@pytest.mark.parametrize("window", [None, np.hanning(48).astype(np.float32)])
def test_frames_are_windowed_and_transformed(window, onesided):
    x = _random(2, 200, 1)
    model = _model("STFT", x, [np.array(17), window, np.array(48)], opset=17, onesided=onesided)
    frames = np.lib.stride_tricks.sliding_window_view(x[..., 0], 48, axis=1)[:, ::17]
    frames = frames if window is None else frames * window

    _close(interpret(from_onnx(model), [x]), (np.fft.rfft if onesided else np.fft.fft)(frames))


def test_mel_filters_of_constant_parameters_equal_onnxruntimes():
    x = _random(1, 257)
    held = [np.array(v) for v in (20, 512, 16000)] + [np.array(v, np.float32) for v in (60.0, 7600.0)]
    model = _model("MatMul", x, [])
    model.graph.node[0].input.append("mel")
    names = [f"c{i}" for i in range(5)]
    model.graph.node.insert(0, helper.make_node("MelWeightMatrix", names, ["mel"]))
    model.graph.initializer.extend(numpy_helper.from_array(a, n) for a, n in zip(held, names, strict=True))
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    (expected,) = session.run(None, {"x": x})

    np.testing.assert_allclose(interpret(from_onnx(model), [x]), expected, rtol=1e-5, atol=1e-6)


# Lengths, steps and axes known only at run time


def _at_run_time(op, x, operands, version=20, **attributes):
    """Compile one node whose inputs are all given at run time; ``x`` has dynamic extents except the last."""
    names = ["x", *(name if value is not None else "" for name, value in operands.items())]
    extents = [*(f"n{k}" for k in range(x.ndim - 1)), x.shape[-1]]
    given = [helper.make_tensor_value_info("x", TensorProto.FLOAT, extents)]
    for name, value in operands.items():
        if value is not None:
            kind = helper.np_dtype_to_tensor_dtype(value.dtype)
            given.append(helper.make_tensor_value_info(name, kind, value.shape))
    node = helper.make_node(op, names, ["y"], **attributes)
    out = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph([node], "g", given, [out])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", version)], ir_version=8)
    return tvmlite.compile(from_onnx(made))


def test_transform_with_length_and_axis_known_only_at_run_time() -> None:
    x = _random(3, 4, 5, 2)
    lib = _at_run_time("DFT", x, {"length": np.array(4), "axis": np.array(1)})

    for length, axis in ((4, 1), (7, -2), (2, 0)):
        wanted = np.fft.fft(_complex(x), length, axis % 4)
        _close(lib(x, np.array(length), np.array(axis)), wanted)
    with pytest.raises(tvmlite.TvmliteError, match="dft_axes_found"):
        lib(x, np.array(4), np.array(3))
    with pytest.raises(tvmlite.TvmliteError, match="dft_dft_length_beyond_one"):
        lib(x, np.array(0), np.array(1))


def test_onesided_inverse_along_an_axis_known_only_at_run_time() -> None:
    x = _random(2, 5, 6, 2)
    lib = _at_run_time("DFT", x, {"length": None, "axis": np.array(1)}, inverse=1, onesided=1)

    for axis in (1, -2):
        np.testing.assert_allclose(
            lib(x, np.array(axis))[..., 0], np.fft.irfft(_complex(x), axis=axis % 4), atol=1e-5
        )


def test_stft_with_length_and_step_known_only_at_run_time() -> None:
    x = _random(2, 20, 1)
    lib = _at_run_time("STFT", x, {"step": np.array(3), "window": None, "length": np.array(8)}, 17)

    for step, length in ((3, 8), (5, 6), (1, 20)):
        frames = np.stack([x[:, k : k + length, 0] for k in range(0, 20 - length + 1, step)], 1)
        _close(lib(x, np.array(step), np.array(length)), np.fft.rfft(frames))
    with pytest.raises(tvmlite.TvmliteError, match="stft_frame_step_beyond_one"):
        lib(x, np.array(0), np.array(8))
    with pytest.raises(tvmlite.TvmliteError, match="stft_elements_beyond"):
        lib(x, np.array(3), np.array(21))


def test_mel_filters_of_parameters_known_only_at_run_time() -> None:
    kinds = [np.int64] * 3 + [np.float32] * 2
    names = ["bins", "length", "rate", "low", "high"]
    given = [
        helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(np.dtype(k)), [])
        for n, k in zip(names, kinds, strict=True)
    ]
    out = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph([helper.make_node("MelWeightMatrix", names, ["y"])], "g", given, [out])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    lib = tvmlite.compile(from_onnx(made))
    session = onnxruntime.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"])

    for numbers in ((8, 16, 8192, 0.0, 4096.0), (20, 512, 16000, 50.0, 7000.0)):
        values = [np.array(v, k) for v, k in zip(numbers, kinds, strict=True)]
        wanted = session.run(None, dict(zip(names, values, strict=True)))[0]
        np.testing.assert_allclose(lib(*values), wanted, rtol=1e-5, atol=1e-6)
    with pytest.raises(tvmlite.TvmliteError, match="melweightmatrix_edges_inside"):
        lib(*(np.array(v, k) for v, k in zip((8, 16, 8192, 0.0, 9000.0), kinds, strict=True)))
