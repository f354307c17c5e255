"""``relay.testing``: networks have the expected sizes and can be run."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import tvmlite
import tvmlite.tvm as tvm
from tvmlite.tvm import relay
from tvmlite.tvm.relay import testing
from tvmlite.tvm.relay.testing import run_infer_type


def test_calls_of_operators_are_counted_by_name() -> None:
    x = relay.var("x", shape=(2,))

    assert testing.count_ops(relay.exp(relay.exp(x)) + x) == {"exp": 2, "add": 1}
    assert testing.count_ops(relay.Function([x], x)) == {}


@pytest.mark.parametrize(
    ("name", "options", "result", "weights"),
    [
        ("mlp", {"batch_size": 2}, (2, 10), 109184),
        ("dqn", {"batch_size": 1}, (1, 18), 1692672),
        ("resnet", {"num_layers": 18, "num_classes": 10, "image_shape": (3, 32, 32)}, (1, 10), 11168448),
        ("resnet", {"num_layers": 20, "num_classes": 10, "image_shape": (3, 28, 28)}, (1, 10), 271152),
        (
            "resnet_3d",
            {"num_layers": 18, "num_classes": 10, "image_shape": (3, 4, 32, 32)},
            (1, 10),
            33142848,
        ),
        ("mobilenet", {"num_classes": 10, "image_shape": (3, 64, 64)}, (1, 10), 3195328),
        ("squeezenet", {"version": "1.1", "image_shape": (3, 64, 64)}, (1, 1000), 1231552),
        ("synthetic", {}, (1, 3, 24, 12), 450),
        ("dcgan", {"batch_size": 1, "ngf": 8}, (1, 3, 64, 64), None),
        ("lstm", {"iterations": 3, "num_hidden": 5}, (1, 5), 600),
    ],
)
# Weights without biases and normalizations: those of the publications, but for the shortcut of the first
# residual unit, which is a convolution here, and classes other than ImageNet's.
def test_a_network_has_the_weights_of_its_publication(
    name: str, options: dict[str, object], result: tuple[int, ...], weights: int | None
) -> None:
    mod, params = getattr(testing, name).get_workload(**options)

    assert mod["main"].ret_type == relay.TensorType(result)
    assert {"data", *params} == {param.name_hint for param in mod["main"].params}
    if weights is not None:
        assert sum(one.size for key, one in params.items() if key.endswith("_weight")) == weights
    assert tvm.ir.structural_equal(tvm.parser.fromtext(mod.astext(show_meta_data=False)), mod)


@pytest.mark.parametrize(
    ("net", "weights", "named"),
    [
        (
            testing.inception_v3.get_net(1, 1000, (3, 299, 299), "float32"),
            23799136,
            {"conv_4_bn_beta", "mixed_1_tower_2_conv_conv1_weight", "mixed_9_tower_mixed_conv_1_bn_gamma"},
        ),
        (
            testing.densenet.get_net(121, 1000, (1, 3, 224, 224), "float32"),
            3519680,
            {"batch_1_0_5_gamma", "conv2d_2_3_15_weight", "conv_t_2_weight", "batch2_beta", "dense_bias"},
        ),
        (
            testing.squeezenet.get_net(1, (3, 224, 224), 1000, "1.0", "float32"),
            1244448,
            {"conv1_bias", "fire1_input_conv_weight", "fire8_right_conv_bias", "conv_final_weight"},
        ),
        (
            testing.mobilenet.mobile_net(layout="NHWC", data_shape=(1, 224, 224, 3)),
            4209088,
            {"separable_conv_block_13_weight", "separable_conv_block_1_bn1_gamma", "fc_bias"},
        ),
    ],
)
def test_parameters_have_the_names_of_tvms(net: Any, weights: int, named: set[str]) -> None:
    types = {one.name_hint: one.type for one in run_infer_type(net).params}

    assert named <= types.keys()
    sizes = [math.prod(one.concrete_shape) for key, one in types.items() if key.endswith("_weight")]
    assert sum(sizes) == weights


def test_the_perceptron_matches_numpy() -> None:
    mod, params = testing.mlp.get_workload(batch_size=1)
    data = np.random.default_rng(0).normal(size=(1, 1, 28, 28)).astype("float32")
    value = data.reshape(1, -1)
    for name in ("fc1", "fc2", "fc3"):
        value = value @ params[f"{name}_weight"].numpy().T + params[f"{name}_bias"].numpy()
        value = np.maximum(value, 0) if name != "fc3" else np.exp(value) / np.exp(value).sum()

    module = relay.build(mod, "llvm", params=params)["default"](tvmlite.cpu(0))
    module.run(data=data)

    np.testing.assert_allclose(module.get_output(0).numpy(), value, rtol=1e-4)


def test_weights_are_reproducible() -> None:
    first, second = (testing.mlp.get_workload(1)[1]["fc1_weight"].numpy() for _ in range(2))

    assert np.array_equal(first, second)
    assert abs(first).max() < 0.1
    equal = testing.create_workload(testing.mlp.get_net(1), testing.init.Constant())[1]
    assert set(equal["fc2_weight"].numpy().reshape(-1)) == {np.float32(1 / (64 * 128))}
    assert set(equal["fc2_bias"].numpy()) == {0}


def test_an_unknown_network_is_an_error() -> None:
    with pytest.raises(ValueError, match="resnet: no network of 19 layers"):
        testing.resnet.get_net(1, 10, num_layers=19)
    with pytest.raises(ValueError, match="vgg: num_layers is 12"):
        testing.vgg.get_workload(1, num_layers=12)
    with pytest.raises(ValueError, match="Unknown initialization pattern for strange"):
        testing.create_workload(relay.Function([x := relay.var("strange", shape=(2,))], x))
