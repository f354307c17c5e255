"""Texts compared line by line and shown as HTML."""

from __future__ import annotations

from tvmlite.te.visualizer.difference import LONGEST, compared


def test_the_first_text_has_no_change_marks() -> None:
    assert compared(None, "x = 1", "loops") == '<span class="l">x = <span class="n">1</span></span>'


def test_inserted_and_deleted_lines_are_marked() -> None:
    shown = compared("a\nb", "a\nc < d", "loops")

    assert shown == '<span class="l">a</span><del class="l">b</del><ins class="l">c &lt; d</ins>'


def test_changed_words_in_a_line_are_marked() -> None:
    shown = compared("for i in range(0, 8):", "for i in unroll(0, 8):", "loops")

    assert '<mark><span class="s">unroll</span></mark>(<span class="n">0</span>' in shown
    assert shown.count("<mark>") == 1


def test_lines_with_only_changed_indentation_are_not_new() -> None:
    shown = compared("for i:\n    x\ny", "x\n    y", "loops")

    assert '<del class="l">' in shown
    assert '<span class="l higher">x</span><span class="l deeper">    y</span>' in shown
    assert "<ins" not in shown


def test_comments_and_directives_are_highlighted() -> None:
    assert '<span class="o">/* a */</span>' in compared(None, "x /* a */", "c")
    assert '<span class="p">#if</span>' in compared(None, "#if X", "c")
    assert '<span class="o"># zmm0</span>' in compared(None, "vaddps %a # zmm0", "asm")
    assert "//" in compared(None, "n // 16", "loops")
    assert 'class="o"' not in compared(None, "n // 16", "loops")


def test_long_texts_are_truncated() -> None:
    shown = compared(None, "\n".join(["x"] * (LONGEST + 7)), "c")

    assert shown.count('class="l"') == LONGEST
    assert shown.endswith('<span class="rest">... 7 more lines</span>')
