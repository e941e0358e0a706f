"""HTML as a reader that does not run it sees it."""

from dataclasses import dataclass, field
from html.parser import HTMLParser

_VOID = {"meta", "link", "br", "hr", "img", "input"}


@dataclass
class Markup(HTMLParser):
    """What a document consists of.

    Fields:
        text: of all elements but scripts and styles, blanks as one.
        ids: of elements, in order.
        links: what `href` and `src` name.
        tags: how often each is opened.
        handlers: attributes that would run something.
        wrong: elements that are closed and were not open.
    """

    ids: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    tags: dict[str, int] = field(default_factory=dict)
    handlers: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    parts: list[str] = field(default_factory=list)
    open_: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    @property
    def text(self) -> str:
        return " ".join("".join(self.parts).split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] = self.tags.get(tag, 0) + 1
        if tag not in _VOID:
            self.open_.append(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.append(value or "")
            if name in ("href", "src"):
                self.links.append(value or "")
            if name.startswith("on") or name == "style":
                self.handlers.append(name)
        self.parts.append(" ")

    def handle_endtag(self, tag: str) -> None:
        if not self.open_ or self.open_.pop() != tag:
            self.wrong.append(tag)
        self.parts.append(" ")

    def handle_data(self, data: str) -> None:
        if not {"script", "style"} & set(self.open_):
            self.parts.append(data)


def read(html: str) -> Markup:
    found = Markup()
    found.feed(html)
    found.close()
    return found
