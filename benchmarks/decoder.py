"""Time one token, or a prompt, of a language model with 4-bit weights, at batch 1, against other runtimes.

    python benchmarks/decoder.py --threads 1
    python benchmarks/decoder.py --model qwen2.5-0.5b --threads 2 --against onnxruntime openvino
    python benchmarks/decoder.py --tokens 128 --rounds 3
    python benchmarks/decoder.py --against onnxruntime-int8 llama.cpp

The sizes are those of public models, the weights are random: 4 bits in groups of 32, with scales that are
exact in float16. All runtimes get the same ONNX file (``MatMulNBits``, ``GroupQueryAttention``); for those
whose names end in ``-int8`` it has ``accuracy_level=4``: their data is rounded to 8 bits, so their results
differ. Runs are interleaved, and between them a buffer far larger than the caches is read. The bandwidth of a
token relative to that of this read shows how near it is to the limit. Only one row of the embedding is read,
so the rest is not counted.

llama.cpp gets a GGUF file with the same sizes in its format Q4_0, with other random weights; it rounds data
to 8 bits. It needs the packages ``llama-cpp-python``, built on this machine, and ``gguf``.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from networks import gguf_decoder


def tutorial() -> Any:
    """The tutorial module, which builds these models."""
    path = Path(__file__).parents[1] / "tutorials" / "17_decoder.py"
    spec = importlib.util.spec_from_file_location("decoder_tutorial", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


SIZES = {
    "tinyllama-1.1b": {
        "vocabulary": 32000, "hidden": 2048, "layers": 22, "heads": 32, "groups": 4, "inner": 5632
    },
    "qwen2.5-0.5b": {
        "vocabulary": 151936, "hidden": 896, "layers": 24, "heads": 14, "groups": 2, "inner": 4864
    },
    "small": {"vocabulary": 1000, "hidden": 256, "layers": 2, "heads": 8, "groups": 2, "inner": 704},
}  # fmt: skip

Step = Callable[[dict[str, np.ndarray]], np.ndarray]
"""A function from the inputs of a step to its scores."""


def int8_data(path: Path) -> Path:
    """Write the model with ``accuracy_level=4``."""
    import onnx

    rounded = path.with_suffix(".int8.onnx")
    if not rounded.exists():
        model = onnx.load(str(path))
        for node in model.graph.node:
            if node.op_type == "MatMulNBits":
                node.attribute.append(onnx.helper.make_attribute("accuracy_level", 4))
        onnx.save(model, str(rounded))
    return rounded


def ours(path: Path, threads: int, error_bound: float = 0.0) -> Step:
    """tvmlite with exact data."""
    import tvmlite
    from tvmlite import relay, runtime

    runtime.set_num_threads(threads)
    lib = tvmlite.compile(relay.frontend.from_onnx(str(path)), error_bound=error_bound)
    return lambda given: lib(**given)[0]


def ours_int8(path: Path, threads: int) -> Step:
    """tvmlite with data rounded to 8 bits."""
    return ours(int8_data(path), threads)


def ours_bound(path: Path, threads: int) -> Step:
    """tvmlite with an error bound: the data is rounded to 16 bits."""
    return ours(path, threads, 1e-4)


def onnxruntime(path: Path, threads: int) -> Step:
    """ONNX Runtime with exact data."""
    import onnxruntime as peer

    options = peer.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    session = peer.InferenceSession(str(path), options, ["CPUExecutionProvider"])
    return lambda given: session.run(None, given)[0]


def onnxruntime_int8(path: Path, threads: int) -> Step:
    """ONNX Runtime with data rounded to 8 bits."""
    return onnxruntime(int8_data(path), threads)


def openvino(path: Path, threads: int) -> Step:
    """OpenVINO with weights compressed as in the file. On processors with bfloat16 and VNNI it rounds by
    default: the data of products to 8 bits in groups of 32, keys and values to 8 bits, everything else to
    bfloat16."""
    import openvino as peer

    core = peer.Core()
    model = core.read_model(str(path))
    compiled = core.compile_model(model, "CPU", {"INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1})
    request = compiled.create_infer_request()

    def step(given: dict[str, np.ndarray]) -> np.ndarray:
        request.infer(given)
        return request.get_tensor("scores").data

    return step


PEERS: dict[str, Callable[[Path, int], Step]] = {
    "tvmlite-bound": ours_bound,
    "onnxruntime": onnxruntime,
    "onnxruntime-int8": onnxruntime_int8,
    "openvino": openvino,
}


LLAMA = "llama.cpp"


def bandwidth(buffer: np.ndarray, threads: int) -> float:
    """The bytes per second at which ``threads`` threads read ``buffer``, each a part of it, with numpy."""
    parts = np.array_split(buffer, threads)
    workers = [threading.Thread(target=part.max) for part in parts]
    start = time.perf_counter()
    for one in workers:
        one.start()
    for one in workers:
        one.join()
    return buffer.nbytes / (time.perf_counter() - start)


def _gap(found: np.ndarray, exact: np.ndarray) -> float:
    return float(np.linalg.norm(found - exact) / np.linalg.norm(exact))


def main() -> None:
    """Compare the runtimes and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--model", choices=SIZES, default="tinyllama-1.1b")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--past", type=int, default=32, help="tokens before this one")
    parser.add_argument("--rounds", type=int, default=12)
    usual = ["onnxruntime", "onnxruntime-int8"]
    parser.add_argument("--against", nargs="*", choices=[*PEERS, LLAMA], default=usual)
    parser.add_argument("--tokens", type=int, default=1, help="given at once: more than one are a prompt")
    parser.add_argument("--gigabytes", type=float, default=1.0, help="of the buffer that is read")
    args = parser.parse_args()
    made = tutorial()
    config = made.Config(**SIZES[args.model], length=2048)
    weights = config.layers * sum(n * k for n, k in config.weights()) + config.vocabulary * config.hidden
    read = weights / 2 + weights / 32 * 2
    random = np.random.default_rng(0)
    past = [
        random.standard_normal((1, config.groups, args.past, config.size), np.float32)
        for _ in range(2 * config.layers)
    ]
    given = made.inputs_of(config, random.integers(0, config.vocabulary, (1, args.tokens)), past)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "decoder.onnx"
        path.write_bytes(made.Builder(config, bits=4).model().SerializeToString())
        start = time.perf_counter()
        steps = {"tvmlite": ours(path, args.threads), "tvmlite-int8": ours_int8(path, args.threads)}
        print(f"compiled in {time.perf_counter() - start:.1f} s")
        steps |= {name: PEERS[name](path, args.threads) for name in args.against if name != LLAMA}
        if LLAMA in args.against:
            file = path.with_suffix(".gguf")
            gguf_decoder.write(config, file)
            steps[LLAMA] = gguf_decoder.step(file, args.past, args.tokens, args.threads)
        scores = {name: np.array(step(given)) for name, step in steps.items()}
        seconds: dict[str, list[float]] = {name: [] for name in steps}
        rates, buffer = [], np.ones(int(args.gigabytes * 2**28), np.float32)
        for _ in range(args.rounds):
            rates.append(bandwidth(buffer, args.threads))
            for name, step in steps.items():
                for _ in range(2):
                    start = time.perf_counter()
                    step(given)
                    seconds[name].append(time.perf_counter() - start)
    rate = statistics.median(rates)
    print(f"{args.model}: {weights / 1e6:.0f} million weights, {read / 1e6:.0f} MB read a token")
    print(f"threads {args.threads}, load {os.getloadavg()[0]:.1f}, bandwidth {rate / 1e9:.2f} GB/s", end=" ")
    print(f"(from {min(rates) / 1e9:.2f} to {max(rates) / 1e9:.2f})")
    base = statistics.median(seconds["tvmlite"])
    for name, times in seconds.items():
        middle = statistics.median(times)
        differs = (
            "other weights" if name == LLAMA else f"differs by {_gap(scores[name], scores['tvmlite']):.1e}"
        )
        took = f"{middle * 1e3:8.2f} ms, least {min(times) * 1e3:8.2f}; "
        took += f"{args.tokens / middle:6.1f} tokens a second"
        share = f"{read / middle / rate:6.1%} of the median bandwidth, "
        share += f"{read / min(times) / max(rates):6.1%} of the highest at its least time"
        if args.tokens > 1:
            share = f"{2e-9 * weights * args.tokens / middle:6.1f} G operations a second"
        print(f"{name:18} {took}; {share}; {middle / base:5.2f} of tvmlite; {differs}")


if __name__ == "__main__":
    main()
