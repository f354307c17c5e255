"""Adjacent statements with two versions share one ``#if``."""

from __future__ import annotations

from tvmlite.te.codegen.c.versions import merged


def test_adjacent_versions_under_one_condition_are_merged() -> None:
    lines = ["#if A", "a = 1;", "#else", "a = 2;", "#endif", "#if A", "b = 1;", "#else", "b = 2;", "#endif"]
    assert merged(lines) == ["#if A", "a = 1;", "b = 1;", "#else", "a = 2;", "b = 2;", "#endif"]


def test_other_statements_or_conditions_prevent_merging() -> None:
    one, other = ["#if A", "a;", "#else", "b;", "#endif"], ["#if B", "c;", "#else", "d;", "#endif"]
    for lines in ([*one, *other], [*one, "e;", *one]):
        assert merged(lines) == lines


def test_nested_versions_are_merged() -> None:
    inner = ["#if B", "x;", "#else", "y;", "#endif"]
    lines = ["#if A", "a;", *inner, *inner, "#else", *inner, "#endif"]
    joined = ["#if B", "x;", "x;", "#else", "y;", "y;", "#endif"]
    assert merged(lines) == ["#if A", "a;", *joined, "#else", *inner, "#endif"]
