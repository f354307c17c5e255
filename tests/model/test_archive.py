"""Archives in the manner of TVM's model library format: whole, reproducible, and refused when damaged."""

from __future__ import annotations

import json
import shutil
import subprocess
import tarfile
from pathlib import Path

import numpy as np
import pytest

import tvmlite
from tvmlite import relay, runtime
from tvmlite.core.errors import InputError, LibraryError
from tvmlite.relay.ir.nodes import Module

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
def test_a_program_is_built_of_what_is_in_it(target: str, tmp_path: Path) -> None:
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


def test_it_says_what_it_was_made_of(tmp_path: Path) -> None:
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


def test_its_digests_are_those_of_sha256sum(tmp_path: Path) -> None:
    if shutil.which("sha256sum") is None:
        pytest.skip("no sha256sum")
    with tarfile.open(archived(tmp_path)) as archive:
        archive.extractall(tmp_path, filter="data")
    subprocess.run(["sha256sum", "-c", "SHA256SUMS"], cwd=tmp_path, check=True, capture_output=True)


def test_the_same_model_gives_the_same_bytes(tmp_path: Path) -> None:
    first = archived(tmp_path).read_bytes()
    assert archived(tmp_path).read_bytes() == first


def test_a_flipped_bit_is_found_or_harmless(tmp_path: Path) -> None:
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
    assert refused > 80  # what else there is fills up blocks


def test_every_truncation_is_found(tmp_path: Path) -> None:
    path = archived(tmp_path)
    whole = path.read_bytes()
    end = whole.rindex(b"SHA256SUMS")
    for keep in (0, 100, 512, 5000, len(whole) // 2, end, end + 600):
        path.write_bytes(whole[:keep])
        with pytest.raises(LibraryError, match=r"net\.tar"):
            runtime.read_metadata(path)


def test_other_files_in_it_are_refused(tmp_path: Path) -> None:
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


def test_one_function_is_no_archive(tmp_path: Path) -> None:
    from tvmlite import te

    a = te.placeholder((4,), name="a")
    b = te.compute((4,), lambda i: a[i] + 1)
    with pytest.raises(InputError, match=r"expected an ending of \.so, \.wasm, \.a, \.o, \.c, \.h"):
        tvmlite.build(te.create_schedule(b.op), [a, b]).export(tmp_path / "f.tar")
