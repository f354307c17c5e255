"""``tvm.te``'s declarations: tags, thread axes, groups, operators on tensors, windows."""

from __future__ import annotations

import json
import pickle
from typing import Any

import numpy as np
import pytest

import tvmlite.te
import tvmlite.tvm as tvm
from tvmlite.core.errors import (
    InputError,
    ScheduleError,
    TargetError,
    TensorExpressionError,
    UnsupportedError,
)
from tvmlite.tvm import te


def chain() -> tuple[Any, Any, Any]:
    a = te.placeholder((12, 8), name="a")
    b = te.compute(a.shape, lambda i, j: a[i, j] + 1, name="b")
    return a, b, te.compute(a.shape, lambda i, j: b[i, j] * 2, name="c")


def test_tag_scope_tags_everything_declared_in_it() -> None:
    a = te.placeholder((4,), name="a")
    with te.tag_scope("row"):
        b = te.compute((4,), lambda i: a[i] + 1)
        c = te.extern((4,), [a], lambda ins, outs: tvm.tir.call_packed("f", ins[0], outs[0]))

    @te.tag_scope(tag="column")
    def tagged() -> Any:
        return te.compute((4,), lambda i: a[i] * 2)

    assert (b.op.tag, c.op.tag, tagged().op.tag) == ("row", "row", "column")
    assert te.compute((4,), lambda i: a[i]).op.tag == ""
    assert te.tag.TagScope.get_current() is None


def test_a_single_output_is_a_tensor_even_if_given_in_a_list() -> None:
    a, state = te.placeholder((4,), name="a"), te.placeholder((3, 4), name="state")
    made = te.extern([(4,)], [a], lambda ins, outs: tvm.tir.call_packed("f", ins[0], "mode", outs[0]))
    init = te.compute((1, 4), lambda _, i: a[i])
    scanned = te.scan([init], [te.compute((3, 4), lambda t, i: state[t - 1, i] + 1)], [state])

    assert (made.shape[0].value, scanned.op.num_outputs) == (4, 1)
    (call,) = [one for one in (made.op.body.value,) if isinstance(one, tvm.tir.Call)]
    assert [call.args[0].value, call.args[2].value] == ["f", "mode"]


def test_tags_do_not_nest() -> None:
    a = te.placeholder((4,), name="a")
    with te.tag_scope("outer"):
        with pytest.raises(
            TensorExpressionError, match="tag_scope: 'inner' inside 'outer': tags do not nest"
        ):
            te.tag_scope("inner").__enter__()
        with pytest.raises(TensorExpressionError, match=r"tag 'x' inside tag_scope\('outer'\)"):
            te.compute((4,), lambda i: a[i], tag="x")


def test_arithmetic_of_tensors_is_elementwise() -> None:
    a, b = te.placeholder((3, 4), name="a"), te.placeholder((4,), name="b")
    x, y = np.random.rand(3, 4).astype("f4"), np.random.rand(4).astype("f4") + 1
    for made, wanted in (
        (a + b, x + y),
        (b - a, y - x),
        (2 * a, 2 * x),
        (a / b, x / y),
        (-a, -x),
        (1 - a, 1 - x),
        (a.astype("int32"), x.astype("int32")),
    ):
        args = [a, b] if any(op.name == "b" for op in _placeholders(made)) else [a]
        result = tvm.build(te.create_schedule(made.op), [*args, made])(*[x, y][: len(args)])
        np.testing.assert_allclose(result, wanted, rtol=1e-6)


def _placeholders(tensor: Any) -> list[Any]:
    graph = te.schedule.CreateReadGraph([tensor.op])
    return [op for op in te.schedule.PostDFSOrder([tensor.op], graph) if isinstance(op, te.PlaceholderOp)]


def test_a_zero_dimensional_tensor_is_used_as_a_scalar() -> None:
    a, scale = te.placeholder((5,), name="a"), te.placeholder((), name="scale")
    b = te.compute((5,), lambda i: scale * a[i] + scale)
    x = np.random.rand(5).astype("f4")

    made = tvm.build(te.create_schedule(b.op), [a, scale, b])(x, np.float32(3))

    np.testing.assert_allclose(made, 3 * x + 3, rtol=1e-6)


def test_thread_axes_can_be_lowered_but_not_built() -> None:
    a, b, c = chain()
    s = te.create_schedule(c.op)
    outer, inner = s[c].split(c.op.axis[0], factor=4)
    thread = te.thread_axis((0, 4), "threadIdx.x", name="tx")
    s[c].bind(outer, te.thread_axis("blockIdx.x"))
    s[c].bind(inner, thread)
    s[b].env_threads([thread])

    assert (thread.thread_tag, thread.iter_type, thread.var.name) == ("threadIdx.x", 1, "tx")
    assert thread.dom.extent.value == 4
    assert "threadIdx.x" in str(tvm.lower(s, [a, c]))
    with pytest.raises(TargetError, match=r"(?s)default_function: loop .* is bound to .*\.parallel\(axis\)"):
        tvm.build(s, [a, c], "llvm")
    with pytest.raises(
        TensorExpressionError, match="thread_axis: tag: '' given, expected the name of an axis"
    ):
        te.thread_axis((0, 4))
    with pytest.raises(
        ScheduleError, match=r"bind: thread_ivar: a IterVar given, expected a te\.thread_axis"
    ):
        s[b].bind(b.op.axis[0], b.op.axis[1])


def test_pragmas_named_like_primitives_apply_the_primitives() -> None:
    _, _, c = chain()
    s = te.create_schedule(c.op)
    s[c].pragma(c.op.axis[1], "vectorize")
    s[c].pragma(c.op.axis[0], "parallel")
    s[c].pragma(c.op.axis[0], "mine", 3)
    attrs = s[c].iter_var_attrs

    assert attrs[c.op.axis[1]].iter_type == te.schedule.IterVar.Vectorized
    assert attrs[c.op.axis[0]].iter_type == tvm.tir.IterVar.Parallelized
    assert [str(key) for key in attrs[c.op.axis[0]].pragma_keys] == ["mine"]
    assert attrs[c.op.axis[0]].pragma_keys[0].value == "mine"


def test_the_group_of_a_stage_is_the_innermost_one() -> None:
    _, b, c = chain()
    d = te.compute(c.shape, lambda i, j: c[i, j] + b[i, j], name="d")
    s = te.create_schedule(d.op)
    whole = s.create_group(outputs=c, inputs=b, include_inputs=True)
    part = s.create_group(outputs=b, inputs=b, include_inputs=True)

    assert (s[b].group, s[c].group, s[d].group) == (part, whole, None)
    assert (part.group, whole.group) == (whole, None)
    assert (whole.num_child_stages, part.num_child_stages) == (2, 1)
    whole.compute_at(s[d], d.op.axis[0])
    assert whole.attach_stage is s[d]
    assert s.groups == [whole, part]


def test_infer_bound_gives_ranges_of_one_iteration() -> None:
    m, n = te.var("m"), te.var("n")
    a = te.placeholder((8 * m, n), name="a")
    b = te.compute(a.shape, lambda i, j: a[i, j] + 1, name="b")
    c = te.compute(a.shape, lambda i, j: b[i, j] * 2, name="c")
    s = te.create_schedule(c.op)
    outer, inner = s[c].split(c.op.axis[0], factor=8)
    s[b].compute_at(s[c], outer)
    bounds = te.schedule.InferBound(s)

    assert isinstance(bounds, tvm.container.Map)
    assert bounds[outer].extent == m
    assert bounds[inner].extent.value == 8
    assert bounds[b.op.axis[0]].extent.value == 8
    tvm.testing.assert_prim_expr_equal(bounds[b.op.axis[0]].min, outer.var * 8)
    with pytest.raises(AssertionError, match="are not known to be equal"):
        tvm.testing.assert_prim_expr_equal(m, n)


def test_infer_bound_handles_a_symbolic_split_of_a_fused_axis() -> None:
    m, n, size = te.var("m"), te.var("n"), te.var("size")
    a = te.placeholder((m, n), name="a")
    b = te.compute((m, n), lambda i, j: a[i, j] + 1, name="b")
    c = te.compute((m, n), lambda i, j: b[i, j] * 2, name="c")
    s = te.create_schedule(c.op)
    outer, _ = s[c].split(s[c].fuse(*c.op.axis), size)
    s[b].compute_at(s[c], outer)
    rows = te.schedule.InferBound(s)[b.op.axis[0]]
    first, last = te.indexdiv(outer * size, n), te.indexdiv((outer + 1) * size - 1, n)

    tvm.testing.assert_prim_expr_equal(rows.min, first)
    for values in ((3, 4, 2), (7, 2, 1), (1, 5, 0)):
        at = dict(zip((size, n, outer.var), map(tvm.tir.const, values), strict=True))
        wanted = last - first + 1
        found, wanted = (tvm.tir.stmt_functor.substitute(x, at) for x in (rows.extent, wanted))
        tvm.testing.assert_prim_expr_equal(found, wanted)


def test_auto_inline_injective_does_not_inline_reductions() -> None:
    a, b, c = chain()
    k = te.reduce_axis((0, 8), name="k")
    d = te.compute((12,), lambda i: te.sum(c[i, k], axis=k), name="d")
    e = te.compute((12,), lambda i: d[i] + 1, name="e")
    s = te.create_schedule(e.op)
    te.schedule.AutoInlineInjective(s)

    assert [s[x].attach_type for x in (b, c, d)] == ["inline", "inline", "root"]
    x = np.random.rand(12, 8).astype("f4")
    np.testing.assert_allclose(tvm.build(s, [a, e])(x), ((x + 1) * 2).sum(1) + 1, rtol=1e-5)


def test_an_output_not_passed_as_argument_is_still_computed() -> None:
    a, b, c = chain()
    s = te.create_schedule([b.op, c.op])
    x = np.random.rand(12, 8).astype("f4")

    np.testing.assert_allclose(tvm.build(s, [a, c])(x), (x + 1) * 2)
    assert [op.name for op in s.outputs] == ["b", "c"]


def test_call_packed_in_a_compute_is_an_error() -> None:
    with pytest.raises(TensorExpressionError, match="fcompute returns a statement") as error:
        te.compute((), lambda: tvm.tir.call_packed("some.function", 1))
    assert "te.extern with tvm.tir.call_packed" in str(error.value.hint)


def test_create_prim_func_makes_a_function_of_computes() -> None:
    a, _, c = chain()
    function = te.create_prim_func([a, c])

    module = tvm.IRModule({"double": function.with_attr("global_symbol", "double")})

    x, y = np.random.rand(12, 8).astype("f4"), tvm.nd.empty((12, 8))
    tvm.build(module, target="llvm")["double"](x, y)
    np.testing.assert_allclose(y.numpy(), (x + 1) * 2)


def test_a_reducer_called_with_values_combines_them() -> None:
    product = te.comm_reducer(lambda x, y: x * y, lambda t: tvm.tir.const(1, t), name="product")
    n = te.var("n")

    assert str(product(n, n + 1)) == "(n: int32*(n + 1))"


def test_unsupported_features_of_te_are_errors() -> None:
    with pytest.raises(UnsupportedError, match="extern_primfunc: functions of TVMScript are not supported"):
        te.extern_primfunc([])
    _, b, c = chain()
    with pytest.raises(UnsupportedError, match="rolling_buffer: stage b cannot keep rows"):
        te.create_schedule(c.op)[b].rolling_buffer()
    with pytest.raises(TensorExpressionError, match=r"reduce_axis: thread_tag: 'threadIdx\.x' given"):
        te.reduce_axis((0, 4), thread_tag="threadIdx.x")


def test_create_prim_func_accepts_parameters_in_any_order() -> None:
    a, _, c = chain()
    made = te.create_prim_func([c, a])

    x, result = np.random.rand(12, 8).astype("float32"), tvm.nd.empty((12, 8))
    tvm.build(made)(result, tvm.nd.array(x))
    np.testing.assert_allclose(result.numpy(), (x + 1) * 2, rtol=1e-6)
    assert isinstance(made, tvm.tir.PrimFunc)
    assert "def main(c: out float32[12, 8], a: float32[12, 8])" in made.script()


def test_create_prim_func_of_a_scan_is_a_type_error() -> None:
    n = te.size_var("n")
    x, state = te.placeholder((n, 4)), te.placeholder((n, 4))
    first = te.compute((1, 4), lambda _, j: x[0, j])
    update = te.compute((n, 4), lambda i, j: state[i - 1, j] + x[i, j])

    with pytest.raises(TensorExpressionError, match=r"Unsupported Operation: ScanOp") as caught:
        te.create_prim_func([x, te.scan(first, update, state)])
    assert isinstance(caught.value, TypeError)


def test_extents_behave_like_int_imms() -> None:
    a = te.placeholder((3, te.var("n")), name="a")

    assert (a.shape[0].value, a.shape[0], int(a.shape[0])) == (3, 3, 3)
    assert isinstance(a.shape[0], tvm.tir.IntImm)
    assert isinstance(a.shape[0].astype("float32"), tvm.tir.FloatImm)
    assert not isinstance(a.shape[1], tvm.tir.IntImm)


def test_a_window_checks_axes_and_steps() -> None:
    a = te.placeholder((4, 6), name="a")
    window = a[1, 2:6]

    assert (window.shape, str(window[(0,)])) == ((4,), "a[1, 2]")
    with pytest.raises(TensorExpressionError, match="tensor 'a' has 2 axes, sliced with 1"):
        a[0:2]
    with pytest.raises(TensorExpressionError, match="tensor 'a' is sliced in steps of 2"):
        a[0:4:2, 0]


def test_calls_that_do_not_fit_an_intrinsic_are_errors() -> None:
    x = te.placeholder((4,), name="x")
    y = te.compute((4,), lambda i: x[i] + 1, name="y")
    intrin = te.decl_tensor_intrin(y.op, lambda ins, outs: tvm.tir.call_packed("f", ins[0], outs[0]))
    a = te.placeholder((8, 4), name="a")
    k = te.reduce_axis((0, 8), name="k")
    with pytest.raises(TensorExpressionError, match="tensor_intrin reads 1 tensors, given 2"):
        intrin(a[0, 0:4], a[1, 0:4])
    with pytest.raises(TensorExpressionError, match="x: 3 given, expected a window such as"):
        intrin(3)
    with pytest.raises(TensorExpressionError, match="3 axes, of which 1 are the function's and 1 those of y"):
        te.compute((8, 2, 4), lambda i: intrin(a[i, 0:4]))
    with pytest.raises(UnsupportedError, match="reduce_axis given, but y combines nothing"):
        te.compute((1, 4), lambda i: intrin(a[k, 0:4], reduce_axis=k))


def test_an_intrinsic_accumulates_over_a_reduction_of_windows() -> None:
    rows, depth = 4, 8
    w, v = te.placeholder((rows, depth), name="w"), te.placeholder((depth,), name="v")
    k = te.reduce_axis((0, depth), name="k")
    z = te.compute((rows,), lambda i: te.sum(w[i, k] * v[k], axis=k), name="z")

    gemv = te.decl_tensor_intrin(z.op)
    a = te.placeholder((6, 3, rows, depth), name="a")
    b = te.placeholder((5, 3, depth), name="b")
    block = te.reduce_axis((0, 3), name="block")
    c = te.compute(
        (6, 5, rows),
        lambda i, j: gemv(a[i, block, 0:rows, 0:depth], b[j, block, 0:depth], reduce_axis=block),
        name="c",
    )
    s = te.create_schedule(c.op)
    s[c].reorder(c.op.axis[1], c.op.axis[0])
    x, y = np.random.rand(6, 3, rows, depth).astype("f4"), np.random.rand(5, 3, depth).astype("f4")

    np.testing.assert_allclose(tvm.build(s, [a, b, c])(x, y), np.einsum("ikrd,jkd->ijr", x, y), rtol=1e-5)


def test_an_out_of_bounds_read_is_an_error_of_lowering() -> None:
    n = te.size_var("n")
    a = te.placeholder((n,), name="A")
    b = te.compute((n,), lambda i: a[i + 1], name="B")
    schedule = te.create_schedule(b.op)
    outer, inner = schedule[b].split(b.op.axis[0], factor=10)

    assert tuple(schedule[b].leaf_iter_vars) == (outer, inner)
    message = "compute 'B' reads tensor 'A' at 1 to n: int32 on axis 0, whose extent is n: int32"
    with pytest.raises(TensorExpressionError, match=message):
        tvm.lower(schedule, [a, b])
    with pytest.raises(TensorExpressionError, match=message):
        tvmlite.te.compute((n,), lambda i: a[i + 1], name="B")


def test_attributes_of_an_operation_are_looked_up_by_name() -> None:
    a = te.placeholder((4,), name="A")
    b = te.compute((4,), lambda i: a[i], attrs={"hello": 1, "places": [10, 12]})

    assert ("hello" in b.op.attrs, "other" in b.op.attrs) == (True, False)
    assert (b.op.attrs["hello"].value, b.op.attrs["places"][1].value) == (1, 12)
    assert (b.op.attrs.get("other"), b.op.attrs.keys()) == (None, ["hello", "places"])
    assert json.loads(str(b.op.attrs)) == {"hello": 1, "places": [10, 12]}
    with pytest.raises(KeyError, match=r"no attribute 'other'; it has: hello, places"):
        b.op.attrs["other"]


def test_tensors_and_schedules_are_saved_and_loaded() -> None:
    n = te.size_var("n")
    a = te.placeholder((n, n), name="A")
    k = te.reduce_axis((0, n), "k")
    b = te.compute((n, n), lambda i, j: a[i, j] * 2, name="B")
    c = te.compute((n,), lambda i: te.sum(b[i, k], axis=k), name="C", attrs={"hello": 1})
    s = te.create_schedule(c.op)
    outer, inner = s[c].split(c.op.axis[0], factor=4)
    s[c].unroll(inner)
    s[b].compute_at(s[c], outer)

    loaded = tvm.ir.load_json(tvm.ir.save_json(c))
    assert (str(loaded), loaded.op.attrs["hello"].value) == (str(c), 1)
    for one in (tvm.ir.load_json(tvm.ir.save_json(s)), pickle.loads(pickle.dumps(s))):
        op = one.outputs[0]
        source = one.stages[0].op.output(0)
        assert str(tvm.lower(one, [source, op.output(0)])) == str(tvm.lower(s, [a, c]))
    for broken in ('[["object", {}]]', '[["Tensor", {"__class__": 1}]]', '[["Tensor", {"op": ["node", 7]}]]'):
        text = f'{{"schedule": false, "root": ["node", 0], "nodes": {broken}}}'
        with pytest.raises(InputError, match="load_json: this is not what save_json wrote"):
            tvm.ir.load_json(
                f'{{"format": "tvmlite relay text", "kind": "graph", "text": "", "graph": {text}}}'
            )


def test_stages_and_intrinsics_have_tvms_attributes() -> None:
    x, y = te.placeholder((16,), name="x"), te.placeholder((16,), name="y")
    z = te.compute((16,), lambda i: x[i] + y[i], name="z")
    w = te.compute((16,), lambda i: z[i] * 2, name="w")
    intrin = te.decl_tensor_intrin(z.op, lambda ins, outs: outs[0].vstore([0], ins[0].vload([0])))
    s = te.create_schedule(w.op)

    assert tuple(intrin.inputs) == (x, y)
    assert intrin.buffers[0].shape[0].value == 16
    assert (s[z].attach_type == 1, s[z].attach_type == "root") == (True, True)
    s[z].compute_inline()
    assert (s[z].attach_type == 2, s[z].attach_type == 1) == (True, False)
    s[z].compute_at(s[w], w.op.axis[0])
    assert tvm.te.schedule.CreateAttachPath(s)[z.op] == [w.op.axis[0]]
    assert isinstance(tvm.lower(s, [x, y, w]), tvm.IRModule)
    with pytest.raises(UnsupportedError, match="SpecializedCondition is not in tvmlite"):
        tvm.te.schedule.SpecializedCondition(w.op)
    assert not hasattr(tvm.te, "no_such_name")


@pytest.mark.parametrize("place", ["inline", "at"])
def test_an_inlined_or_attached_argument_is_still_written(place: str) -> None:
    a = te.placeholder((8, 4), name="a")
    b = te.compute((8, 4), lambda i, j: a[i, j] + 1, name="b")
    c = te.compute((8, 4), lambda i, j: b[i, j] * 2, name="c")
    s = te.create_schedule(c.op)
    if place == "inline":
        s[b].compute_inline()
    else:
        s[b].compute_at(s[c], c.op.axis[0])
    x = np.arange(32, dtype="f4").reshape(8, 4)
    made = [tvm.nd.array(np.zeros((8, 4), "f4")) for _ in range(2)]

    tvm.build(s, [a, b, c], "llvm")(tvm.nd.array(x), *made)

    np.testing.assert_array_equal(made[0].numpy(), x + 1)
    np.testing.assert_array_equal(made[1].numpy(), (x + 1) * 2)
    assert s[b].attach_type == place


def test_missing_outputs_are_appended_to_the_parameters() -> None:
    a = te.placeholder((4,), name="a")
    b = te.compute((4,), lambda i: a[i] + 1, name="b")

    module = tvm.lower(te.create_schedule(b.op), [a])

    assert [one.name for one in module["main"].params] == ["a", "b"]


def test_a_store_predicate_is_shown_in_the_loops() -> None:
    a = te.placeholder((8,), name="a")
    b = te.compute((8,), lambda i: a[i] + 1, name="b")
    s = te.create_schedule(b.op)
    thread = te.thread_axis("threadIdx.x")
    s[b].bind(b.op.axis[0], thread)
    s[b].set_store_predicate(thread.var.equal(0))

    assert "store_predicate" in str(tvm.lower(s, [a, b]))
    with pytest.raises(TargetError, match=r"loop i is bound to threadIdx\.x"):
        tvm.build(s, [a, b])


def test_a_lowering_rule_for_another_target_is_never_applied() -> None:
    def rule(call: Any) -> Any:
        raise AssertionError

    assert tvm.ir.register_intrin_lowering("tir.exp", target="cuda", f=rule) is rule
    assert tvm.ir.register_intrin_lowering("tir.exp", target="rocm")(rule) is rule
    assert te.exp(te.var("x", "float32")).name == "exp"
    tvm.ir.register_intrin_lowering("tir.only_there", target="cuda", f=rule)
    a = te.placeholder((4,), name="a")
    b = te.compute((4,), lambda i: tvm.tir.call_intrin("float32", "tir.only_there", a[i]))
    with pytest.raises(UnsupportedError, match="no code for the intrinsic only_there of float32"):
        tvm.build(te.create_schedule(b.op), [a, b])


def test_arithmetic_of_a_zero_dimensional_tensor_gives_a_tensor() -> None:
    a, n = te.placeholder((), name="a"), te.var("n")

    for made in (n + a, a + n, 1 + a, a * a, te.placeholder((2,), name="b")[0] - a):
        assert isinstance(made, te.Tensor)
        assert made.ndim == 0
