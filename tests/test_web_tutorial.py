"""The page of the tutorial in a real browser recognises the text typed there."""

from __future__ import annotations

import functools
import http.server
import importlib.util
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

TUTORIAL = Path(__file__).parents[1] / "tutorials" / "18_web_page.py"
BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
OPTIONS = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
OPTIONS += ["--disable-quic", "--disable-component-update", "--disable-sync"]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(BROWSER is None, reason="no Chromium"),
    pytest.mark.skipif(importlib.util.find_spec("ziglang") is None, reason="no ziglang"),
    pytest.mark.skipif(importlib.util.find_spec("rapidocr_onnxruntime") is None, reason="no rapidocr"),
]


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("page")
    subprocess.run([sys.executable, str(TUTORIAL), "--output", str(folder), "--no-serve"], check=True)
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=folder)
    with http.server.ThreadingHTTPServer(("localhost", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://localhost:{server.server_port}/"
        server.shutdown()


@pytest.mark.parametrize("text", ["Hello 2026", "a longer line, of several words", ""])
def test_the_page_recognises_a_line_of_text(address: str, text: str, tmp_path: Path) -> None:
    page = f"{address}?text={text.replace(' ', '%20')}"
    command = [
        str(BROWSER),
        *OPTIONS,
        f"--user-data-dir={tmp_path}",
        "--virtual-time-budget=60000",
        "--dump-dom",
        page,
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=180, check=True)
    read, said = (re.search(rf'id="{name}"[^>]*>([^<]*)<', done.stdout) for name in ("read", "time"))

    assert read is not None
    assert said is not None
    assert read[1].replace(" ", "") == text.replace(" ", "")
    assert re.fullmatch(r"[\d.]+ ms, \d+% sure" if text else "Nothing is written yet.", said[1])
