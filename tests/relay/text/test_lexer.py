import pytest

from tvmlite.core.errors import ParseError
from tvmlite.relay.text.lexer import Lexer


def kinds(text: str) -> list[tuple[str, str]]:
    lexer = Lexer(text, "t")
    found = []
    while lexer.token.kind != "end":
        found.append((lexer.token.kind, lexer.take().text))
    return found


def test_text_is_split_into_tokens() -> None:
    assert kinds('def @main(%x: Tensor[(1,), f]) /* a\ncomment */ -> %0.1 "s\\"" 1.5e-3f64 nn.relu //') == [
        ("name", "def"), ("global", "@main"), ("sign", "("), ("local", "%x"), ("sign", ":"),
        ("name", "Tensor"), ("sign", "["), ("sign", "("), ("number", "1"), ("sign", ","), ("sign", ")"),
        ("sign", ","), ("name", "f"), ("sign", "]"), ("sign", ")"), ("sign", "->"), ("local", "%0"),
        ("field", ".1"), ("string", '"s\\""'), ("number", "1.5e-3f64"), ("name", "nn.relu"),
        ("sign", "//"),
    ]  # fmt: skip


@pytest.mark.parametrize("word", ["inf", "nan", "inff", "nanf64", "infbf16", "2i64", "1f", "3", "0.5"])
def test_numbers_are_lexed_as_numbers(word: str) -> None:
    assert kinds(word) == [("number", word)]


@pytest.mark.parametrize("word", ["info", "nano", "infinity", "f", "_1"])
def test_names_similar_to_numbers_are_lexed_as_names(word: str) -> None:
    assert kinds(word) == [("name", word)]


def test_errors_show_line_column_and_text() -> None:
    lexer = Lexer("a\n\tb c\n", "file.relay")
    lexer.take()
    lexer.take()

    with pytest.raises(ParseError) as caught:
        lexer.expect("d")

    assert caught.value.message == "file.relay:2:4: expected 'd', found 'c'\n   b c\n     ^"


def test_spans_have_the_line_and_its_text() -> None:
    lexer = Lexer("one\n  two", "t")
    lexer.take()

    assert str(lexer.span(lexer.token)) == "t:2: two"
