import pytest

from tvmlite.core.errors import InputError, TypeInferError
from tvmlite.relay.ir.dims import (
    broadcast_shapes,
    dim,
    evaluate_attrs,
    evaluate_dim,
    evaluate_shape,
    is_symbolic,
    normal_dim,
    num_elements,
    same_dim,
    same_shape,
    show_dim,
    show_shape,
)
from tvmlite.te import expr as te

h, w = dim("h"), dim("w")


def test_a_dimension_is_unique_per_name() -> None:
    assert dim("h") is h
    assert dim("w") is not h


def test_dimensions_are_equal_only_if_proved_equal() -> None:
    assert same_dim(h, h)
    assert same_dim((h + 1) * 2, h * 2 + 2)
    assert not same_dim(h, w)
    assert not same_dim(h, 3)
    assert same_dim(3, 3)
    assert same_shape((1, h), (1, h))
    assert not same_shape((1, h), (h,))


@pytest.mark.parametrize(
    ("a", "b", "result"),
    [
        ((2, 3), (3,), (2, 3)),
        ((1, h), (4, 1), (4, h)),
        ((h, w), (), (h, w)),
        ((1,), (1, 1), (1, 1)),
        ((0,), (1,), (0,)),
    ],
)
def test_shapes_are_broadcast(a, b, result) -> None:
    assert broadcast_shapes(a, b) == result


@pytest.mark.parametrize(("a", "b"), [((2,), (3,)), ((h,), (w,)), ((h,), (2,)), ((0,), (2,))])
def test_shapes_not_known_to_broadcast_are_an_error(a, b) -> None:
    with pytest.raises(
        TypeInferError, match=r"add: shapes .* do not broadcast: .* are not known to be equal"
    ):
        broadcast_shapes(a, b, "add")


def test_number_of_elements_of_a_shape() -> None:
    assert num_elements(()) == 1
    assert num_elements((2, 3)) == 6
    assert num_elements((0, h)) == 0
    assert same_dim(num_elements((2, h, 3, w)), h * w * 6)


def test_a_constant_dimension_is_normalized_to_an_int() -> None:
    assert normal_dim(te.const(3, "int64")) == 3
    assert normal_dim(h - h) == 0
    assert normal_dim(h) is h


@pytest.mark.parametrize(
    ("extent", "value"),
    [
        ((h + 1) // 2, 4),
        (h % 4 - w, 0),
        (te.TruncDiv(w - h, te.const(3, "int64")), -1),
        (te.TruncMod(w - h, te.const(3, "int64")), -1),
        (te.Min(h, w), 3),
        (te.Max(h, w), 7),
        (te.Select(h < w, h, w * 10), 30),
        (te.And(h == 7, te.Not(w != 3)), 1),
        (te.Or(h <= 1, w < 0), 0),
        (te.cast("int32", h), 7),
        (h // (w - 3), 0),
        (h * (2**62), 7 * 2**62),
    ],
)
def test_dimension_expressions_are_evaluated(extent, value: int) -> None:
    assert evaluate_dim(extent, {h: 7, w: 3}) == value


def test_error_names_a_dimension_without_a_value() -> None:
    with pytest.raises(InputError, match="dimension 'w' has no value"):
        evaluate_shape((h, w), {h: 1})


def test_expressions_in_attributes_are_evaluated() -> None:
    attrs = (("axes", (1, 2)), ("begin", (0, h - 1)), ("flag", h < 3), ("name", "x"))

    assert evaluate_attrs(attrs, {h: 5}) == (
        ("axes", (1, 2)),
        ("begin", (0, 4)),
        ("flag", False),
        ("name", "x"),
    )
    assert evaluate_attrs(attrs[:1], {}) is not None
    plain = attrs[:1]
    assert evaluate_attrs(plain, {}) is plain
    assert is_symbolic(((h,),))
    assert not is_symbolic(((1,), "h"))


def test_dimensions_are_printed_with_minimal_parentheses() -> None:
    assert show_dim((h + 1) // 2 * (w - (h - 1))) == "(h + 1) // 2 * (w - (h - 1))"
    assert show_dim(te.Min(h, te.const(-3, "int64"))) == "min(h, -3)"
    assert show_dim(dim("past + present")) == 'dim("past + present")'
    assert show_shape((h,)) == "(h,)"
    assert show_shape(()) == "()"
