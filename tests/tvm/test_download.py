"""``tvm.contrib.download`` fetches files once, completely or not at all."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tvmlite.core.errors import ExecutionError, InputError
from tvmlite.tvm.contrib import download as module
from tvmlite.tvm.contrib.download import download, download_testdata

CONTENT = b"a picture of a cat"


class Server(http.server.BaseHTTPRequestHandler):
    """Serves ``CONTENT`` under every name; ``/short`` is truncated, the first ``/later`` is an error."""

    asked: list[str] = []  # noqa: RUF012  (emptied by the fixture)

    def do_GET(self) -> None:
        """Answer, and record the request."""
        self.asked.append(f"{self.command} {self.path}")
        if self.path == "/later" and self.asked.count("GET /later") == 1:
            self.send_error(503)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(CONTENT)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(CONTENT[: 5 if self.path == "/short" else None])

    do_HEAD = do_GET

    def log_message(self, format: str, *args: object) -> None:
        """Nothing is printed."""


@pytest.fixture
def url() -> Iterator[str]:
    Server.asked.clear()
    with http.server.ThreadingHTTPServer(("localhost", 0), Server) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        yield f"http://localhost:{server.server_port}"
        server.shutdown()


def test_a_file_is_fetched_once(url: str, tmp_path: Path) -> None:
    file = tmp_path / "new" / "cat.png"

    download(f"{url}/cat.png", file)
    download(f"{url}/cat.png", str(file))

    assert file.read_bytes() == CONTENT
    assert Server.asked == ["GET /cat.png"]
    assert list(file.parent.iterdir()) == [file]


def test_a_file_is_fetched_again_on_request_or_if_its_size_differs(url: str, tmp_path: Path) -> None:
    file = tmp_path / "cat.png"
    file.write_bytes(b"a dog")

    download(f"{url}/cat.png", file, size_compare=True)
    assert file.read_bytes() == CONTENT

    download(f"{url}/cat.png", file, size_compare=True)
    download(f"{url}/cat.png", file, overwrite=True)
    assert Server.asked == [f"{verb} /cat.png" for verb in ("HEAD", "GET", "HEAD", "GET")]


def test_a_failed_attempt_is_repeated_with_a_warning(url: str, tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="download: attempt 1 of 3 failed: HTTP Error 503"):
        download(f"{url}/later", tmp_path / "cat.png")

    assert (tmp_path / "cat.png").read_bytes() == CONTENT


def test_an_incomplete_download_is_an_error_and_leaves_no_file(url: str, tmp_path: Path) -> None:
    with pytest.raises(ExecutionError, match=r"/short was not fetched: 5 of 18 bytes came") as raised:
        download(f"{url}/short", tmp_path / "cat.png", retries=1)

    assert raised.value.hint == f"put the file at {tmp_path / 'cat.png'}, and it is taken from there"
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_url_scheme_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="'ftp://a/b', expected one of http, https, file"):
        download("ftp://a/b", tmp_path / "b")


def test_test_data_are_kept_in_a_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(module, "TEST_DATA_ROOT_PATH", tmp_path / "data")
    (tmp_path / "cat").write_bytes(CONTENT)
    address = (tmp_path / "cat").as_uri()

    found = download_testdata(address, "cat.png", module=["a", "b"])
    (tmp_path / "cat").unlink()

    assert found == str(tmp_path / "data" / "a" / "b" / "cat.png")
    assert download_testdata(address, "b/cat.png", module="a") == found
    assert Path(found).read_bytes() == CONTENT


@pytest.mark.parametrize(
    ("relpath", "folder"), [("../cat", None), ("/cat", "data"), ("cat", "../.."), ("", None)]
)
def test_a_path_out_of_the_folder_is_an_error(
    relpath: str, folder: str | None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(module, "TEST_DATA_ROOT_PATH", tmp_path / "data")

    with pytest.raises(InputError, match="is not a file below"):
        download_testdata("file:///cat", relpath, folder)
