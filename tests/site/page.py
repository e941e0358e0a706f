"""What a built page links to, loads and can be linked at."""

from dataclasses import dataclass, field
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

from docs._site.layout import ROOT

EXTERNAL = ROOT / "docs" / "_site" / "external.txt"
"""Addresses on other hosts that pages link to, one a line."""

_LOADS = {"img": "src", "script": "src", "iframe": "src", "source": "src", "link": "href"}


@dataclass
class Page(HTMLParser):
    """One page.

    Fields:
        links: what its anchors lead to.
        loads: what a browser fetches to show it.
        ids: where one can link to.
    """

    links: list[str] = field(default_factory=list)
    loads: list[str] = field(default_factory=list)
    ids: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        said = {name: value or "" for name, value in attrs}
        self.ids |= {said["id"]} if "id" in said else set()
        if tag == "a" and "href" in said:
            self.links.append(said["href"])
        address = said.get(_LOADS.get(tag, ""), "")
        names_a_page = tag == "link" and said.get("rel") in ("index", "search", "prev", "next")
        if address and not address.startswith("data:") and not names_a_page:
            self.loads.append(address)


@cache
def read(path: Path) -> Page:
    page = Page()
    page.feed(path.read_text(encoding="utf-8"))
    return page


def is_elsewhere(address: str) -> bool:
    """Whether it names another host."""
    return address.startswith(("http:", "https:", "//"))
