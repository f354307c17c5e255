"""Equality, hashes and JSON of loops; containers, attributes and configurations of ``tvm.ir``."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tvmlite.tvm as tvm
from tvmlite.core.errors import UnsupportedError
from tvmlite.tvm import relay, te, tir
from tvmlite.tvm.runtime import ADT, ObjectPath

X, Y, Z = te.var("x"), te.var("y"), te.var("z")


def equal(a: Any, b: Any, map_free_vars: bool = False) -> bool:
    """Structural equality, checked to be symmetric and consistent with the hashes."""
    found = tvm.ir.structural_equal(a, b, map_free_vars)
    hashes = [tvm.ir.structural_hash(one, map_free_vars) for one in (a, b)]
    assert found == tvm.ir.structural_equal(b, a, map_free_vars) == (hashes[0] == hashes[1])
    return found


def test_free_variables_are_mapped_on_request() -> None:
    assert not equal(X + 1, Y + 1)
    assert equal(X + 1, Y + 1, True)
    assert equal(X + Y + Z, Y + Z + X, True)
    assert not equal(X + X, Y + X, True)
    assert equal(tir.Let(X, 1, X - Z), tir.Let(Y, 1, Y - Z))
    loops = [tir.While(v > 0, tir.Evaluate(v)) for v in (X, Y)]
    first, second = loops
    assert (equal(first, second), equal(first, second, True)) == (False, True)


def test_the_first_difference_has_a_path() -> None:
    root, differ = ObjectPath.root(), tvm.ir.base.get_first_structural_mismatch
    shorter, longer = tir.PrimFunc([X, Y], tir.Evaluate(X)), tir.PrimFunc([X, Y, Z], tir.Evaluate(X))
    stores = [tir.SeqStmt([tir.Evaluate(X), tir.Evaluate(X + n)]) for n in (1, 99)]
    place = root.attr("seq").array_index(1).attr("value").attr("b").attr("value")

    assert differ(shorter, longer) == (
        root.attr("params").missing_array_element(2),
        root.attr("params").array_index(2),
    )
    assert differ(*stores) == (place, place)
    assert differ(stores[0], stores[0]) is None
    assert str(place) == "<root>.seq[1].value.b.value"
    with pytest.raises(ValueError, match=r"lhs at <root>\.seq\[1\]\.value\.b\.value"):
        tvm.ir.assert_structural_equal(*stores)
    maps = [{X: tir.decl_buffer((10, n))} for n in (10, 20)]
    functions = [tir.PrimFunc([X], tir.Evaluate(X), buffer_map=one) for one in maps]
    assert str(differ(*functions)[0]) == "<root>.buffer_map[x].shape[1].value"
    with pytest.raises(UnsupportedError, match="get_first_structural_mismatch: a object given"):
        differ(object(), X)


def test_a_path_has_the_class_of_its_last_step() -> None:
    root = ObjectPath.root()
    field = root.attr("body")
    paths = [
        (root, "RootPath", "<root>"),
        (ObjectPath.root("loops"), "RootPath", "loops"),
        (field, "AttributeAccessPath", "<root>.body"),
        (root.attr(None), "UnknownAttributeAccessPath", "<root>.<unknown attribute>"),
        (field.array_index(2), "ArrayIndexPath", "<root>.body[2]"),
        (field.missing_array_element(2), "MissingArrayElementPath", "<root>.body[<missing element #2>]"),
        (field.map_value("k"), "MapValuePath", '<root>.body["k"]'),
        (field.missing_map_entry(), "MissingMapEntryPath", "<root>.body[<missing entry>]"),
    ]

    for path, kind, text in paths:
        assert (type(path), str(path)) == (getattr(tvm.runtime.object_path, kind), text)
        assert [one == path for one, *_ in paths].count(True) == 1
    assert len({path for path, *_ in paths} | {ObjectPath.root().attr("body")}) == len(paths)
    path = field.array_index(2)
    assert [path.get_prefix(n) for n in (1, 2, 3)] == [path.parent.parent, path.parent, path]  # type: ignore[union-attr]
    assert (field.is_prefix_of(path), path.is_prefix_of(field)) == (True, False)
    for length in (0, 4):
        with pytest.raises(IndexError, match=rf"refix .*{length}"):
            path.get_prefix(length)


def test_loops_functions_and_arrays_are_saved_and_loaded() -> None:
    buffer = tir.decl_buffer((8,), "float32", name="out")
    function = tir.PrimFunc([X, buffer], tir.AttrStmt(X, "k", 1, tir.BufferStore(buffer, X > 2, [0])))
    array = tvm.nd.array(np.arange(3.0))
    found = tvm.runtime.convert({"z": X + 1, "n": [1, "two"]})

    for value in (function, array, found, [X > Y]):
        assert equal(tvm.ir.load_json(tvm.ir.save_json(value)), value, True)
    assert str(tvm.ir.load_json(tvm.ir.save_json(X + 1))) == "(x: int32 + 1)"


def test_converted_containers_have_a_type_key() -> None:
    listed, mapped = tvm.runtime.convert([1, 2]), tvm.runtime.convert({X: 2})

    assert (listed.type_key, listed[-1].value, mapped.type_key, set(mapped.values())) == (
        "Array",
        2,
        "Map",
        {2},
    )
    assert mapped.items()[0][1].value == 2
    assert not hasattr(listed, "test_key")


def test_nodes_are_made_by_name() -> None:
    made = tvm.ir.make_node("DictAttrs", x=1, name="n", padding=(0, 3))

    assert (made.x.value, made["padding"][1].value, "name" in made, len(made)) == (1, 3, True, 3)
    assert isinstance(made, tvm.ir.DictAttrs)
    assert tvm.ir.make_node("IntImm", dtype="int32", value=10, span=None).value == 10
    with pytest.raises(UnsupportedError, match="make_node: 'Node' is not supported"):
        tvm.ir.make_node("Node")


def test_a_registered_function_is_found_by_name() -> None:
    tvm.register_func("structure.next", lambda x: x + 1, override=True)
    (found,) = tvm.ir.load_json(tvm.ir.save_json([tvm.ir.EnvFunc.get("structure.next")]))

    assert (found.name, found(1), found.func(2)) == ("structure.next", 2, 3)


def test_options_of_passes_have_defaults_and_are_checked() -> None:
    config = tvm.transform.PassContext(config={"tir.UnrollLoop": {"auto_max_step": 10}}).config

    assert (config["tir.UnrollLoop"].auto_max_step, config["tir.UnrollLoop"].explicit_unroll) == (10, 1)
    for wrong in ({"tir.UnrollLoop": {"invalid": 1}}, {"invalid-opt": True}, {"tir.UnrollLoop": 1}):
        with pytest.raises(AttributeError, match="PassContext"):
            tvm.transform.PassContext(config=wrong)


def test_error_of_an_unknown_option_suggests_a_similar_one() -> None:
    for name, hint in (
        ("relay.FuseOps.max_dept", "did you mean 'relay.FuseOps.max_depth'?"),
        ("micro.words", "PassContext.list_configs() has all there are"),
    ):
        with pytest.raises(AttributeError) as error:
            tvm.transform.PassContext(config={name: 1})
        assert error.value.message == f"PassContext: config has {name!r}, which is no option"  # type: ignore[attr-defined]
        assert error.value.hint == hint  # type: ignore[attr-defined]


def test_values_with_different_tags_differ() -> None:
    def made(inner: int, last: float) -> Any:
        return ADT(0, [ADT(inner, []), tvm.nd.array(np.float32(last))])

    assert equal(made(1, 2), made(1, 2))
    assert not equal(made(1, 2), made(1, 3))
    assert not equal(made(1, 2), made(2, 2))
    with pytest.raises(ValueError, match=r"lhs at <root>\[0\]\.tag"):
        tvm.ir.assert_structural_equal(made(1, 2), made(2, 2))


def test_a_declared_return_type_is_compared() -> None:
    x = relay.var("x", shape=(2,))
    written = relay.Function([x], x, relay.TensorType((2,)))

    assert equal(written, relay.Function([x], x))
    assert not equal(written, relay.Function([x], x, relay.TensorType((3,))))
    untyped = relay.var("x")
    assert not equal(
        relay.Function([untyped], untyped, relay.TensorType((2,))), relay.Function([untyped], untyped)
    )


def test_free_variables_differ_in_the_hash_unless_they_are_mapped() -> None:
    x, y = relay.var("x", shape=(2,)), relay.var("y", shape=(2,))
    one, other = relay.exp(x), relay.exp(y)

    assert tvm.ir.structural_hash(one) == tvm.ir.structural_hash(relay.exp(x))
    assert tvm.ir.structural_hash(one) != tvm.ir.structural_hash(other)
    assert tvm.ir.structural_hash(one, True) == tvm.ir.structural_hash(other, True)
    closed = [tvm.ir.structural_hash(relay.Function([var], relay.exp(var))) for var in (x, y)]
    assert closed[0] == closed[1]


def test_types_to_be_inferred_are_equal_only_to_themselves() -> None:
    one, other = relay.IncompleteType(relay.TypeKind.ShapeVar), relay.IncompleteType()

    assert one == one
    assert one != other
    assert other != relay.IncompleteType()
    assert relay.var("x", other).type_annotation is None


def test_type_arguments_of_functions_are_compared() -> None:
    f, x = relay.var("f"), relay.var("x")
    types = [relay.TensorType((1, 2)), relay.TensorType((), "int8")]
    call = relay.Call(f, [x], type_args=types[:1])

    assert equal(call, relay.Call(f, [x], type_args=[relay.TensorType((1, 2))]))
    assert not any(equal(call, relay.Call(f, [x], type_args=other)) for other in (None, types, types[1:]))
    assert call.type_args == (types[0],)
    assert relay.Call(f, [x]).type_args == ()
    assert equal(relay.exp(x), relay.Call(relay.op.get("exp"), [x], type_args=types[:1]))


def test_the_path_to_a_differing_number_ends_in_its_value() -> None:
    differ, convert = tvm.ir.base.get_first_structural_mismatch, tvm.runtime.convert

    assert str(differ(convert([1, 2, 3]), convert([1, 4, 3]))[0]) == "<root>[1].value"
    assert str(differ(convert({"a": 3}), convert({"a": 5}))[1]) == '<root>["a"].value'
    assert differ(convert([1, 2]), convert([1, 2])) is None
