"""Small helpers next to executors and tuners: temporary folders, products, counts of operations."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tvmlite.tvm as tvm
from tvmlite.core.errors import TvmliteError
from tvmlite.tvm import auto_scheduler, autotvm, te, testing, topi
from tvmlite.tvm.contrib import cblas, utils


def flops(out: te.Tensor) -> int:
    return autotvm.task.compute_flop(te.create_schedule(out.op))


def test_operations_are_counted_as_tvm_counts_them() -> None:
    a, b = te.placeholder((6, 8)), te.placeholder((8, 5))
    k, r = te.reduce_axis((0, 8)), te.reduce_axis((0, 2))
    wide = te.placeholder((6, 8), "int8")

    assert flops(te.compute((6, 5), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k))) == 2 * 6 * 5 * 8
    products = te.compute(
        (6, 5), lambda i, j: te.sum(wide[i, k].astype("int32") * b[k, j].astype("int32"), axis=k)
    )
    assert flops(products) == 2 * 6 * 5 * 8
    assert flops(te.compute((6, 4), lambda i, j: te.max(a[i, j * 2 + r], axis=r))) == 6 * 4 * 2
    compared = te.compute((6, 8), lambda i, j: te.if_then_else(a[i, j] > 0, a[i, j], 0.0))
    assert flops(compared) == 48
    chosen = te.compute((6, 8), lambda i, j: tvm.tir.Select(a[i, j] > 0, a[i, j] + 1, a[i, j] * 2 + 3))
    assert flops(chosen) == 48 * 3


def test_a_stage_counts_once_for_each_reader() -> None:
    a = te.placeholder((4,))
    b = te.compute((4,), lambda i: a[i] + 1)
    c, d = te.compute((4,), lambda i: b[i] * 2), te.compute((4,), lambda i: b[i] * 3)

    assert flops(te.compute((4,), lambda i: c[i] + d[i])) == 4 * (1 + 2 * 2)


def test_error_of_uncountable_operations_says_why() -> None:
    n = te.var("n")
    a, b = te.placeholder((4,)), te.placeholder((n,))

    for out, why in (
        (te.compute((4,), lambda i: te.exp(a[i])), "it only moves data"),
        (te.compute((n,), lambda i: b[i] + 1), "an extent is not known"),
        (cblas.matmul(te.placeholder((2, 3)), te.placeholder((3, 2))), "the stage 'C' is given as loops"),
    ):
        with pytest.raises(RuntimeError, match=f"operations of a computation cannot be counted: {why}"):
            flops(out)


def test_a_temporary_folder_is_kept_on_request(tmp_path: Path) -> None:
    folder = utils.tempdir(str(tmp_path / "own"))
    Path(folder / "x").write_text("1")
    assert folder.listdir() == ["x"]
    assert Path(folder.path).name == "own"
    folder.remove()
    assert not (tmp_path / "own").exists()

    with utils.TempDirectory.set_keep_for_debug():
        kept = utils.tempdir()
    gone = utils.tempdir()
    paths = Path(kept.path), Path(gone.path)
    del gone
    assert [one.exists() for one in paths] == [True, False]
    kept.remove()


def test_cblas_multiplies_batches_of_matrices() -> None:
    a, b = (np.random.default_rng(n).random((3, 4, 4)).astype("f4") for n in (0, 1))
    x, y = te.placeholder(a.shape, name="x"), te.placeholder(b.shape, name="y")
    out = cblas.batch_matmul(x, y, transa=True)

    found = tvm.build(te.create_schedule(out.op), [x, y, out])(a, b)
    np.testing.assert_allclose(found, a.transpose(0, 2, 1) @ b, rtol=1e-5)
    with pytest.raises(TvmliteError, match="batch_matmul: options"):
        cblas.batch_matmul(x, y, library="mkl")


def test_names_used_at_the_start_of_tutorials_exist() -> None:
    testing.install_request_hook(depth=3)

    assert auto_scheduler.HardwareParams(4, 64, target="llvm").num_cores == 4
    assert autotvm.apply_graph_best is autotvm.ApplyGraphBest
    array = tvm.nd.array(np.arange(3))
    assert tvm.nd.from_dlpack(array.to_dlpack()).handle == array.handle
    assert topi.utils.nchw_pack_layout("NCHW1n16c")
    assert topi.utils.nchw_xc_layout("NCHW16c")
    assert not topi.utils.nchw_xc_layout("NHWC")
