import gc

import numpy as np
import pytest

from tvmlite.core.errors import ParseError
from tvmlite.relay.ir.nodes import Constant, constant
from tvmlite.relay.text.literals import (
    METADATA,
    array_of,
    metadata_section,
    read_metadata,
    recall,
    remember,
    show_attribute,
    show_constant,
)


def test_constants_of_up_to_16_elements_are_printed() -> None:
    assert show_constant(constant(np.arange(16, dtype="int32"))).startswith("const([0, 1, 2, ")
    assert show_constant(constant(np.arange(17, dtype="int32"))).startswith('meta[relay.Constant]["')


def test_the_hash_depends_on_dtype_shape_and_content_only() -> None:
    zeros = np.zeros(32, "float32")
    arrays = [zeros, zeros.reshape(4, 8), zeros.view("int32"), zeros + 1]

    keys = [remember(constant(a)) for a in arrays]

    assert len(set(keys)) == 4
    assert all(len(key) == 16 for key in keys)
    assert remember(constant(zeros.copy())) == keys[0]
    assert remember(constant(np.zeros((64,), "float32")[::2])) == keys[0]


def test_a_constant_is_found_by_hash_while_it_is_alive() -> None:
    one = Constant(np.full(99, 7.0))
    key = remember(one)

    assert recall(key) is one
    del one
    gc.collect()
    assert recall(key) is None


@pytest.mark.parametrize(
    "array", [np.arange(40, dtype="int8"), np.zeros((0, 3)), np.array(3.0), np.ones((5, 5), bool)]
)
def test_metadata_round_trip(array: np.ndarray) -> None:
    section = metadata_section({remember(c := constant(array)): c}).removeprefix(f"{METADATA}\n")
    (back,) = read_metadata(section).values()

    assert back.data.dtype == array.dtype
    assert back.data.shape == array.shape
    assert back.data.tobytes() == array.tobytes()


@pytest.mark.parametrize(
    "section",
    [
        "",
        "[]",
        '{"k": 1}',
        '{"k": {"dtype": "float32", "shape": [1]}}',
        '{"k": {"dtype": "odd", "shape": [1], "data": "AAAA"}}',
        '{"k": {"dtype": "float32", "shape": [1], "data": "A?"}}',
        '{"k": {"dtype": "float32", "shape": [-5], "data": "AAAAAA=="}}',
        '{"k": {"dtype": "float32", "shape": [1], "data": "AAAAAA=="}}',
    ],
)
def test_damaged_metadata_are_an_error(section: str) -> None:
    with pytest.raises(ParseError, match="is damaged"):
        read_metadata(section)


def test_large_integers_keep_every_bit() -> None:
    assert array_of([2**64 - 1, 0], "uint64").tolist() == [2**64 - 1, 0]
    assert array_of([2**53 + 1], "int64").tolist() == [2**53 + 1]


def test_attributes_of_different_types_are_printed_differently() -> None:
    assert show_attribute((1, 1.0, True, None, "1", ())) == '[1, 1.0, True, None, "1", []]'
