"""A network in a web page
=======================

In this tutorial, a network reads a line of text that is drawn, typed or pasted. It runs as WebAssembly in the
browser.

Run it::

    pip install '.[docs]'
    python tutorials/18_web_page.py
    python tutorials/18_web_page.py --output page --no-serve

The network is PP-OCRv4's text recognition, from the package rapidocr-onnxruntime, which is available for
Python up to 3.12. It is compiled once for images of any width: short lines take less time than long ones. The
page is plain HTML and JavaScript: see ``18_web_page/``.
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

import numpy as np
import onnx

import tvmlite
from tvmlite.relay.frontend import from_onnx

HEIGHT = 48
PAGE = Path(sys.argv[0]).with_suffix("")  # the folder beside this script

# %%
# The network
# -----------
#
# The package contains an ONNX file. Its input is an image with three channels, 48 pixels high and as wide as
# the line. We give the width a *name* instead of a number, so it remains a symbolic dimension, whose size is
# known only when the model runs.


def network() -> onnx.ModelProto:
    """The network; its metadata contains the characters that it knows."""
    found = importlib.util.find_spec("rapidocr_onnxruntime")
    if found is None or found.origin is None:
        sys.exit("the network comes with a package: pip install rapidocr-onnxruntime")
    return onnx.load(Path(found.origin).parent / "models" / "ch_PP-OCRv4_rec_infer.onnx")


def imported(model: onnx.ModelProto) -> tvmlite.relay.Module:
    """The network as a graph, for one line of any width."""
    (name,) = (value.name for value in model.graph.input)
    return from_onnx(model, shape={name: (1, 3, HEIGHT, "width")})


def characters(model: onnx.ModelProto) -> list[str]:
    """The characters of the network's classes, from class 1 on; class 0 means "nothing"."""
    (text,) = (entry.value for entry in model.metadata_props if entry.key == "character")
    return [*text.splitlines(), " "]


# %%
# The page
# --------
#
# With ``target="wasm"``, ``export`` writes a WebAssembly module, and the file ``tvmlite.js``, which runs it.
# The page's own script draws the image, calls the network, and looks up the characters of the classes. No
# data leaves the browser.


def write_page(folder: Path) -> None:
    """Write the page, the network, and the script that runs it into ``folder``."""
    model = network()
    lib = tvmlite.compile(imported(model), target="wasm", name="reading")
    shutil.copytree(PAGE, folder, dirs_exist_ok=True)
    lib.export(folder / "reading.wasm")  # and tvmlite.js
    (folder / "characters.json").write_text(json.dumps(characters(model), ensure_ascii=False))
    size = (folder / "reading.wasm").stat().st_size
    print(f"{folder.name}: {len(lib.kernel_names)} kernels, {size / 1e6:.1f} MB")
    for file in sorted(folder.iterdir()):
        print(f"{file.stat().st_size:10} bytes  {file.name}")


def serve(folder: Path, port: int) -> None:
    """Show the page until Ctrl-C."""
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=folder)
    with http.server.ThreadingHTTPServer(("localhost", port), handler) as server:
        print(f"open http://localhost:{server.server_port}/ (Ctrl-C ends)")
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--output", type=Path, default=Path("page"), help="the folder (default: page)")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--serve", action=argparse.BooleanOptionalAction, default=True)
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    write_page(options.output)

# %%
# What the network sees
# ---------------------
#
# Here the same network is compiled for this machine. The line is rendered by matplotlib. For each piece of 8
# pixels, the network computes a score for each character that it knows, and one for "nothing". The picture
# shows the line, and below it the scores of the characters that occur. To read the line, take the best class
# of each piece, remove repetitions, then remove "nothing".


def line_of(text: str) -> np.ndarray:
    """``text`` as an image ``(HEIGHT, width)``, black on white, from 0 to 1."""
    figure = plt.Figure(figsize=(len(text) * 0.25 + 0.4, 0.48), dpi=100)
    figure.text(0.5, 0.46, text, fontsize=24, ha="center", va="center", family="DejaVu Sans")
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())[:HEIGHT, :, 0].astype("float32") / 255


def as_input(image: np.ndarray) -> np.ndarray:
    """The network's input: three equal channels, from -1 to 1."""
    return np.ascontiguousarray(np.broadcast_to((image - 0.5) / 0.5, (1, 3, *image.shape)), "float32")


if __name__ == "__main__":
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from pictures import OURS, plt, show

    model = network()
    known = ["", *characters(model)]
    native = tvmlite.compile(imported(model), name="reading")
    image = line_of("tvmlite reads 2026")
    scores = native(as_input(image))[0]
    best = scores.argmax(axis=1)
    pieces = [place for place, one in enumerate(best) if place == 0 or one != best[place - 1]]
    print("read:", "".join(known[best[place]] for place in pieces))

    seen = [one for one in dict.fromkeys(best.tolist()) if one]
    figure, (top, below) = plt.subplots(2, 1, figsize=(7, 4.2), height_ratios=[1, 4])
    top.imshow(image, cmap="gray", aspect="auto")
    top.set_axis_off()
    below.imshow(scores[:, seen].T, aspect="auto", cmap="YlGnBu")
    below.set_yticks(range(len(seen)), [known[one] if known[one] != " " else "space" for one in seen])
    below.set_xlabel("piece of the line, from left to right")
    below.set_title("scores of the characters that occur")

# %%
# One library, any width
# ----------------------
#
# The time grows with the width, as it should: no line is padded to a maximum length. A library with fixed
# shapes would need the time of the widest line for every line.

if __name__ == "__main__":
    widths = [64, 128, 192, 256, 384, 512]
    times = [min(native.time(as_input(np.ones((HEIGHT, width))), budget=0.15).runs) * 1e3 for width in widths]
    figure = plt.figure(figsize=(6, 2.6))
    axes = figure.gca()
    axes.plot(widths, times, "o-", color=OURS)
    axes.set_ylim(0)
    axes.set_xlabel("width of the line, pixels")
    axes.set_ylabel("milliseconds, this machine")
    print({width: f"{time:.2f} ms" for width, time in zip(widths, times, strict=True)})
    show()
    if options.serve:
        serve(options.output, options.port)

# %%
# Exercises
# ---------
#
# 1. Open the page, and type a line with a character that the network does not know. What do its scores look
#    like?
# 2. Compile the page's network with ``from_onnx(..., shape={...: (1, 3, 48, 320)})``. How large and how fast
#    is it, and what can it no longer do?
#
# .. raw:: html
#
#     <details><summary>Answers</summary>
#
# 1. The network has only its own classes, so it chooses the most similar character, or none, with a low
#    score.
# 2. It has about the same size, since nearly all of it is weights, and needs the time of a line of 320 pixels
#    for every line. Longer lines must be scaled down, and shorter ones padded.
#
# .. raw:: html
#
#     </details>
