"""A page is one file with all its resources, and its content is escaped."""

from __future__ import annotations

from html.parser import HTMLParser

from tvmlite.show import html


class Outline(HTMLParser):
    """The elements in order, and the title."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.title = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        if self.tags and self.tags[-1] == "title":
            self.title += data.strip()


def test_a_page_has_a_head_and_the_given_body() -> None:
    made = html.page(
        "a < b & c", "p {}", "<body><p>{{one}} {{two}}</p></body>\n", {"one": "1", "two": "{{2}}"}
    )

    outline = Outline()
    outline.feed(made)
    assert outline.tags == ["html", "head", *["meta"] * 4, "title", "style", "body", "p"]
    assert outline.title == "a < b & c"
    assert "<p>1 {{2}}</p>" in made
    assert "<style>\np {}</style>" in made


def test_the_page_of_each_package_has_a_body() -> None:
    for package in ("tvmlite.te.visualizer", "tvmlite.autotune.report", "tvmlite.graph_page"):
        body = html.resource(package, "page.html").strip()
        assert body.startswith("<body")
        assert body.endswith("</body>")
