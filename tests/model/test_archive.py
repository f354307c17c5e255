"""Archives similar to TVM's model library format: complete, reproducible, and refused when damaged."""

from __future__ import annotations

import json
import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path

import numpy as np
import pytest

import tvmlite
from tvmlite import relay, runtime
from tvmlite.core.errors import InputError, LibraryError
from tvmlite.relay.ir.nodes import Module
from tvmlite.runtime.library import link, model_library

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")

MAIN = """
#include <stdio.h>
#include "net.h"
static float x[2 * 8], y[2 * 3];
static _Alignas(64) char workspace[1 << 12];
int main(void) {
    for (int i = 0; i < 16; i++) x[i] = (float)i / 8;
    if (net(x, y, workspace, 1, 0) != 0) return 1;
    for (int i = 0; i < 6; i++) printf("%.9g\\n", y[i]);
    return 0;
}
"""


RNG = np.random.default_rng(0)
FIRST, SECOND = (RNG.standard_normal(shape).astype("float32") for shape in ((4, 8), (3, 4)))


def network() -> Module:
    x = relay.var("x", shape=(2, 8), dtype="float32")
    hidden = relay.nn.relu(relay.nn.dense(x, relay.const(FIRST)))
    return relay.IRModule.from_expr(relay.Function((x,), relay.nn.dense(hidden, relay.const(SECOND))))


def archived(folder: Path, target: str = "native") -> Path:
    path = folder / "net.tar"
    tvmlite.compile(network(), target=target, name="net").export(path)
    return path


@pytest.mark.parametrize("target", ["native", "c"])
def test_a_c_program_is_built_from_an_archive(target: str, tmp_path: Path) -> None:
    with tarfile.open(archived(tmp_path, target)) as archive:
        archive.extractall(tmp_path, filter="data")
    (tmp_path / "main.c").write_text(MAIN)
    host = tmp_path / "codegen" / "host"
    code = [host / "lib" / "net.a"] if target == "native" else sorted((host / "src").glob("*.c"))
    build = ["cc", "-std=c11", "-O1", "-march=native", f"-I{host / 'include'}", "main.c", *map(str, code)]
    subprocess.run([*build, "-lm", "-lpthread", "-o", "main"], cwd=tmp_path, check=True)
    made = subprocess.run(["./main"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout

    x = (np.arange(16) / 8).astype("float32").reshape(2, 8)
    np.testing.assert_allclose(
        np.array(made.split(), np.float32).reshape(2, 3),
        np.maximum(x @ FIRST.T, 0) @ SECOND.T,
        rtol=1e-5,
        atol=1e-6,
    )


def test_an_archive_contains_the_module_and_its_records(tmp_path: Path) -> None:
    path = archived(tmp_path)
    with tarfile.open(path) as archive:
        names = archive.getnames()
        text = archive.extractfile("src/relay.txt").read().decode()  # type: ignore[union-attr]
        records = json.loads(archive.extractfile("records.json").read())  # type: ignore[union-attr]
    assert names[0] == "metadata.json"
    assert names[-1] == "SHA256SUMS"
    assert "nn.relu" in text
    assert [row["operators"] for row in records["kernels"]] == [
        ["nn.contrib_dense_pack", "nn.relu"],
        ["nn.contrib_dense_pack"],
    ]
    assert runtime.read_metadata(path)["input_names"] == ["x"]


def test_digests_of_an_archive_pass_sha256sum(tmp_path: Path) -> None:
    if shutil.which("sha256sum") is None:
        pytest.skip("no sha256sum")
    with tarfile.open(archived(tmp_path)) as archive:
        archive.extractall(tmp_path, filter="data")
    subprocess.run(["sha256sum", "-c", "SHA256SUMS"], cwd=tmp_path, check=True, capture_output=True)


def test_the_same_model_gives_the_same_bytes(tmp_path: Path) -> None:
    first = archived(tmp_path).read_bytes()
    assert archived(tmp_path).read_bytes() == first


def test_a_flipped_bit_is_detected_or_harmless(tmp_path: Path) -> None:
    path = archived(tmp_path)
    whole, expected = bytearray(path.read_bytes()), runtime.read_metadata(path)
    rng = np.random.default_rng(0)
    refused = 0
    for place in rng.integers(0, len(whole), 200).tolist():
        bit = 1 << int(rng.integers(8))
        whole[place] ^= bit
        path.write_bytes(whole)
        try:
            assert runtime.read_metadata(path) == expected
        except LibraryError:
            refused += 1
        whole[place] ^= bit
    assert refused > 80  # the rest is padding of blocks


def test_every_truncation_is_detected(tmp_path: Path) -> None:
    path = archived(tmp_path)
    whole = path.read_bytes()
    end = whole.rindex(b"SHA256SUMS")
    for keep in (0, 100, 512, 5000, len(whole) // 2, end, end + 600):
        path.write_bytes(whole[:keep])
        with pytest.raises(LibraryError, match=r"net\.tar"):
            runtime.read_metadata(path)


def test_an_archive_with_extra_files_is_refused(tmp_path: Path) -> None:
    path = archived(tmp_path)
    for name, kind in (
        ("../evil", tarfile.REGTYPE),
        ("link", tarfile.SYMTYPE),
        ("metadata.json", tarfile.REGTYPE),
    ):
        shutil.copy(path, tmp_path / "more.tar")
        with tarfile.open(tmp_path / "more.tar", "a") as archive:
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname = kind, "/etc/passwd" if kind == tarfile.SYMTYPE else ""
            archive.addfile(entry)
        with pytest.raises(LibraryError, match="is damaged"):
            runtime.read_metadata(tmp_path / "more.tar")


@pytest.mark.parametrize("target", ["native", "c"])
def test_an_archive_is_loaded_like_a_shared_library(target: str, tmp_path: Path) -> None:
    lib = runtime.load(archived(tmp_path, target))
    x = RNG.standard_normal((2, 8)).astype("float32")
    np.testing.assert_allclose(lib(x), np.maximum(x @ FIRST.T, 0) @ SECOND.T, rtol=1e-5, atol=1e-6)
    assert lib.input_names == ("x",)
    assert len(lib.profile(x).kernels) == 2


def test_loading_leaves_no_files_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = archived(tmp_path)
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    runtime.load(path)
    assert list((tmp_path / "temporary").iterdir()) == []
    assert sorted(one.name for one in tmp_path.iterdir()) == ["net.tar", "temporary"]


def test_an_archive_for_another_machine_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LibraryError, match=r"net\.tar is source for a machine without an operating system"):
        runtime.load(archived(tmp_path, "c -system=none"))
    path = archived(tmp_path)
    text, files = model_library.read_code(path)
    fields = json.loads(text) | {"target": "llvm -mtriple=sparc-sun-solaris"}
    rewritten(path, fields, files)
    with pytest.raises(LibraryError, match=r"net\.tar is for sparc-sun-solaris, which is another kind"):
        runtime.load(path)


def test_loading_an_archive_without_a_linker_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = archived(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(link, "has_zig", lambda: False)
    with pytest.raises(LibraryError, match=r"there is no linker on this machine"):
        runtime.load(path)


def rewritten(path: Path, fields: dict[str, object], files: dict[str, bytes]) -> None:
    """Write the archive ``path`` with other metadata and code files, and valid digests."""
    named = {f"codegen/host/lib/{name}": content for name, content in files.items()}
    model_library.write(path, {"metadata.json": json.dumps(fields).encode(), **named})


@pytest.mark.parametrize(
    ("files", "text"),
    [
        ({}, "has neither one static library nor C source"),
        ({"a.a": b"", "b.a": b""}, "has neither one static library nor C source"),
        ({"-o.c": b"int x;"}, r"is damaged: '-o\.c' is no name of a source"),
        ({"net.a": b"!<arch>\nrubbish"}, "linking .* failed"),
        ({"net.c": b"#error of mine"}, "compiling net.c of .*of mine"),
    ],
)
def test_archives_with_unexpected_code_are_refused(
    files: dict[str, bytes], text: str, tmp_path: Path
) -> None:
    path = archived(tmp_path)
    fields = json.loads(model_library.read_code(path)[0])
    rewritten(path, fields, files)
    with pytest.raises(LibraryError, match=f"(?s)(net|model).*{text}|{text}"):
        runtime.load(path)


def test_an_archive_with_a_sparse_file_is_refused(tmp_path: Path) -> None:
    path = archived(tmp_path)
    with tarfile.open(path, "a") as archive:
        entry = tarfile.TarInfo("codegen/host/lib/huge.a")
        entry.type, entry.size = tarfile.GNUTYPE_SPARSE, 0
        archive.addfile(entry)
    with pytest.raises(LibraryError, match="is damaged"):
        runtime.load(path)


def test_a_member_larger_than_the_archive_is_refused(tmp_path: Path) -> None:
    path = archived(tmp_path)
    whole = bytearray(path.read_bytes())
    whole[124:136] = b"77777777777\0"  # the size of the first file, in octal
    checksum = sum(whole[:148]) + 8 * 32 + sum(whole[156:512])
    whole[148:156] = f"{checksum:06o}\0 ".encode()
    path.write_bytes(whole)
    with pytest.raises(LibraryError, match=r"net\.tar is (damaged|truncated)"):
        runtime.load(path)


def test_a_single_function_cannot_be_exported_as_an_archive(tmp_path: Path) -> None:
    from tvmlite import te

    a = te.placeholder((4,), name="a")
    b = te.compute((4,), lambda i: a[i] + 1)
    with pytest.raises(
        InputError, match=r"expected an ending of \.so, \.dll, \.dylib, \.wasm, \.a, \.o, \.c, \.h"
    ):
        tvmlite.build(te.create_schedule(b.op), [a, b]).export(tmp_path / "f.tar")
