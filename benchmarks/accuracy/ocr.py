"""Text recognition: lines of text drawn in real fonts, read by PP-OCRv4."""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import onnx
from PIL import Image, ImageDraw, ImageFont

from accuracy.task import Task
from tvmlite import relay

FONTS = (
    "DejaVuSans",
    "DejaVuSerif",
    "DejaVuSansMono",
    "DejaVuSans-Bold",
    "DejaVuSerif-Italic",
    "STIXGeneral",
)
HEIGHT, LINES, CALIBRATION = 48, 120, 32
WORDS = (
    "invoice total amount paid customer number street garden window river mountain yellow orange silver "
    "quick brown fox jumps over lazy dogs while seven wizards brew strange potions beneath an old bridge "
    "Berlin Paris London Tokyo March April October Monday Friday receipt balance account delivery express"
).split()


def task() -> Task:
    """Lines of three words or numbers each, none of them used for both calibration and score."""
    file = resources.files("rapidocr_onnxruntime") / "models" / "ch_PP-OCRv4_rec_infer.onnx"
    model = onnx.load(str(file))
    entry = next(one.value for one in model.metadata_props if one.key == "character")
    characters = ["", *entry.splitlines(), " "]
    rng = np.random.default_rng(0)
    texts = list(dict.fromkeys(_text(rng) for _ in range(LINES + CALIBRATION)))
    lines = [(text, _drawn(text, FONTS[k % len(FONTS)], rng)) for k, text in enumerate(texts)]
    module = relay.frontend.from_onnx(model, shape={"x": (1, 3, HEIGHT, "w")})
    data = [{"x": image} for _, image in lines[:CALIBRATION]]
    scored = lines[CALIBRATION:]

    def right(read: Any, some: list[tuple[str, np.ndarray]]) -> float:
        wrong = sum(_distance(text, _decoded(read(image), characters)) for text, image in some)
        return 1 - wrong / sum(len(text) for text, _ in some)

    return Task(
        f"1 - character error rate on {len(scored)} lines",
        module,
        data,
        lambda lib: right(lib, scored),
        0.005,
        lambda run: right(lambda image: run({"x": image})[0], lines[:CALIBRATION]),
    )


def _text(rng: np.random.Generator) -> str:
    words = list(rng.choice(WORDS, 3, replace=False))
    if rng.random() < 0.5:
        words[int(rng.integers(3))] = str(int(rng.integers(1000, 99999)))
    return " ".join(words)


def _drawn(text: str, font: str, rng: np.random.Generator) -> np.ndarray:
    """The line as the model's input: from -1 to 1, three equal channels, with some noise."""
    path = Path(matplotlib.get_data_path()) / "fonts" / "ttf" / f"{font}.ttf"
    drawn = ImageFont.truetype(str(path), 30)
    left, top, right, bottom = drawn.getbbox(text)
    image = Image.new("L", (int(right - left) + 24, HEIGHT), 255)
    ink = int(rng.integers(0, 80))
    ImageDraw.Draw(image).text((12 - left, (HEIGHT - (bottom - top)) // 2 - top), text, ink, drawn)
    values = np.asarray(image, np.float32) + rng.normal(0, 6, (HEIGHT, image.width))
    values = np.clip(values, 0, 255) / 127.5 - 1
    width = -(-image.width // 32) * 32
    padded = np.zeros((1, 3, HEIGHT, width), np.float32)
    padded[..., : image.width] = values
    return padded


def _decoded(scores: np.ndarray, characters: list[str]) -> str:
    """The text of the best classes: repeated characters count once, the blank (0) counts as none."""
    best = np.argmax(scores[0], axis=-1)
    kept = [k for k, one in enumerate(best) if one and (not k or best[k - 1] != one)]
    return "".join(characters[best[k]] for k in kept)


def _distance(one: str, other: str) -> int:
    """Levenshtein's distance."""
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        before, row[0] = row[0], i
        for j, b in enumerate(other, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (a != b))
    return row[-1]
