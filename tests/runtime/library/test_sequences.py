"""Lists of arrays as arguments, spread over the plain parameters of an entry function."""

from __future__ import annotations

import pytest

from tvmlite.core.errors import InputError, LibraryError
from tvmlite.runtime.library.sequences import Sequences

ROWS = [["s", 2], ["x", None], ["none", 0]]
PARAMETERS = ["s.0", "s.1", "x"]


def test_lists_are_spread_over_the_parameters() -> None:
    lists = Sequences(ROWS, PARAMETERS)

    assert lists.names == ("s", "x", "none")
    assert lists.spread([[1, 2], 3, []], {}) == ([1, 2, 3], {})
    assert lists.spread([[1, 2]], {"x": 3}) == ([1, 2], {"x": 3})
    assert lists.spread([], {"s": (1, 2), "x": 3}) == ([], {"s.0": 1, "s.1": 2, "x": 3})


def test_results_are_gathered_into_lists() -> None:
    assert Sequences(ROWS, PARAMETERS).gather((1, 2, 3)) == [[1, 2], 3, []]
    assert Sequences([["s", 1]], ["s.0"]).gather(7) == [[7]]


def test_a_list_of_wrong_length_is_refused() -> None:
    with pytest.raises(InputError, match="input 's' is a list of 3 arrays, expected 2"):
        Sequences(ROWS, PARAMETERS).spread([[1, 2, 3], 4, []], {})


@pytest.mark.parametrize("rows", [None, [1], [["s"]], [["s", "x"]], [["s", 2]]])
def test_damaged_metadata_raise_a_library_error(rows: object) -> None:
    with pytest.raises(LibraryError, match="the metadata's sequences are"):
        Sequences(rows, PARAMETERS)
