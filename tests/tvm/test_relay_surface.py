"""Names and details of TVM's relay that programs rely on: sharing, extents, absent names."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest
from tvmlite.tvm.runtime.vm import VirtualMachine

import tvmlite.tvm as tvm
from tvmlite.core.errors import InputError, UnsupportedError
from tvmlite.tvm import relay
from tvmlite.tvm.ir.instrument import PrintAfterAll, PrintBeforeAll


def pad_with(x: object, value: float) -> object:
    return relay.nn.pad(x, ((1, 1),) * 2, relay.const(value))


def test_a_shared_value_differs_from_two_equal_values() -> None:
    x = relay.var("x")
    once, again = relay.exp(x), relay.exp(x)
    shared, apart = relay.add(once, once), relay.add(once, again)

    assert not tvm.ir.structural_equal(shared, apart)
    assert tvm.ir.structural_hash(shared) != tvm.ir.structural_hash(apart)
    assert tvm.ir.structural_equal(shared, relay.add(again, again))
    with pytest.raises(ValueError, match="is shared on one side and duplicated on the other"):
        tvm.ir.assert_structural_equal(shared, apart)


def test_sharing_of_constants_does_not_affect_equality() -> None:
    one = relay.const(1)
    shared, apart = relay.add(one, one), relay.add(one, relay.const(1))

    assert tvm.ir.structural_equal(shared, apart)
    assert tvm.ir.structural_hash(shared) == tvm.ir.structural_hash(apart)


@pytest.mark.parametrize(
    ("given", "kept", "text"),
    [
        (lambda x: relay.sum(x, axis=1), lambda x: relay.sum(x, axis=[1]), "axis=[1]"),
        (lambda x: relay.argmax(x, -1), lambda x: relay.argmax(x, axis=(-1,)), "axis=[-1]"),
        (lambda x: relay.clip(x, 0, 6), lambda x: relay.clip(x, 0.0, 6.0), "a_min=0f, a_max=6f"),
        (lambda x: relay.nn.pad(x, ((1, 1),) * 2, 1), lambda x: pad_with(x, 1.0), "pad_value=1f"),
        (lambda x: pad_with(x, -3e38), lambda x: relay.nn.pad(x, ((1, 1),) * 2, np.float32(-3e38)), "e38f"),
        (lambda x: relay.nn.leaky_relu(x, 1), lambda x: relay.nn.leaky_relu(x, 1.0), "alpha=1f"),
    ],
)
def test_equivalent_attributes_are_equal_and_print_alike(given: Any, kept: Any, text: str) -> None:
    x = relay.var("x", shape=(2, 3))

    tvm.ir.assert_structural_equal(given(x), kept(x))
    assert tvm.ir.structural_hash(given(x)) == tvm.ir.structural_hash(kept(x))
    assert text in given(x).astext()


def test_clip_limits_beyond_float_precision_are_kept() -> None:
    x = relay.var("x", shape=(2,), dtype="int64")

    assert relay.clip(x, 0, 2**62 + 1).attrs.a_max == 2**62 + 1


def test_extents_have_a_value() -> None:
    type_ = relay.TensorType(tvm.runtime.convert([2, 3]), "float32")

    assert [one.value for one in type_.shape] == [2, 3]
    assert type_.shape == tvm.runtime.convert([2, 3])
    assert relay.var("x", type_).checked_type.shape[1].value == 3
    assert relay.reshape(relay.var("x", type_), type_.shape[:1] + (3,)).attrs.newshape == (2, 3)


def test_an_operator_survives_round_trips_through_text_and_json() -> None:
    add = relay.op.get("add")

    assert tvm.parser.parse_expr(relay.Expr.astext(add)) == add
    assert tvm.ir.load_json(tvm.ir.save_json(add)) == add


def test_op_attributes_work_for_names_shared_with_intrinsics() -> None:
    tvm.ir.register_op_attr("exp", "a_test", 3)

    assert relay.op.get("exp").get_attr("a_test") == 3
    relay.op.get("exp").reset_attr("a_test")


def test_count_layers_and_all_dtypes_analyse_graphs() -> None:
    x = relay.var("x", shape=(2, 2))
    f = relay.Function([x], relay.nn.relu(relay.nn.dense(relay.nn.dense(x, x), x)) + relay.nn.dense(x, x))

    assert relay.analysis.count_layers(f, ["nn.dense"]) == 2
    assert relay.analysis.count_layers(tvm.IRModule.from_expr(f), ["nn.dense"]) == 2
    assert relay.analysis.all_dtypes(relay.Function([x], relay.cast(x, "int8"))) == {"float32", "int8"}


def test_spans_have_lines_and_columns() -> None:
    span = relay.Span(relay.SourceName("a.py"), 1, 2, 3, 4)

    assert (span.source_name.name, span.line, span.end_line, span.column, span.end_column) == (
        "a.py",
        1,
        2,
        3,
        4,
    )
    assert isinstance(span, relay.base.Span)
    assert span == relay.Span("a.py", 1, 2, 3, 4)
    assert tvm.ir.load_json(tvm.ir.save_json(span)) == span


def test_binding_a_name_shared_by_two_parameters_is_an_error() -> None:
    a, b = relay.var("a", shape=(1,)), relay.var("a", shape=(1,))

    with pytest.raises(InputError, match="there are 2 parameters 'a'"):
        relay.build_module.bind_params_by_name(relay.Function([a, b], a + b), {"a": np.ones(1)})


def test_a_virtual_machine_keeps_its_outputs() -> None:
    x = relay.var("x", shape=(2,))
    machine = VirtualMachine(relay.vm.compile(tvm.IRModule.from_expr(x + x), "llvm"), tvm.cpu())
    with pytest.raises(InputError, match="there was no run yet"):
        machine.get_outputs()
    machine.set_input("main", np.ones(2, "float32"))
    machine.run()

    np.testing.assert_array_equal(machine.get_outputs()[0].numpy(), [2, 2])


def test_print_instruments_print_modules_around_passes(capsys: pytest.CaptureFixture[str]) -> None:
    mod = tvm.IRModule.from_expr(relay.exp(relay.var("x", shape=(2,))))

    with tvm.transform.PassContext(instruments=[PrintBeforeAll(), PrintAfterAll()]):
        relay.transform.InferType()(mod)

    assert capsys.readouterr().out.count("pass name: InferType") == 2


def test_dtypes_without_a_width_have_32_bits() -> None:
    assert tvm.parser.parse_expr("fn (%x: int, %y: float) { (%x, %y) }").params[0].type == relay.scalar_type(
        "int32"
    )


@pytest.mark.parametrize(
    ("name", "attribute"),
    [
        ("relay.prelude", "Prelude"),
        ("relay.op.contrib.dnnl", "make_pattern"),
        ("relay.backend.te_compiler", "lower_to_primfunc"),
        ("relay.op.op", "register_strategy"),
        ("relay.op", "register_gradient"),
        ("relay.qnn.op.legalizations", "qnn_dense_legalize"),
        ("relay.transform", "CollagePartition"),
        ("relay.analysis", "unmatched_cases"),
        ("relay", "TypeVar"),
        ("relay.ty", "TypeVar"),
    ],
)
def test_absent_names_are_errors(name: str, attribute: str) -> None:
    absent = getattr(importlib.import_module(f"tvmlite.tvm.{name}"), attribute)

    with pytest.raises(UnsupportedError, match=rf"{attribute} is not in tvmlite"):
        absent()


def test_an_absent_class_supports_isinstance_but_nothing_else() -> None:
    assert not isinstance(1, relay.RefType)
    with pytest.raises(UnsupportedError, match=r"relay\.TempExpr is not in tvmlite"):

        class Mine(relay.TempExpr):
            pass

    with pytest.raises(UnsupportedError, match=r"relay\.RefType is not in tvmlite"):
        _ = relay.RefType.fields


def test_dict_attributes_are_an_error() -> None:
    with pytest.raises(UnsupportedError, match="tables are not supported"):
        relay.Function([], relay.const(1)).with_attr("params", {"a": 1})
