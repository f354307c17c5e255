import numpy as np
import pytest

from tvmlite.core.alike import alike
from tvmlite.core.errors import ParseError
from tvmlite.relay.ir.types import FuncType, TupleType, dim, tensor_type
from tvmlite.relay.text.values import ValueReader
from tvmlite.te import expr as te


def read(text: str) -> ValueReader:
    return ValueReader(text, "t", {})


def test_types_are_parsed() -> None:
    image = tensor_type((1, dim("h") * 2), "int8")

    assert alike(read("Tensor[(1, h * 2), int8]").type(), image)
    assert alike(read("float32").type(), tensor_type(()))
    assert alike(read("(Tensor[(1, h * 2), int8], bool)").type(), TupleType((image, tensor_type((), "bool"))))
    assert alike(read("fn (bool) -> ()").type(), FuncType((tensor_type((), "bool"),), TupleType(())))


def test_operators_have_pythons_precedence() -> None:
    h, w = dim("h"), dim("w")

    assert alike(read("h + w * 2 - 1").dimension(), h + w * 2 - 1)
    assert alike(read("(h + w) // 2 % 3").dimension(), (h + w) // 2 % 3)
    assert alike(read("h - (w - h)").dimension(), h - (w - h))
    assert alike(read("not h < w and h == 2").dimension(), te.And(te.Not(h < w), h == 2))
    assert alike(read("select(h < 2, min(h, 1), cast(int32, 3))").dimension(), te.Select(
        h < 2, te.Min(h, te.const(1, "int64")), te.const(3, "int32")
    ))  # fmt: skip


@pytest.mark.parametrize(
    ("text", "value", "dtype"),
    [
        ("2", 2, "int32"), ("-2i64", -2, "int64"), ("1.5", 1.5, "float32"), ("1f64", 1.0, "float64"),
        ("True", True, "bool"), ("-inff", -np.inf, "float32"), ("255u8", 255, "uint8"),
        ("1e3f16", 1000.0, "float16"),
    ],
)  # fmt: skip
def test_scalars_are_parsed(text: str, value, dtype: str) -> None:
    data = read(text).scalar().data

    assert data.shape == ()
    assert data.dtype == dtype
    assert data.item() == value


@pytest.mark.parametrize(
    ("method", "text", "message"),
    [
        ("type", "Tensor[(1,)]", "expected ',', found ']'"),
        ("type", "(" * 200, "nested deeper than 100 levels"),
        ("dimension", "h + True", r"'\+' of a int64 and a bool"),
        ("dimension", "min(h)", "expected 2 values, found 1"),
        ("dimension", "nn.relu", "'nn.relu' is no name of a dimension"),
        ("dimension", "(h", r"expected '\)', found the end of the text"),
        ("scalar", "1.5i8", "1.5 is not a int8"),
        ("array", "const([1], int8, shape=(2,))", "this is no array"),
        ("array", "const([1], int8, shape=(h,))", "the shape of a constant is made of numbers"),
        ("array", "const([[True]], int8)", "True is not a int8"),
        ("meta", 'meta[relay.Constant]["0123"]', "constant '0123' is not in this text"),
        ("attribute", "[1, ", "the text ends here"),
    ],
)
def test_errors_say_what_was_expected(method: str, text: str, message: str) -> None:
    with pytest.raises(ParseError, match=message):
        getattr(read(text), method)()
