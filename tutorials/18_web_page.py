"""A network in a web page
=======================

It reads a line that is drawn, typed or pasted, by WebAssembly in the browser.

    pip install 'tvmlite[cross,onnx]' rapidocr-onnxruntime
    python tutorials/18_web_page.py
    python tutorials/18_web_page.py --output page --no-serve

The network is PP-OCRv4's text recognition, of the package rapidocr-onnxruntime. It is compiled once for
images of any width: short lines take less time than long ones. The page is plain HTML and JavaScript: look at
``18_web_page/``.
"""

from __future__ import annotations

import argparse
import functools
import http.server
import importlib.util
import json
import shutil
import sys
from pathlib import Path

import onnx

import tvmlite
from tvmlite.relay.frontend import from_onnx

HEIGHT = 48
PAGE = Path(__file__).with_suffix("")


def network() -> onnx.ModelProto:
    """The network, whose metadata has the characters that it knows."""
    found = importlib.util.find_spec("rapidocr_onnxruntime")
    if found is None or found.origin is None:
        sys.exit("the network comes with a package: pip install rapidocr-onnxruntime")
    return onnx.load(Path(found.origin).parent / "models" / "ch_PP-OCRv4_rec_infer.onnx")


def write_page(folder: Path) -> None:
    """Write the page, the network, and what runs it into ``folder``."""
    model = network()
    (name,) = (value.name for value in model.graph.input)
    module = from_onnx(model, shape={name: (1, 3, HEIGHT, "width")})
    lib = tvmlite.compile(module, target="wasm", name="reading")
    shutil.copytree(PAGE, folder, dirs_exist_ok=True)
    lib.export(folder / "reading.wasm")  # and tvmlite.js
    (text,) = (entry.value for entry in model.metadata_props if entry.key == "character")
    (folder / "characters.json").write_text(json.dumps([*text.splitlines(), " "], ensure_ascii=False))
    size = (folder / "reading.wasm").stat().st_size
    print(f"{folder}: {len(lib.kernel_names)} kernels, {size / 1e6:.1f} MB")


def main() -> None:
    """Write the page, and show it until Ctrl-C."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--output", type=Path, default=Path("page"), help="the folder (default: page)")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--serve", action=argparse.BooleanOptionalAction, default=True)
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    write_page(options.output)
    if options.serve:
        handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=options.output)
        with http.server.ThreadingHTTPServer(("localhost", options.port), handler) as server:
            print(f"open http://localhost:{options.port}/ (Ctrl-C ends)")
            try:
                server.serve_forever()
            except KeyboardInterrupt:
                print()


if __name__ == "__main__":
    main()
