"""Compare a model in a browser: our WebAssembly and onnxruntime-web's, on one page, interleaved, on one
thread.

    npm install onnxruntime-web
    python benchmarks/web.py --peer node_modules/onnxruntime-web/dist
    python benchmarks/web.py --peer ... model.onnx --shape 1,3,224,224

The model is PP-OCRv4's text recognition (from the package rapidocr-onnxruntime) on a line of 48 by 320
pixels, unless another one is given, which must have one input. The script needs Chromium, the package
ziglang, and onnxruntime-web's files. The exit status is 1 if the outputs differ by more than a thousandth, or
if the peer takes less than 1.2 times our time.
"""

from __future__ import annotations

import argparse
import functools
import http.server
import importlib.util
import json
import os
import queue
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

import onnx

import tvmlite
from tvmlite.relay.frontend import from_onnx

BAR = 1.2
TOLERANCE = 1e-3
HERE = Path(__file__).parent / "web"
FILES = ("ort.wasm.min.mjs", "ort-wasm-simd-threaded.mjs", "ort-wasm-simd-threaded.wasm")
BROWSER = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]


class Handler(http.server.SimpleHTTPRequestHandler):
    """Serves files, and stores the data that the page sends."""

    server: Server

    def do_POST(self) -> None:
        """Store the result."""
        self.server.results.put(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Print nothing."""


class Server(http.server.ThreadingHTTPServer):
    """Serves ``folder`` to this machine."""

    def __init__(self, folder: Path) -> None:
        super().__init__(("localhost", 0), functools.partial(Handler, directory=folder))
        self.results: queue.Queue[bytes] = queue.Queue()


def in_browser(folder: Path, seconds: float = 300) -> dict[str, Any]:
    """Open the page of ``folder`` in a browser, and return the data that its script sends at the end."""
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if browser is None:
        sys.exit("there is no Chromium")
    with Server(folder) as server, tempfile.TemporaryDirectory() as profile:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://localhost:{server.server_port}/"
        command = [browser, *BROWSER, f"--user-data-dir={profile}", "--remote-debugging-port=0", address]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            return json.loads(server.results.get(timeout=seconds))
        except queue.Empty:
            sys.exit(f"the page sent nothing in {seconds:.0f} s")
        finally:
            process.terminate()
            process.wait()
            server.shutdown()


def recognition() -> onnx.ModelProto:
    """PP-OCRv4's text recognition."""
    found = importlib.util.find_spec("rapidocr_onnxruntime")
    if found is None or found.origin is None:
        sys.exit("the model comes with a package: pip install rapidocr-onnxruntime")
    return onnx.load(Path(found.origin).parent / "models" / "ch_PP-OCRv4_rec_infer.onnx")


def main() -> int:
    """Print medians and their ratio."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", nargs="?", type=Path)
    parser.add_argument("--peer", type=Path, required=True, help="onnxruntime-web's folder dist")
    parser.add_argument("--shape", default="1,3,48,320", help="of the input")
    parser.add_argument("--rounds", type=int, default=20)
    options = parser.parse_args()
    model = recognition() if options.model is None else onnx.load(options.model)
    shape = [int(extent) for extent in options.shape.split(",")]
    (name,) = (value.name for value in model.graph.input)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for file in FILES:
            shutil.copy(options.peer / file, folder)
        shutil.copytree(HERE, folder, dirs_exist_ok=True)
        onnx.save(model, folder / "model.onnx")
        settings = {"rounds": options.rounds, "input": name, "shape": shape}
        (folder / "settings.json").write_text(json.dumps(settings))
        module = from_onnx(model, shape={name: tuple(shape)})
        tvmlite.compile(module, target="wasm", name="model").export(folder / "model.wasm")
        found = in_browser(folder)
    ours, peer = (statistics.median(found[key][2:]) for key in ("ours", "peer"))
    least_ours, least_peer = (min(found[key][2:]) for key in ("ours", "peer"))
    print(f"load {os.getloadavg()[0]:.1f}, medians of {options.rounds - 2} rounds, one thread")
    print(f"tvmlite          {ours:8.2f} ms, loaded in {found['loadOurs']:.0f} ms")
    print(f"onnxruntime-web  {peer:8.2f} ms, loaded in {found['loadPeer']:.0f} ms; {peer / ours:.2f} of ours")
    print(f"least times: {least_ours:.2f} and {least_peer:.2f} ms; {least_peer / least_ours:.2f} of ours")
    print(f"outputs differ by {found['gap']:.1e} of the largest")
    return int(found["gap"] > TOLERANCE or peer / ours < BAR)


if __name__ == "__main__":
    sys.exit(main())
