"""``relay.testing``: networks of the expected sizes, that run."""

from __future__ import annotations

import numpy as np
import pytest

import tvmlite
import tvmlite.tvm as tvm
from tvmlite.tvm import relay
from tvmlite.tvm.relay import testing


@pytest.mark.parametrize(
    ("name", "options", "result", "weights"),
    [
        ("mlp", {"batch_size": 2}, (2, 10), 109184),
        ("dqn", {"batch_size": 1}, (1, 18), 1692672),
        ("resnet", {"num_layers": 18, "num_classes": 10, "image_shape": (3, 32, 32)}, (1, 10), 11168448),
        ("resnet", {"num_layers": 20, "num_classes": 10, "image_shape": (3, 28, 28)}, (1, 10), 271152),
        ("mobilenet", {"num_classes": 10, "image_shape": (3, 64, 64)}, (1, 10), 3195328),
        ("squeezenet", {"version": "1.1", "image_shape": (3, 64, 64)}, (1, 1000), 1231552),
        ("inception_v3", {"num_classes": 1000, "image_shape": (3, 96, 96)}, (1, 1000), 23799136),
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


def test_the_perceptron_computes_what_its_layers_say() -> None:
    mod, params = testing.mlp.get_workload(batch_size=1)
    data = np.random.default_rng(0).normal(size=(1, 1, 28, 28)).astype("float32")
    value = data.reshape(1, -1)
    for name in ("fc1", "fc2", "fc3"):
        value = value @ params[f"{name}_weight"].numpy().T + params[f"{name}_bias"].numpy()
        value = np.maximum(value, 0) if name != "fc3" else np.exp(value) / np.exp(value).sum()

    module = relay.build(mod, "llvm", params=params)["default"](tvmlite.cpu(0))
    module.run(data=data)

    np.testing.assert_allclose(module.get_output(0).numpy(), value, rtol=1e-4)


def test_weights_are_the_same_for_the_same_seed() -> None:
    first, second = (testing.mlp.get_workload(1)[1]["fc1_weight"].numpy() for _ in range(2))

    assert np.array_equal(first, second)
    assert abs(first).max() < 0.1
    ones = testing.create_workload(testing.mlp.get_net(1), testing.init.Constant(1))[1]
    assert set(ones["fc2_weight"].numpy().reshape(-1)) == {1}


def test_a_network_that_there_is_not_is_named() -> None:
    with pytest.raises(ValueError, match="resnet: no network of 19 layers"):
        testing.resnet.get_net(1, 10, num_layers=19)
    with pytest.raises(ValueError, match="vgg: num_layers is 12"):
        testing.vgg.get_workload(1, num_layers=12)
    with pytest.raises(ValueError, match="Unknown initialization pattern for strange"):
        testing.create_workload(relay.Function([x := relay.var("strange", shape=(2,))], x))
