"""The page on JSON, read: every key of every command, its unit, what it is, when it is there."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import product

from docs._site.layout import ROOT
from docs._site.question_keys import with_keys

PAGE = ROOT / "docs" / "json.md"
EVERY = "Every command"
"""The section with what stands before each answer."""
_KIND = re.compile(r"→ \[(\w+)\]")


@dataclass(frozen=True)
class Key:
    """One path of a section.

    Fields:
        path: "a.b[].*": `[]` is each of a list, `*` a name of its own.
        unit: of its row; "" where there is none.
        what: of its row.
        sometimes: whether the row begins with "if".
        kind: the section whose keys stand below it; None: none.
    """

    path: str
    unit: str
    what: str
    sometimes: bool
    kind: str | None


@cache
def sections() -> dict[str, tuple[Key, ...]]:
    """Rows of the tables of the page, a path each, by section."""
    parts = re.split(r"^## (.+)$", with_keys(PAGE.read_text(encoding="utf-8")), flags=re.M)[1:]
    return {
        name: tuple(key for line in _rows(text) for key in _keys(line))
        for name, text in zip(parts[::2], parts[1::2], strict=True)
    }


@cache
def flat(section: str) -> tuple[Key, ...]:
    """The keys of a section with those of the sections that it names, below each other."""
    found: list[Key] = []
    for key in sections()[section]:
        found.append(key)
        for inner in flat(key.kind) if key.kind else ():
            path = f"{key.path}.{inner.path}"
            found.append(Key(path, inner.unit, inner.what, inner.sometimes, None))
    return tuple(found)


def _rows(text: str) -> Iterator[list[str]]:
    for line in text.replace("\\|", "/").replace("\\*", "*").splitlines():
        if line.startswith("| `"):
            yield [cell.strip() for cell in line.strip("|").split("|")]


def _keys(row: list[str]) -> Iterator[Key]:
    """Each path of a row; as many units as paths are theirs in order, else they share them all."""
    keys, units, what = row
    paths = [each for path in re.findall(r"`([^`]+)`", keys) for each in _alternatives(path)]
    said = [unit.strip() for unit in re.split("[,;]", units)]
    own = said if len(said) == len(paths) else [" or ".join(dict.fromkeys(said))] * len(paths)
    kind = _KIND.search(what)
    for path, unit in zip(paths, own, strict=True):
        yield Key(path, unit, what, what.startswith(("if ", "If ")), kind[1] if kind else None)


def _alternatives(path: str) -> Iterator[str]:
    """`a.{b, c}` is `a.b` and `a.c`."""
    parts = re.split(r"\{([^}]*)\}", path)
    choices = [part.split(", ") if i % 2 else [part] for i, part in enumerate(parts)]
    return ("".join(chosen) for chosen in product(*choices))
