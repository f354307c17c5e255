"""Time one token's attention in all layers of a decoder, with a key-value cache in float32 and in int8.

    python benchmarks/key_value_cache.py --threads 1
    python benchmarks/key_value_cache.py --lengths 512 2048 8192 --layers 4

All key-value caches together are far larger than the processor's caches, as if a model's weights were read in
between. They are updated in place. ``any n`` also accepts prompts, ``n = 1`` only single tokens. Runs are
interleaved, and the times are medians.
"""

from __future__ import annotations

import argparse
import statistics
import time
from typing import Any

import numpy as np
from onnx import ModelProto, helper

import tvmlite
from tvmlite import relay, runtime
from tvmlite.relay.passes.bind_dimensions import bind_dimensions
from tvmlite.relay.passes.quantize_cache import quantize_cache
from tvmlite.relay.passes.update_in_place import update_in_place


def model(layers: int, heads: int, groups: int, size: int) -> ModelProto:
    """``GroupQueryAttention`` of each layer on the same projections, each with its own cache."""
    value, nodes, pasts, presents = helper.make_tensor_value_info, [], [], []
    for layer in range(layers):
        past, present = ([f"{name}{kind}{layer}" for kind in ("key", "value")] for name in ("past_", ""))
        node = helper.make_node(
            "GroupQueryAttention",
            ["q" if not layer else f"y{layer - 1}", "k", "v", *past, "last", "total"],
            [f"y{layer}", *present],
            domain="com.microsoft",
            num_heads=heads,
            kv_num_heads=groups,
        )
        nodes.append(node)
        for names, found in ((past, pasts), (present, presents)):
            found.extend(value(name, 1, [1, groups, "length", size]) for name in names)
    rows = [("q", heads), ("k", groups), ("v", groups)]
    inputs = [value(name, 1, [1, "n", count * size]) for name, count in rows]
    inputs += [value("last", 6, [1]), value("total", 6, []), *pasts]
    y = value(f"y{layers - 1}", 1, [1, "n", heads * size])
    graph = helper.make_graph(nodes, "attention", inputs, [y, *presents])
    opsets = [helper.make_opsetid("", 20), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def arrays(lib: Any, length: int, groups: int) -> list[np.ndarray]:
    """Random inputs for the token after ``length - 1`` others."""
    rng, made = np.random.default_rng(0), []
    for one in lib.signature.of_kind("input"):
        shape = [n if isinstance(n, int) else 1 if str(n) == "n" else length for n in one.shape]
        if one.name in ("last", "total"):
            array = np.full(shape, length - (one.name == "last"), np.int32)
        elif one.dtype == "int8":
            array = rng.integers(-127, 128, shape).astype(np.int8)
        else:
            array = rng.standard_normal(shape, np.float32)
        made.append(array)
    return made


def main() -> None:
    """Compile each variant, and print times and bytes for each length."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    for name, default in (("layers", 22), ("heads", 32), ("groups", 4), ("size", 64), ("threads", 1)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--lengths", type=int, nargs="+", default=[512, 2048, 4096])
    parser.add_argument("--runs", type=int, default=15)
    asked = parser.parse_args()
    runtime.set_num_threads(asked.threads)
    module = relay.frontend.from_onnx(model(asked.layers, asked.heads, asked.groups, asked.size))
    pairs = {f"{kind}{n}": f"past_{kind}{n}" for n in range(asked.layers) for kind in ("key", "value")}
    kinds = {"float32": update_in_place(module, pairs), "int8": quantize_cache(module, pairs)}
    libraries = {}
    for name, one in kinds.items():
        libraries[f"{name}, any n"] = tvmlite.compile(one)
        libraries[f"{name}, n = 1"] = tvmlite.compile(bind_dimensions({"n": 1})(one))
    for length in asked.lengths:
        given = {name: arrays(lib, length, asked.groups) for name, lib in libraries.items()}
        times: dict[str, list[float]] = {name: [] for name in libraries}
        for _ in range(asked.runs + 1):
            for name, lib in libraries.items():
                start = time.perf_counter()
                lib(*given[name])
                times[name].append(time.perf_counter() - start)
        for name, found in times.items():
            size = sum(one.nbytes for one in given[name][5:]) / 1e6
            median = statistics.median(found[1:])
            print(
                f"{length:6} {name:15} {median * 1e3:8.2f} ms {size:8.1f} MB {size / median / 1e3:6.1f} GB/s"
            )


if __name__ == "__main__":
    main()
