import numpy as np
import pytest

from tvmlite import relay
from tvmlite.relay.ir.nodes import Call, Module
from tvmlite.relay.text.printer import astext

x = relay.var("x", shape=(1, 4))
w = relay.const(np.zeros((3, 4), "float32"))
big = relay.const(np.arange(32, dtype="float32").reshape(8, 4))


def test_a_module_prints_one_line_per_call_with_types_without_defaults() -> None:
    dense = relay.nn.dense(x, w)
    parts = relay.split(relay.nn.softmax(dense), 3, axis=1)
    module = Module.from_expr(relay.add(parts[0], relay.const(1.5)))

    assert str(module) == (
        "def @main(%x: Tensor[(1, 4), float32]) -> Tensor[(1, 1), float32] {\n"
        "  %0 = nn.dense(%x, const([[0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]], float32))"
        " /* ty=Tensor[(1, 3), float32] */;\n"
        "  %1 = nn.softmax(%0) /* ty=Tensor[(1, 3), float32] */;\n"
        "  %2 = split(%1, axis=1, indices_or_sections=3) /* ty=(Tensor[(1, 1), float32],"
        " Tensor[(1, 1), float32], Tensor[(1, 1), float32]) */;\n"
        "  add(%2.0, 1.5f) /* ty=Tensor[(1, 1), float32] */\n"
        "}\n"
    )


def test_large_constants_print_their_hash_and_optionally_their_data() -> None:
    module = Module.from_expr(relay.nn.dense(x, big))
    text = str(module)

    assert 'meta[relay.Constant]["' in text
    assert "#[metadata]" not in text
    assert module.astext().startswith(text)
    assert astext(module, show_meta_data=True).count('"dtype": "float32"') == 1


def test_equal_content_has_equal_hashes() -> None:
    copy = relay.const(big.data.copy())
    text = str(Module.from_expr(relay.Tuple([big, copy])))

    first, second = (part.split('"')[1] for part in text.split("meta[relay.Constant][")[1:])
    assert first == second


def test_an_ill_typed_graph_can_be_printed() -> None:
    bad = relay.add(relay.exp(x), relay.const(np.zeros((2, 2, 9), "float32")))

    text = str(Module.from_expr(relay.nn.relu(bad)))

    assert "exp(%x) /* ty=Tensor[(1, 4), float32] */" in text
    assert "nn.relu(%1)\n" in text


def test_an_unknown_operator_can_be_printed() -> None:
    assert 'odd(%x, axis=[1, 2], mode="a")' in str(Call("odd", (x,), (("axis", (1, 2)), ("mode", "a"))))


def test_an_expression_prints_its_free_variables() -> None:
    assert str(relay.exp(x)) == (
        "free_var %x: Tensor[(1, 4), float32];\nexp(%x) /* ty=Tensor[(1, 4), float32] */"
    )


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (np.float32(0.1), "0.1f"),
        (np.float64(0.1), "0.1f64"),
        (np.float16(0.1), "0.1f16"),
        (np.int32(3), "3"),
        (np.int64(-3), "-3i64"),
        (np.uint8(3), "3u8"),
        (np.bool_(True), "True"),
        (np.float32("inf"), "inff"),
        (np.float64("-inf"), "-inff64"),
        (np.float32("nan"), "nanf"),
        (np.float32(1e-30), "1e-30f"),
    ],
)
def test_scalars_are_printed_with_their_dtype(value, text: str) -> None:
    assert str(relay.Constant(np.asarray(value))) == text
