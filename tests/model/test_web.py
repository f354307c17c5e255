"""WebAssembly: exports run in an engine, and in JavaScript by the module written with them."""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

import tvmlite
from tvmlite import relay, runtime
from tvmlite.core.errors import InputError, LibraryError
from tvmlite.relay.frontend import from_onnx
from tvmlite.relay.ir.nodes import Module

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("ziglang") is None, reason="no ziglang, which links WebAssembly"
)

RNG = np.random.default_rng(0)
FIRST, SECOND = (RNG.standard_normal(shape).astype("float32") for shape in ((16, 8), (4, 16)))


def network(rows: int | str) -> Module:
    """Two dense layers and a softmax."""
    x = relay.var("in/x", shape=(rows, 8), dtype="float32")
    hidden = relay.nn.relu(relay.nn.dense(x, relay.const(FIRST)))
    made = relay.nn.softmax(relay.nn.dense(hidden, relay.const(SECOND)))
    return relay.IRModule.from_expr(relay.Function((x,), made))


def expected(x: np.ndarray) -> np.ndarray:
    scores = np.maximum(x.astype(np.float64) @ FIRST.T, 0) @ SECOND.T
    powers = np.exp(scores - scores.max(1, keepdims=True))
    return powers / powers.sum(1, keepdims=True)


def exported(module: Module, folder: Path) -> Path:
    path = folder / "net.wasm"
    tvmlite.compile(module, target="wasm", name="net").export(path)
    return path


def test_a_module_without_imports_runs_in_an_engine(tmp_path: Path) -> None:
    wasmtime = pytest.importorskip("wasmtime", reason="no engine: pip install wasmtime")
    x = RNG.standard_normal((3, 8)).astype("float32")
    store = wasmtime.Store()
    module = wasmtime.Module.from_file(store.engine, str(exported(network(3), tmp_path)))
    assert list(module.imports) == []
    exports = wasmtime.Instance(store, module, []).exports(store)
    memory, base = exports["memory"], (exports["__heap_base"].value(store) + 63) // 64 * 64
    memory.grow(store, 2)
    memory.write(store, x.tobytes(), base)
    assert exports["net"](store, base, base + 1024, base + 4096, 1, 0) == 0
    made = np.frombuffer(memory.read(store, base + 1024, base + 1024 + 48), np.float32).reshape(3, 4)
    np.testing.assert_allclose(made, expected(x), rtol=1e-5, atol=1e-7)


def test_code_uses_vectors_of_128_bits() -> None:
    assembly = tvmlite.compile(network(3), target="wasm").source("asm")
    assert "f32x4.mul" in assembly


def test_the_same_model_gives_the_same_bytes(tmp_path: Path) -> None:
    first = exported(network(3), tmp_path).read_bytes()
    assert exported(network(3), tmp_path).read_bytes() == first


def test_metadata_of_wasm_is_read_like_a_librarys(tmp_path: Path) -> None:
    path = exported(network(3), tmp_path)
    fields = runtime.read_metadata(path)
    assert fields["input_names"] == ["in/x"]
    assert "wasm32" in fields["target"]
    with pytest.raises(LibraryError, match=r"net\.wasm is WebAssembly"):
        runtime.load(path)


def test_wasm_needs_its_target_and_ending(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r'cannot export to .*net\.wasm: the code is for[\s\S]*target="wasm"'
    ):
        tvmlite.compile(network(3)).export(tmp_path / "net.wasm")
    with pytest.raises(InputError, match=r"goes into \.wasm, its header into \.h"):
        tvmlite.compile(network(3), target="wasm").export(tmp_path / "net.so")


def javascript(folder: Path, body: str) -> Any:
    """The JSON that ``body``, a program that uses ``model``, passes to ``show`` in Node.js."""
    (folder / "main.mjs").write_text(
        'import { readFileSync } from "node:fs";\n'
        'import { load, TvmliteError } from "./tvmlite.js";\n'
        "const show = (value) => console.log(JSON.stringify(value, (_, v) => "
        'typeof v === "bigint" ? Number(v) : ArrayBuffer.isView(v) ? Array.from(v) : v));\n'
        'const model = await load(readFileSync("net.wasm"));\n' + body
    )
    done = subprocess.run(["node", "main.mjs"], cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="no Node.js")


@needs_node
def test_a_model_with_fixed_shapes_runs_in_javascript(tmp_path: Path) -> None:
    exported(network(3), tmp_path)
    x = RNG.standard_normal((3, 8)).astype("float32")
    call = f'model.run({{ "in/x": new Float32Array({x.reshape(-1).tolist()}) }})'
    made = javascript(tmp_path, f"{call}; show([{call}, model.inputs, model.outputs]);")
    (outputs, inputs, described) = made
    assert inputs == [{"name": "in/x", "dtype": "float32", "shape": [3, 8]}]
    assert described == [{"name": "output0", "dtype": "float32", "shape": [3, 4]}]
    assert outputs["output0"]["shape"] == [3, 4]
    np.testing.assert_allclose(
        np.reshape(outputs["output0"]["data"], (3, 4)), expected(x), rtol=1e-5, atol=1e-7
    )


@needs_node
def test_a_model_with_open_dimensions_runs_in_javascript(tmp_path: Path) -> None:
    exported(network("n"), tmp_path)
    x = RNG.standard_normal((70, 8)).astype("float32")
    data = f"new Float32Array({x.reshape(-1).tolist()})"
    made = javascript(tmp_path, f'show(model.run({{ "in/x": {{ data: {data}, shape: [70, 8] }} }}));')
    assert made["output0"]["shape"] == [70, 4]
    np.testing.assert_allclose(
        np.reshape(made["output0"]["data"], (70, 4)), expected(x), rtol=1e-5, atol=1e-7
    )


@needs_node
def test_a_model_with_extents_from_data_runs_in_javascript(tmp_path: Path) -> None:
    nodes = [helper.make_node("NonZero", ["x"], ["found"])]
    given = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n"])]
    found = [helper.make_tensor_value_info("found", TensorProto.INT64, [1, "m"])]
    graph = helper.make_graph(nodes, "net", given, found)
    opset = [helper.make_opsetid("", 17)]
    exported(from_onnx(helper.make_model(graph, opset_imports=opset, ir_version=9)), tmp_path)
    call = "model.run({ x: { data: Float32Array.of(1, 0, 0, 2, 3), shape: [5] } })"
    made = javascript(tmp_path, f"{call}; show({call});")
    assert made["found"] == {"data": [0, 3, 4], "shape": [1, 3], "dtype": "int64"}


@needs_node
def test_mistakes_in_javascript_give_clear_errors(tmp_path: Path) -> None:
    exported(network("n"), tmp_path)
    calls = [
        "{ y: new Float32Array(8) }",
        "{}",
        '{ "in/x": { data: new Float64Array(8), shape: [1, 8] } }',
        '{ "in/x": { data: new Float32Array(9), shape: [1, 9] } }',
        '{ "in/x": { data: new Float32Array(9), shape: [1, 8] } }',
        '{ "in/x": new Float32Array(8) }',
    ]
    attempts = "".join(
        f"try {{ model.run({call}); said.push(null); }}"
        f" catch (error) {{ said.push(error instanceof TvmliteError && error.message); }}\n"
        for call in calls
    )
    said = javascript(tmp_path, f"const said = [];\n{attempts}show(said);")
    assert said == [
        'there is no input "y"; the inputs are in/x',
        'input "in/x" is not given',
        'input "in/x" is Float64Array, expected Float32Array',
        'input "in/x" has shape [1,9], expected [n,8]; give { data, shape }',
        'input "in/x" has 9 elements, its shape [1,8] has others',
        'input "in/x" has shape [n,8], expected [n,8]; give { data, shape }',
    ]
