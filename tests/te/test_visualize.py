"""The HTML page of a schedule: its content, that it is self-contained, and that it is deterministic."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

import tvmlite
from tvmlite import te
from tvmlite.core.errors import InputError, TensorExpressionError

VOID = {"meta", "input", "br", "link", "img", "hr"}


class Page(HTMLParser):
    """A strict parser of a page: every element is closed in order, and no attribute is repeated."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.text = path.read_text(encoding="utf-8")
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(self.text)
        self.close()
        assert not self.open, f"not closed: {self.open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len(dict(attrs)) == len(attrs), f"an attribute twice: {attrs}"
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"closed but not open: {tag}"
        assert self.open.pop() == tag, f"closed out of order: {tag}"

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] not in ("script", "style"):
            self.words.append(data)

    @property
    def seen(self) -> str:
        return " ".join("".join(self.words).split())

    def of_class(self, name: str) -> list[dict[str, str | None]]:
        return [attrs for _, attrs in self.elements if name in (attrs.get("class") or "").split()]


def matmul(n: int = 32):
    A = te.placeholder((n, n), name="A")
    B = te.placeholder((n, n), name="B")
    k = te.reduce_axis((0, n), name="k")
    C = te.compute((n, n), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    s = te.create_schedule(C.op)
    io, jo, ii, ji = s[C].tile(C.op.axis[0], C.op.axis[1], 8, 16)
    s[C].reorder(io, jo, k, ii, ji)
    s[C].vectorize(ji)
    s[C].unroll(ii)
    s[C].parallel(io)
    return s, [A, B, C]


def vector_add():
    n = te.var("n")
    A = te.placeholder((n,), name="A")
    B = te.placeholder((n,), name="B")
    C = te.compute((n,), lambda i: A[i] + B[i], name="C")
    s = te.create_schedule(C.op)
    outer, inner = s[C].split(C.op.axis[0], factor=16)
    s[C].vectorize(inner)
    s[C].parallel(outer)
    return s, [A, B, C], n


@pytest.fixture(scope="module")
def timed(tmp_path_factory: pytest.TempPathFactory) -> Page:
    s, args = matmul()
    path = te.visualize(
        s, args, tmp_path_factory.mktemp("pages") / "matmul.html", name="matmul", budget=0.005
    )
    return Page(path)


def test_the_page_has_a_section_per_step(timed: Page) -> None:
    assert [attrs["id"] for attrs in timed.of_class("step")] == [f"step-{n}" for n in range(6)]
    for words in (
        "i.outer, j.outer, i.inner, j.inner = s[C].tile(i, j, 8, 16)",
        "s[C].vectorize(ji)",  # the user's own line
        "test_visualize.py:",
        "Execute the loop's iterations as lanes of vectors",
        "for i.outer in parallel(0, 4):",
        "int32_t matmul(const float *restrict A",
        "C: out float32[32, 32]",
        "65.5 kFLOP, 12.3 kB of arguments",
    ):
        assert words in timed.seen, words


def test_the_page_shows_times_rates_and_roofline_shares(timed: Page) -> None:
    assert len(re.findall(r"[\d.]+ GFLOP/s", timed.seen)) >= 6
    assert len(re.findall(r"of the roofline, bound by (?:arithmetic|memory) ?[\d.]+%", timed.seen)) == 6
    assert timed.seen.count("as the plain loops, to") == 6
    assert "differs" not in timed.seen
    assert len([1 for tag, _ in timed.elements if tag == "circle"]) == 6


def test_the_page_is_self_contained(timed: Page) -> None:
    assert "http" not in timed.text
    assert "@import" not in timed.text
    assert "url(" not in timed.text
    for tag, attrs in timed.elements:
        assert tag not in ("link", "img", "iframe", "object", "embed")
        assert "src" not in attrs
        assert (attrs.get("href") or "#").startswith("#")
    assert str(Path(__file__).parent) not in timed.text


def test_changes_are_marked(timed: Page) -> None:
    section = timed.text.split('id="step-3"')[1].split("</section>")[0]
    loops = section.split('data-view="c"')[0]

    assert "+ for" not in loops
    assert loops.count('<ins class="l">') == loops.count('<del class="l">') == 2
    assert loops.count("<mark>") == 2
    assert re.search(r"<mark>.*?vectorize.*?</mark>", loops)


def test_every_link_leads_to_a_section_and_every_control_has_a_name(timed: Page) -> None:
    ids = {attrs["id"] for _, attrs in timed.elements if "id" in attrs}
    links = [attrs["href"] for tag, attrs in timed.elements if tag == "a"]

    assert len(links) == 12
    assert {link[1:] for link in links if link} <= ids
    assert all(attrs["aria-labelledby"] in ids for attrs in timed.of_class("step"))
    assert all(attrs.get("lang") == "en" for tag, attrs in timed.elements if tag == "html")


def test_without_timing_the_page_is_deterministic(tmp_path: Path) -> None:
    s, args = matmul()
    one = te.visualize(s, args, tmp_path / "one.html", budget=None).read_bytes()
    two = te.visualize(s.replay(), args, tmp_path / "two.html", budget=None).read_bytes()

    assert one == te.visualize(s, args, tmp_path / "one.html", budget=None).read_bytes()
    loops = [re.findall(rb"<pre.*?</pre>", page, re.DOTALL) for page in (one, two)]
    assert loops[0] == loops[1]
    assert b"nothing was timed" in one


@pytest.mark.slow
def test_sizes_are_given_by_variable_or_name(tmp_path: Path) -> None:
    s, args, n = vector_add()
    page = Page(te.visualize(s, args, tmp_path / "a.html", sizes={n: 1000}, budget=0.002))

    assert "A: float32[1000]" in page.seen
    assert "1 kFLOP, 12 kB of arguments" in page.seen
    assert "bound by memory" in page.seen
    by_name = te.visualize(s, args, tmp_path / "b.html", sizes={"n": 1000}, budget=None)
    assert "A: float32[1000]" in by_name.read_text(encoding="utf-8")
    hint = r"(?s)the size 'n' is not known\n  at .*te.visualize.*\n  hint: give it: sizes=\{'n': 1024\}"
    with pytest.raises(InputError, match=hint):
        te.visualize(s, args, tmp_path / "c.html")
    assert not (tmp_path / "c.html").exists()


def test_an_illegal_intermediate_state_shows_its_error(tmp_path: Path) -> None:
    A = te.placeholder((64,), name="A")
    B = te.compute((64,), lambda i: A[i] * 2.0, name="B")
    C = te.compute((64,), lambda i: B[i] + 1.0, name="C")
    s = te.create_schedule(C.op)
    outer, _ = s[C].split(C.op.axis[0], factor=16)
    s[B].compute_at(s[C], outer)  # B is an argument: not legal
    s[B].compute_root()
    page = Page(te.visualize(s, [A, B, C], tmp_path / "page.html", budget=0.002))

    assert len(page.of_class("refusal")) == 1
    assert "compute_at: B is an argument of the function" in page.seen
    assert "What follows is compared with step 1." in page.seen
    assert "as step 1same code" in page.seen
    assert len([1 for _, attrs in page.elements if attrs.get("class") == "cross"]) == 1


def test_a_schedule_that_cannot_be_lowered_raises_the_users_error(tmp_path: Path) -> None:
    s, (A, B, _) = matmul()

    with pytest.raises(TensorExpressionError, match="C is an output of the schedule"):
        te.visualize(s, [A, B], tmp_path / "page.html")
    with pytest.raises(InputError, match="visualize: budget: 0 given"):
        te.visualize(s, [A, B], tmp_path / "page.html", budget=0)


@pytest.mark.slow
def test_for_another_machine_code_is_shown_without_timing(tmp_path: Path) -> None:
    s, args = matmul(16)
    target = "llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a72"
    page = Page(te.visualize(s, args, tmp_path / "page.html", target=target))

    assert "nothing was timed" in page.seen
    assert "fmla" in page.seen
    assert not page.of_class("metrics")


def test_the_example_of_the_documentation_works(tmp_path: Path) -> None:
    text = (Path(__file__).parents[2] / "docs" / "visualize.md").read_text(encoding="utf-8")
    code = text.split("```python\n")[1].split("```")[0]
    smaller = code.replace("N = 1024", "N = 64").replace('"schedule.html"', "path, budget=None")
    names: dict = {"path": tmp_path / "page.html"}
    exec(compile(smaller, "example.py", "exec"), names)

    assert len(Page(names["path"]).of_class("step")) == 13
    said = text.split(">>> print(s.trace)\n")[1].split("...")[0]
    assert str(names["s"].trace).startswith(said)


def test_names_are_escaped(tmp_path: Path) -> None:
    A = te.placeholder((4,), name="A<b>")
    B = te.compute((4,), lambda i: A[i] + 1.0, name="B&amp;")
    page = Page(te.visualize(te.create_schedule(B.op), [A, B], tmp_path / "p.html", budget=None))

    assert "A<b>: float32[4]" in page.seen
    assert not [tag for tag, _ in page.elements if tag == "b"]


def test_both_names_are_the_same_function() -> None:
    assert tvmlite.visualize is te.visualize
    assert "visualize" in te.__all__
