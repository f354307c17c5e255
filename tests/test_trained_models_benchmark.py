"""Parts of the benchmark of packaged models that need no package: archives, inputs, verdicts, summary."""

from __future__ import annotations

import importlib
import io
import math
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))  # last: it has a models.py, as this folder has

answers = importlib.import_module("trained.answers")
archive = importlib.import_module("trained.archive")
fetch = importlib.import_module("trained.fetch")
inputs = importlib.import_module("trained.inputs")
listing = importlib.import_module("trained.listing")
summary = importlib.import_module("trained.summary")
reference = importlib.import_module("trained.reference")


def model(
    values: dict[str, tuple[int, list[Any]]],
    nodes: list[onnx.NodeProto] | None = None,
    tables: dict[str, np.ndarray] | None = None,
) -> onnx.ModelProto:
    """A model with inputs of the given types and shapes; it is never run."""
    given = [helper.make_tensor_value_info(name, kind, shape) for name, (kind, shape) in values.items()]
    held = [numpy_helper.from_array(array, name) for name, array in (tables or {}).items()]
    return helper.make_model(helper.make_graph(nodes or [], "graph", given, [], held))


def zipped(path: Path, members: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w") as file:
        for name, data in members.items():
            file.writestr(name, data)
    return path


def tarred(path: Path, members: dict[str, bytes], links: dict[str, str] | None = None) -> Path:
    with tarfile.open(path, "w:gz") as file:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            file.addfile(info, io.BytesIO(data))
        for name, target in (links or {}).items():
            info = tarfile.TarInfo(name)
            info.type, info.linkname = tarfile.SYMTYPE, target
            file.addfile(info)
    return path


@pytest.mark.parametrize("pack", [zipped, tarred])
def test_only_models_are_extracted_from_an_archive(pack: Any, tmp_path: Path) -> None:
    members = {"a/net.onnx": b"net", "a/net.onnx.data": b"weights", "setup.py": b"raise SystemExit"}
    made = archive.extract_models(pack(tmp_path / "archive", members), tmp_path / "out")

    assert made == [tmp_path / "out/a/net.onnx"]
    files = {one.name: one.read_bytes() for one in (tmp_path / "out").rglob("*") if one.is_file()}
    assert files == {"net.onnx": b"net", "net.onnx.data": b"weights"}


@pytest.mark.parametrize("pack", [zipped, tarred])
@pytest.mark.parametrize("name", ["../evil.onnx", "a/../../evil.onnx", "/tmp/evil.onnx", "a\\..\\evil.onnx"])
def test_a_member_outside_the_folder_is_refused(pack: Any, name: str, tmp_path: Path) -> None:
    packed = pack(tmp_path / "archive", {name: b"x"})

    with pytest.raises(archive.ArchiveError):
        archive.extract_models(packed, tmp_path / "out")
    assert not list(tmp_path.rglob("evil*"))
    assert not Path("/tmp/evil.onnx").exists()


def test_a_member_below_a_link_out_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out/a").symlink_to(tmp_path)

    with pytest.raises(archive.ArchiveError, match="lies outside"):
        archive.extract_models(zipped(tmp_path / "archive", {"a/evil.onnx": b"x"}), tmp_path / "out")


def test_links_are_not_extracted(tmp_path: Path) -> None:
    packed = tarred(tmp_path / "archive", {"net.onnx": b"net"}, {"link.onnx": "/etc/passwd"})

    assert archive.extract_models(packed, tmp_path / "out") == [tmp_path / "out/net.onnx"]


@pytest.mark.parametrize("limit", ["LARGEST_FILE", "LARGEST_PACKAGE"])
def test_an_archive_unpacks_no_more_than_its_limits(
    limit: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive, limit, 5)
    packed = zipped(tmp_path / "archive", {"a.onnx": b"1234", "b.onnx": b"1234567"})

    with pytest.raises(archive.ArchiveError, match=r"b\.onnx has more than \d bytes"):
        archive.extract_models(packed, tmp_path / "out")
    assert not (tmp_path / "out/b.onnx").exists()


def test_models_are_named_by_their_shortest_unique_suffix(tmp_path: Path) -> None:
    folder = tmp_path / "pypi/some-package-1.0"
    for index, member in enumerate(("a/x/net.onnx", "b/y/net.onnx", "b/other.onnx", "b/copy.onnx")):
        (folder / member).parent.mkdir(parents=True, exist_ok=True)
        (folder / member).write_bytes(bytes([min(index, 2)]))
    package = listing.Package("pypi", "some-package", "1.0")
    found = fetch.trained_models(package, tmp_path)

    names = {one.name for one in found}
    assert names == {f"some-package:{name}" for name in ("x/net", "y/net", "other", "copy")}
    assert {one.name for one in fetch.distinct(found)} == names - {"some-package:other"}


def test_every_listed_package_has_a_version_and_readable_hints() -> None:
    listed = listing.packages()

    assert len(listed) == len({(one.registry, one.name) for one in listed}) >= 25
    assert all(one.version[0].isdigit() and one.registry in ("pypi", "npm") for one in listed)


def test_open_dimensions_get_two_sizes_and_fixed_ones_keep_theirs() -> None:
    image = model({"x": (TensorProto.FLOAT, ["n", 3, "h", "w"])})
    assert [one["x"].shape for one in inputs.made_inputs(image)] == [(1, 3, 160, 224), (2, 3, 224, 320)]
    channels_last = model({"x": (TensorProto.UINT8, [None, "h", "w", 3])})
    assert [one["x"].shape for one in inputs.made_inputs(channels_last)] == [
        (1, 160, 224, 3),
        (2, 224, 320, 3),
    ]
    assert [one["x"].shape for one in inputs.made_inputs(model({"x": (TensorProto.FLOAT, [1, 7])}))] == [
        (1, 7)
    ]


@pytest.mark.parametrize("shape", [(2, 3, 48, 100), (1, 1, 30, 40), (2, 50, 70, 3)])
def test_pictures_have_dark_letters_on_a_light_ground(shape: tuple[int, ...]) -> None:
    made = inputs.picture(shape, np.random.default_rng(0))

    assert made.shape == shape
    assert made.min() >= 0
    assert made.max() <= 1
    assert 0.05 < (made < 0.5).mean() < 0.4


def test_dimensions_named_by_a_question_mark_are_distinct() -> None:
    made = model({"x": (TensorProto.FLOAT, ["batch", 3, "?", "?"])})

    (first, second), (hinted,) = (
        inputs.made_inputs(made, hint) for hint in (listing.Hint(), listing.Hint(dims={"x.2": [48]}))
    )

    assert first["x"].shape == (1, 3, 160, 224)
    assert second["x"].shape == (2, 3, 224, 320)
    assert hinted["x"].shape == (1, 3, 48, 224)


def test_equal_names_have_one_extent_and_lengths_match_the_audio() -> None:
    speech = model(
        {
            "waveforms": (TensorProto.FLOAT, ["batch", "N"]),
            "copies": (TensorProto.FLOAT, ["batch", "N"]),
            "lens": (TensorProto.INT64, ["batch"]),
            "sr": (TensorProto.INT64, []),
        }
    )
    for made in inputs.made_inputs(speech):
        assert made["waveforms"].shape == made["copies"].shape
        assert made["lens"].tolist() == [made["waveforms"].shape[1]] * made["waveforms"].shape[0]
        assert made["sr"].shape == ()
        assert made["sr"] == 16000
        assert 0.05 < made["waveforms"].std() < 0.2


def test_ids_are_within_the_table_they_index() -> None:
    nodes = [
        helper.make_node("Cast", ["ids"], ["whole"], to=TensorProto.INT64),
        helper.make_node("Unsqueeze", ["whole", "axes"], ["wider"]),
        helper.make_node("Gather", ["table", "wider"], ["rows"]),
        helper.make_node("Gather", ["columns", "others"], ["taken"], axis=1),
    ]
    tables = {
        "axes": np.array([0]),
        "table": np.zeros((5, 2), np.float32),
        "columns": np.zeros((9, 7), np.float32),
    }
    values = {"ids": (TensorProto.FLOAT, [400]), "others": (TensorProto.INT64, [400])}
    (made,) = inputs.made_inputs(model(values, nodes, tables))

    assert made["ids"].dtype == np.float32
    assert set(made["ids"]) == set(range(5))
    assert set(made["others"]) == set(range(7))


def test_in_the_first_inputs_masks_are_ones_and_states_zeros() -> None:
    values = {
        "attention_mask": (TensorProto.INT64, ["batch", "length"]),
        "state": (TensorProto.FLOAT, ["batch", 8]),
        "flags": (TensorProto.BOOL, [3]),
    }
    first, second = inputs.made_inputs(model(values))

    assert first["attention_mask"].all()
    assert first["flags"].all()
    assert not first["state"].any()
    assert second["state"].any()


def test_hints_determine_inputs() -> None:
    hint = listing.Hint(
        dims={"length": [4, 9]},
        inputs={
            "scales": {"fill": [0, 1, 0]},
            "ids": {"low": 3, "high": 5},
            "x": {"shapes": [[1, 2], [2, 2]]},
        },
    )
    values = {
        "scales": (TensorProto.FLOAT, [3]),
        "ids": (TensorProto.INT64, ["length"]),
        "x": (TensorProto.FLOAT, [None, None]),
    }
    first, second = inputs.made_inputs(model(values), hint)

    assert first["scales"].tolist() == [0, 1, 0]
    assert first["scales"].dtype == np.float32
    assert (first["ids"].shape, second["ids"].shape) == ((4,), (9,))
    assert set(second["ids"]) <= {3, 4}
    assert (first["x"].shape, second["x"].shape) == ((1, 2), (2, 2))


def test_inputs_are_the_same_in_every_run() -> None:
    values = {"x": (TensorProto.FLOAT, ["n", 4])}

    for one, other in zip(inputs.made_inputs(model(values)), inputs.made_inputs(model(values)), strict=True):
        np.testing.assert_array_equal(one["x"], other["x"])


def test_a_model_with_a_quantized_subgraph_counts_as_quantized() -> None:
    inner = helper.make_graph(
        [helper.make_node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"])], "g", [], []
    )
    node = helper.make_node("If", ["c"], ["y"], then_branch=inner, else_branch=inner)

    assert reference.is_quantized(model({}, [node]).graph)
    assert not reference.is_quantized(model({}, [helper.make_node("Conv", ["x", "w"], ["y"])]).graph)


def test_outputs_differ_by_shape_by_dtype_or_by_value() -> None:
    want = {"y": np.array([1.0, -4.0], np.float32)}

    assert answers.gap(want, want) == 0
    assert answers.differing(want, want) == ""
    assert answers.gap({"y": np.array([1.0, -3.0], np.float32)}, want) == 0.25
    flat = {"y": np.array([[1.0, -4.0]], np.float32)}
    assert answers.gap(flat, want) == math.inf
    assert answers.differing(flat, want) == "y is float32[1, 2], expected float32[2]"
    assert "float64[2], expected float32[2]" in answers.differing({"y": np.array([1.0, -4.0])}, want)


def test_saved_inputs_are_loaded_unchanged(tmp_path: Path) -> None:
    sets = [{"a/b": np.arange(3), "sr": np.array(8, np.int64)}, {"a/b": np.arange(4), "sr": np.array(9)}]
    path = str(tmp_path / "sets.npz")
    answers.save(path, sets)

    back = answers.load(path)
    assert [list(one) for one in back] == [["a/b", "sr"], ["a/b", "sr"]]
    assert back[0]["sr"].shape == ()
    assert back[1]["a/b"].tolist() == [0, 1, 2, 3]


TOLERANCES = (2e-3, 5e-2)
COMPILED = {"seconds": 1.0, "processor_seconds": 1.5, "peak_gb": 0.2, "kernels": 3}


def events(*pairs: tuple[str, dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"event": name, **what} for name, what in pairs]


@pytest.mark.parametrize(
    ("gap", "quantized", "verdict"),
    [(1e-3, False, "right"), (1e-2, False, "wrong"), (1e-2, True, "right"), (0.1, True, "wrong")],
)
def test_the_verdict_is_that_of_the_worst_size(gap: float, quantized: bool, verdict: str) -> None:
    said = events(
        ("model", {"quantized": quantized, "nodes": 1}),
        ("compiled", COMPILED),
        ("compared", {"size": 0, "gap": 0.0, "why": ""}),
        ("compared", {"size": 1, "gap": gap, "why": "y"}),
    )
    made = summary.check_record("package:net", said, TOLERANCES)

    assert (made["verdict"], made["gap"], made["seconds"]) == (verdict, gap, 1.0)


@pytest.mark.parametrize(
    ("sensitivity", "verdict"), [(0.0, "wrong"), (0.04, "wrong"), (0.06, "unsteady"), (math.inf, "wrong")]
)
def test_results_unstable_in_onnxruntime_are_neither_right_nor_wrong(
    sensitivity: float, verdict: str
) -> None:
    said = events(
        ("model", {"quantized": True, "nodes": 1}),
        ("reference run", {"shapes": [], "sensitivity": sensitivity}),
        ("compared", {"size": 0, "gap": 0.1, "why": "y"}),
    )

    assert summary.check_record("package:net", said, TOLERANCES)["verdict"] == verdict


def test_weights_are_nudged_unless_they_are_integers() -> None:
    tables = {
        "w": np.full((3, 4), 0.3, np.float32),
        "shape": np.array([2, 3]),
        "whole": np.ones(3, np.float32),
    }
    made = model({}, tables=tables)
    reference.perturb_weights(made)

    moved = {one.name: numpy_helper.to_array(one) for one in made.graph.initializer}
    assert 0 < np.abs(moved["w"] - tables["w"]).max() < 2e-6
    for name in ("shape", "whole"):
        np.testing.assert_array_equal(moved[name], tables[name])


def test_nudging_changes_only_floats_by_little() -> None:
    given = {"x": np.full(100, 3.5, np.float32), "ids": np.arange(4), "float_ids": np.arange(4.0)}
    moved = reference.perturbed(given)

    assert 0 < np.abs(moved["x"] - 3.5).max() < 3e-4
    assert moved["x"].dtype == np.float32
    for name in ("ids", "float_ids"):
        np.testing.assert_array_equal(moved[name], given[name])


@pytest.mark.parametrize(
    ("event", "verdict"),
    [
        ("refused by ONNX Runtime", "excluded"),
        ("not reproducible", "excluded"),
        ("refused", "refused"),
        ("failed", "failed"),
        ("ended", "failed"),
    ],
)
def test_the_event_that_ends_a_check_is_its_verdict(event: str, verdict: str) -> None:
    made = summary.check_record("package:net", events((event, {"why": "because"})), TOLERANCES)

    assert made["verdict"] == verdict
    assert "because" in made["why"]
    assert "because" in summary.check_row(made)


def test_a_check_that_compared_nothing_is_not_right() -> None:
    said = events(("compiled", COMPILED))

    assert summary.check_record("package:net", said, TOLERANCES)["verdict"] != "right"


def timed(ours: float, loaded: float, **peers: float) -> dict[str, Any]:
    seconds = {"tvmlite": ours, "loaded": loaded, **peers}
    return {
        "kind": "time",
        "model": f"package:{ours}",
        "threads": 1,
        "size": 0,
        "median": seconds,
        "least": seconds,
        "load": 0.1,
        "left_out": {},
    }


def test_the_speed_is_relative_to_the_best_peer() -> None:
    assert summary.speed(timed(2.0, 2.0, onnxruntime=5.0, openvino=3.0)) == 1.5
    assert summary.speed(timed(2.0, 2.0, onnxruntime=5.0)) == 2.5
    assert math.isnan(summary.speed(timed(2.0, 2.0)))
    assert "slower" not in summary.time_row(timed(2.0, 2.0))


def test_maps_of_classes_become_columns() -> None:
    maps = [{3: 0.25, 1: 0.75}, {3: 1.0, 1: 0.0}]

    made = answers.as_array(maps)

    np.testing.assert_array_equal(made, np.asarray([[0.25, 0.75], [1, 0]], np.float32))
    assert made.dtype == np.float32
    assert answers.as_array([]) == []
    assert summary.loaded_ratio(timed(2.0, 2.5, onnxruntime=5.0)) == 1.25


def test_the_summary_counts_and_averages() -> None:
    checks = [
        {"kind": "check", "model": str(index), "verdict": verdict, "seconds": float(index), "why": ""}
        for index, verdict in enumerate(("right", "right", "wrong", "refused", "failed", "excluded"))
    ]
    times = [timed(1.0, 1.0, onnxruntime=4.0), timed(2.0, 2.2, onnxruntime=1.0, openvino=9.0)]
    text = summary.summary([*checks, *times])

    assert "6 models: 2 right, 1 wrong, 1 refused, 1 failed" in text
    assert "not counted: 1 excluded" in text
    assert "2.5 s for half of 6 models, 4.5 s for nine in ten" in text
    # sqrt(4 * 0.5)
    assert (
        "threads 1: 1.41 times as fast as the best peer (geometric mean of 2 rows), 1 models slower" in text
    )
    assert (
        "1.050 of the time in the process that compiled it (median; 1.10 at most; 1 rows over 1.05)" in text
    )
    assert "slower: package:2.0" in text


def test_a_model_that_could_not_be_timed_says_why() -> None:
    (made,) = summary.time_records("package:net", 2, events(("ended", {"why": "time: took more than 9 s"})))

    assert "took more than 9 s" in summary.time_row(made)
    assert "could not be" in summary.summary([made])
