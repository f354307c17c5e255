"""ONNX's classical models: scalers, linear models and trees, against onnxruntime; what is out is refused."""

import re
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper

import tvmlite
from tvmlite.core.errors import ModelError, UnsupportedError
from tvmlite.relay.ir.interpret import interpret
from tvmlite.relay.onnx import from_onnx

FLOAT, DOUBLE, INT64 = TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.INT64
rng = np.random.default_rng(0)
onnxruntime.set_default_logger_severity(4)


def model(
    op: str, kind: int = FLOAT, outputs: Any = (("y", FLOAT),), version: int = 3, **attrs: Any
) -> onnx.ModelProto:
    node = helper.make_node(op, ["x"], [name for name, _ in outputs], "it", domain="ai.onnx.ml", **attrs)
    rows = helper.make_tensor_value_info("x", kind, ["n", 4])
    graph = helper.make_graph(
        [node], "g", [rows], [helper.make_tensor_value_info(name, one, None) for name, one in outputs]
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", version)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def check(proto: onnx.ModelProto, x: np.ndarray, compiled: bool = True) -> None:
    wanted: Any = onnxruntime.InferenceSession(proto.SerializeToString()).run(None, {"x": x})
    module = from_onnx(proto)
    meant: Any = interpret(module, [x])
    results = [meant if isinstance(meant, tuple) else (meant,)]
    if compiled:
        results.append(tuple(tvmlite.compile(module).run({"x": x}).values()))
    for one in results:
        for got, want in zip(one, wanted, strict=True):
            assert (got.shape, got.dtype) == (want.shape, want.dtype)
            np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


def numbers(kind: Any = np.float32) -> np.ndarray:
    return (rng.standard_normal((9, 4)) * 2).astype(kind)


@pytest.mark.parametrize(
    ("op", "attrs"),
    [
        ("Scaler", {"offset": [1.0, 2.0, 3.0, 4.0], "scale": [0.5, 2.0, -1.0, 0.25]}),
        ("Scaler", {"offset": [1.0], "scale": [0.5]}),
        ("Normalizer", {"norm": "L1"}),
        ("Normalizer", {"norm": "L2"}),
        ("LinearRegressor", {"coefficients": [0.5] * 3 + [2.0] * 5, "targets": 2, "intercepts": [1.0, -1.0]}),
        ("Binarizer", {"threshold": 0.5}),
    ],
)
def test_what_rows_become_is_what_onnxruntime_makes_of_them(op: str, attrs: dict[str, Any]) -> None:
    check(model(op, version=1, **attrs), numbers())


def tree(nodes: list[tuple[Any, ...]], tree_id: int = 0) -> dict[str, list[Any]]:
    """Rows of (mode, feature, value, true, false), numbered in order, as attributes."""
    names = ("modes", "featureids", "values", "truenodeids", "falsenodeids")
    made = {f"nodes_{name}": [row[k] for row in nodes] for k, name in enumerate(names)}
    return made | {"nodes_treeids": [tree_id] * len(nodes), "nodes_nodeids": list(range(len(nodes)))}


def joined(*trees: dict[str, list[Any]]) -> dict[str, Any]:
    return {name: [one for part in trees for one in part[name]] for name in trees[0]}


FIRST = tree(
    [
        ("BRANCH_LEQ", 0, 0.25, 1, 2),
        ("BRANCH_GT", 3, -0.5, 3, 4),
        ("LEAF", 0, 0.0, 0, 0),
        ("LEAF", 0, 0.0, 0, 0),
        ("LEAF", 0, 0.0, 0, 0),
    ]
)
SECOND = tree([("BRANCH_LT", 1, 0.0, 2, 1), ("LEAF", 0, 0.0, 0, 0), ("LEAF", 0, 0.0, 0, 0)], 1)
LEAVES = {"treeids": [0, 0, 0, 1, 1], "nodeids": [2, 3, 4, 1, 2]}


def weights(kind: str, ids: list[int], values: list[float]) -> dict[str, Any]:
    made = {f"{kind}_{name}": list(one) for name, one in LEAVES.items()}
    return made | {f"{kind}_ids": ids, f"{kind}_weights": values}


@pytest.mark.parametrize("aggregate", ["SUM", "AVERAGE", "MIN", "MAX"])
def test_trees_of_numbers_are_what_onnxruntime_makes_of_them(aggregate: str) -> None:
    attrs = joined(FIRST, SECOND) | weights("target", [0] * 5, [1.0, -2.0, 0.5, 3.0, 0.25])

    check(model("TreeEnsembleRegressor", aggregate_function=aggregate, n_targets=1, **attrs), numbers())


def test_trees_of_two_targets_start_from_their_base_values() -> None:
    attrs = joined(FIRST, SECOND) | weights("target", [0, 0, 0, 1, 1], [1.0, -2.0, 0.5, 3.0, 0.25])

    check(model("TreeEnsembleRegressor", n_targets=2, base_values=[0.5, -1.0], **attrs), numbers())


def test_a_missing_number_goes_where_the_node_says() -> None:
    tracks = {"nodes_missing_value_tracks_true": [1, 0, 0, 0, 0, 0, 0, 0]}
    attrs = joined(FIRST, SECOND) | weights("target", [0] * 5, [1.0, -2.0, 0.5, 3.0, 0.25]) | tracks
    x = numbers()
    x[::2, 0] = x[::3, 1] = np.nan

    check(model("TreeEnsembleRegressor", n_targets=1, **attrs), x)


COMPARE = {
    "BRANCH_LEQ": np.less_equal,
    "BRANCH_LT": np.less,
    "BRANCH_GTE": np.greater_equal,
    "BRANCH_GT": np.greater,
    "BRANCH_EQ": np.equal,
    "BRANCH_NEQ": np.not_equal,
}


@pytest.mark.parametrize("tracks", [0, 1])
@pytest.mark.parametrize("mode", COMPARE)
def test_every_mode_is_right_at_the_edges_of_numbers(mode: str, tracks: int) -> None:
    edges = [-np.inf, -1.5, np.nextafter(np.float32(-1.5), np.float32(0)), -0.0, 0.0, 1e-45, 2.0, np.inf]
    x = np.array([*edges, np.nextafter(np.float32(2), np.float32(3)), np.nan], np.float32)
    stumps = [
        tree([(mode, 3, value, 1, 2), *[("LEAF", 0, 0.0, 0, 0)] * 2], number)
        for number, value in enumerate(x)
    ]
    count = len(stumps)
    leaves: dict[str, Any] = {
        "target_treeids": [k // 2 for k in range(2 * count)],
        "target_nodeids": [1, 2] * count,
    }
    leaves |= {"target_weights": [v for k in range(count) for v in (2.0**k, 0.0)]}
    attrs = joined(*stumps) | leaves | {"target_ids": [0] * 2 * count}
    attrs |= {"nodes_missing_value_tracks_true": [tracks, 0, 0] * count}

    goes = COMPARE[mode](x[:, None], x[None]) | (np.isnan(x[:, None]) & bool(tracks))
    rows = np.tile(x[:, None], (1, 4))
    made = tvmlite.compile(from_onnx(model("TreeEnsembleRegressor", n_targets=1, **attrs))).run({"x": rows})
    np.testing.assert_array_equal(made["y"], (goes @ 2.0 ** np.arange(count))[:, None].astype(np.float32))


def random_tree(number: int, depth: int) -> dict[str, list[Any]]:
    """A tree of all modes, whose thresholds are what ``small_numbers`` are."""
    nodes: list[Any] = []

    def grow(left: int) -> int:
        place = len(nodes)
        nodes.append(("LEAF", 0, 0.0, 0, 0))
        if left and rng.random() < 0.8:
            asked = (str(rng.choice(list(COMPARE))), int(rng.integers(4)), float(rng.integers(-2, 3)))
            nodes[place] = (*asked, grow(left - 1), grow(left - 1))
        return place

    grow(depth)
    return tree(nodes, number)


def forest(kind: str, count: int, targets: int) -> dict[str, Any]:
    """Attributes of ``count`` random trees with a weight at every leaf."""
    attrs = joined(*(random_tree(number, 7) for number in range(count)))
    nodes = zip(attrs["nodes_treeids"], attrs["nodes_nodeids"], attrs["nodes_modes"], strict=True)
    leaves = [(owner, place) for owner, place, mode in nodes if mode == "LEAF"]
    attrs[f"{kind}_treeids"], attrs[f"{kind}_nodeids"] = map(list, zip(*leaves, strict=True))
    attrs[f"{kind}_ids"] = rng.integers(0, targets, len(leaves)).tolist()
    attrs[f"{kind}_weights"] = rng.standard_normal(len(leaves)).tolist()
    attrs["nodes_missing_value_tracks_true"] = rng.integers(0, 2, len(attrs["nodes_modes"])).tolist()
    return attrs


def small_numbers() -> np.ndarray:
    x = rng.integers(-3, 4, (40, 4)).astype(np.float32)
    return np.where(rng.random(x.shape) < 0.1, np.float32(np.nan), x)


@pytest.mark.parametrize(("count", "targets"), [(1, 1), (8, 1), (21, 3)])
def test_deep_trees_of_all_modes_are_what_onnxruntime_makes_of_them(count: int, targets: int) -> None:
    attrs = forest("target", count, targets)

    check(model("TreeEnsembleRegressor", n_targets=targets, **attrs), small_numbers())


def test_an_open_number_of_features_is_as_many_as_trees_ask_for() -> None:
    proto = model("TreeEnsembleRegressor", n_targets=1, **forest("target", 9, 1))
    proto.graph.input[0].type.tensor_type.shape.dim[1].dim_param = "features"

    check(proto, small_numbers())


@pytest.mark.parametrize("aggregate", [0, 1, 2, 3])
def test_trees_with_leaves_of_their_own_are_what_onnxruntime_makes_of_them(aggregate: int) -> None:
    doubles = {"nodes_splits": [0.25, -0.5, 0.0], "leaf_weights": [1.0, -2.0, 0.5, 3.0, 0.25]}
    attrs = {name: onnx.numpy_helper.from_array(np.array(one)) for name, one in doubles.items()}
    attrs["nodes_modes"] = onnx.numpy_helper.from_array(np.array([0, 3, 1], np.uint8))

    proto = model(
        "TreeEnsemble",
        DOUBLE,
        (("y", DOUBLE),),
        5,
        n_targets=1,
        aggregate_function=aggregate,
        tree_roots=[0, 2],
        nodes_featureids=[0, 3, 1],
        nodes_truenodeids=[1, 1, 4],
        nodes_trueleafs=[0, 1, 1],
        nodes_falsenodeids=[0, 2, 3],
        nodes_falseleafs=[1, 1, 1],
        nodes_missing_value_tracks_true=[1, 0, 1],
        leaf_targetids=[0] * 5,
        **attrs,
    )
    x = numbers(np.float64)
    x[::2, 0] = x[::3, 1] = np.nan
    check(proto, x)


@pytest.mark.parametrize("how", ["NONE", "LOGISTIC", "SOFTMAX"])
def test_trees_of_three_classes_give_a_label_and_scores(how: str) -> None:
    attrs = joined(FIRST, SECOND) | weights("class", [0, 1, 2, 1, 2], [0.5, 0.25, 0.75, 0.125, 0.5])
    outputs = (("label", INT64), ("scores", FLOAT))

    check(
        model(
            "TreeEnsembleClassifier",
            FLOAT,
            outputs,
            classlabels_int64s=[7, 3, 5],
            post_transform=how,
            **attrs,
        ),
        numbers(),
    )


@pytest.mark.parametrize(
    ("values", "how"),
    [
        ([0.5, 0.25, 0.75, 0.125, 0.5], "NONE"),
        ([0.5, -2, 0.7, 0.1, -0.5], "NONE"),
        ([0.5, -2, 0.7, 0.1, -0.5], "LOGISTIC"),
    ],
)
@pytest.mark.parametrize("only", [0, 1])
def test_of_two_classes_one_may_be_what_is_left(values: list[float], how: str, only: int) -> None:
    attrs = joined(FIRST, SECOND) | weights("class", [only] * 5, values)
    outputs = (("label", INT64), ("scores", FLOAT))

    check(
        model(
            "TreeEnsembleClassifier", FLOAT, outputs, classlabels_int64s=[0, 1], post_transform=how, **attrs
        ),
        numbers(),
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"nodes_truenodeids": [9, 3, 0, 0, 0]}, "a node leads to a node that is not there"),
        ({"nodes_modes": ["BRANCH_SO", *FIRST["nodes_modes"][1:]]}, "a node's mode is 'BRANCH_SO'"),
        ({"nodes_featureids": [4, 3, 0, 0, 0]}, "a node reads feature 4, rows have 4"),
        ({"nodes_values": [0.5]}, "attributes of its 5 nodes must have as many values"),
        ({"target_nodeids": [2, 3, 9]}, "a weight is for node 9 of tree 0 and target 0"),
        ({"nodes_truenodeids": [1, 1, 0, 0, 0]}, "its nodes are in a cycle"),
        ({"post_transform": "PROBIT"}, "post_transform 'PROBIT'; supported are"),
    ],
)
def test_trees_that_cannot_be_are_refused(change: dict[str, Any], message: str) -> None:
    leaves = {"target_treeids": [0] * 3, "target_nodeids": [2, 3, 4], "target_ids": [0] * 3}
    attrs = {**FIRST, **leaves, "target_weights": [1.0, 2.0, 3.0], "n_targets": 1, **change}

    with pytest.raises((ModelError, UnsupportedError), match=message):
        from_onnx(model("TreeEnsembleRegressor", **attrs))


def test_classes_of_text_are_refused() -> None:
    attrs = joined(FIRST, SECOND) | weights("class", [0, 1, 0, 1, 0], [0.5] * 5)

    with pytest.raises(UnsupportedError, match="classes whose labels are text"):
        from_onnx(
            model(
                "TreeEnsembleClassifier",
                outputs=(("l", INT64), ("s", FLOAT)),
                classlabels_strings=["a", "b"],
                **attrs,
            )
        )


@pytest.mark.parametrize(
    "labels", [{"classlabels_int64s": [7, 3, 5]}, {"classlabels_strings": ["c", "a", "b"]}]
)
def test_maps_of_classes_are_the_columns_of_an_array(labels: dict[str, Any]) -> None:
    kind = TensorProto.INT64 if "classlabels_int64s" in labels else TensorProto.STRING
    maps = helper.make_sequence_type_proto(
        helper.make_map_type_proto(kind, helper.make_tensor_type_proto(FLOAT, []))
    )
    node = helper.make_node("ZipMap", ["x"], ["y"], domain="ai.onnx.ml", **labels)
    graph = helper.make_graph(
        [node], "g", [helper.make_tensor_value_info("x", FLOAT, [4, 3])], [helper.make_value_info("y", maps)]
    )
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("ai.onnx.ml", 1)]
    made = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    x = np.random.default_rng(0).random((4, 3), "float32")
    (classes,) = labels.values()

    with pytest.warns(RuntimeWarning, match=f"the columns are the classes {re.escape(str(classes))}"):
        lib = tvmlite.compile(from_onnx(made))

    (rows,) = onnxruntime.InferenceSession(made.SerializeToString()).run(None, {"x": x})
    np.testing.assert_array_equal(lib(x), [[row[label] for label in classes] for row in rows])
