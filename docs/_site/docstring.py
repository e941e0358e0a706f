"""A docstring of this house as Markdown: its sections as lists, its names as links.

Sections are Args, Returns, Raises, Fields and their like, indented below their word; Source and
Cost go on in their own line. Lines that begin with >>> are an example.
"""

import re
from collections.abc import Callable
from inspect import cleandoc
from itertools import groupby
from textwrap import dedent

Link = Callable[[str], str | None]
"""A name in backticks -> Markdown that links it, or None."""

_SECTIONS = {
    "Args": "Arguments",
    "Returns": "Returns",
    "Raises": "Raises",
    "Fields": "Fields",
    "Attributes": "Fields",
    "Yields": "Yields",
    "Example": "Example",
    "Examples": "Examples",
}
_HEAD = re.compile(rf"({'|'.join(_SECTIONS)})(, [^:]*)?:")
_ITEM = re.compile(r"(\*{0,2}[\w.`\[\]]+(?:, \*{0,2}[\w.`\[\]]+)*(?: \([^)]*\))?):\s+(\S.*)")
_ALIGNED = re.compile(r"(\S+) {2,}(\S.*)")
_CODE = re.compile(r"(``?[^`]+``?)")


def markdown(doc: str, link: Link) -> str:
    """The whole docstring."""
    out: list[str] = []
    heading = ""
    for block in _blocks(cleandoc(doc).splitlines()):
        head = _HEAD.fullmatch(block[0])
        if head and len(block) > 1:
            heading = head[1]
            out.append(f"**{_SECTIONS[heading]}**{head[2] or ''}")
            out += _body(dedent("\n".join(block[1:])).splitlines(), link, heading)
        else:
            out += _body(block, link, "")
    return "\n\n".join(out) + "\n"


def prose(text: str, link: Link) -> str:
    """One paragraph: backticks stay, everything else that Markdown knows is taken literally."""
    parts = _CODE.split(" ".join(text.split()))
    return "".join(_coded(p, link) if p.startswith("`") else _plain(p) for p in parts)


def _plain(text: str) -> str:
    return re.sub(r"([\\*_\[\]<>$|#~^])", r"\\\1", text)


def _coded(text: str, link: Link) -> str:
    return link(text.strip("`")) or text


def _blocks(lines: list[str]) -> list[list[str]]:
    """Paragraphs, where a section has its indented ones with it, blank lines and all."""
    found: list[list[str]] = []
    for filled, group in groupby(lines, key=lambda line: bool(line.strip())):
        if not filled:
            continue
        block = list(group)
        if found and block[0].startswith(" ") and _HEAD.fullmatch(found[-1][0]):
            found[-1] += ["", *block]
            continue
        for place, line in enumerate(block):  # a section may follow without a blank line
            if _HEAD.fullmatch(line) and place:
                found += [block[:place], block[place:]]
                break
        else:
            found.append(block)
    return found


def _body(lines: list[str], link: Link, section: str) -> list[str]:
    """Paragraphs, lists and examples of one level."""
    out: list[str] = []
    items: list[str] = []
    for block in _paragraphs(lines):
        if block[0].startswith(">>>"):
            out.append("```pycon\n" + "\n".join(block) + "\n```")
        elif len(block) > 1 and all(map(_ALIGNED.fullmatch, block)):
            pairs = [_ALIGNED.fullmatch(line) for line in block]
            out.append("\n\n".join(_item(m[1], [m[2]], link, "") for m in pairs if m))
        else:
            for entry in _entries(block):
                item = _ITEM.fullmatch(entry[0])
                named = item and (section not in ("", "Returns") or len(entry) > 1)
                if item and named:
                    items.append(_item(item[1], [item[2], *entry[1:]], link, section))
                    continue
                out += ["\n\n".join(items)] if items else []
                items = []
                out += _plain_entry(entry, link)
            out += ["\n\n".join(items)] if items else []
            items = []
    return out


def _plain_entry(entry: list[str], link: Link) -> list[str]:
    said, inner = entry[:1], dedent("\n".join(entry[1:])).splitlines()
    if not inner:
        return [prose(" ".join(said), link)]
    return [prose(" ".join(said), link), *_body(inner, link, "Fields")]


def _item(name: str, text: list[str], link: Link, section: str) -> str:
    """A term and what it is, as a definition list has it."""
    inner = dedent("\n".join(text[1:])).splitlines()
    lists = [n for n, line in enumerate(inner) if _ITEM.fullmatch(line) and _has_more(inner, n)]
    first = lists[0] if lists else len(inner)
    said = prose(" ".join([text[0], *inner[:first]]), link)
    term = ", ".join(_term(each, link, section) for each in name.split(", "))
    deeper = _body(inner[first:], link, "Fields") if lists else []
    rest = "".join("\n\n" + re.sub(r"(?m)^(?=.)", "  ", part) for part in deeper)
    return f"{term}\n: {said}{rest}"


def _has_more(lines: list[str], place: int) -> bool:
    return place + 1 < len(lines) and lines[place + 1].startswith(" ")


def _term(name: str, link: Link, section: str) -> str:
    word, bracket, rest = name.partition(" (")
    linked = link(word) if section == "Raises" else None
    return (linked or f"`{word.strip('`')}`") + _plain(bracket + rest)


def _paragraphs(lines: list[str]) -> list[list[str]]:
    """Blocks of lines; an example and the words right above it are two."""
    found = []
    for filled, group in groupby(lines, key=lambda line: bool(line.strip())):
        if filled:
            block = list(group)
            code = [n for n, line in enumerate(block) if line.startswith(">>>")]
            start = code[0] if code else 0
            found += [part for part in (block[:start], block[start:]) if part]
    return found


def _entries(block: list[str]) -> list[list[str]]:
    """Lines with the indented ones below them; lines of one paragraph together."""
    found: list[list[str]] = []
    for line in block:
        if line.startswith(" ") and found:
            found[-1].append(line)
        elif found and not _ITEM.fullmatch(line) and not _is_item(found[-1]):
            found[-1][0] += f" {line}"
        else:
            found.append([line])
    return found


def _is_item(entry: list[str]) -> bool:
    return len(entry) > 1
