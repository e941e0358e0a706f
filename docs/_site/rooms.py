"""The page of rooms: every folder and file of the package, by the first line of its docstring."""

import ast
from pathlib import Path

from docs._site.docstring import prose
from docs._site.layout import ROOT, Pages

_PACKAGE, _PAPERS = ROOT / "fluidkv", ROOT / "papers" / "fluidkv_papers"
_INTRO = """\
# Rooms

Every folder of the package with its files, each with the first line of its docstring.
[Architecture](architecture.md) says how the rooms depend on each other, and the
[reference](reference/index.md) has the public names of each.
"""


def rooms_page() -> Pages:
    """`rooms.md`: the files at the top of the package, a section for each room, and the papers."""
    top = "".join(_files(_PACKAGE, 0))
    rooms = "".join(f"\n## {room.name}\n\n{_below(room)}" for room in [*_rooms(_PACKAGE), _PAPERS])
    return {"rooms.md": f"{_INTRO}\n{top}{rooms}"}


def _rooms(folder: Path) -> list[Path]:
    """Folders that are rooms, in the order of the alphabet."""
    return sorted(path.parent for path in folder.glob("*/__init__.py"))


def _below(room: Path) -> str:
    """What a room is, its files, and the rooms in it."""
    return f"{_first(room / '__init__.py')}\n\n" + "".join(_lines(room, 0))


def _lines(room: Path, depth: int) -> list[str]:
    lines = _files(room, depth)
    for inner in _rooms(room):
        lines.append(f"{'  ' * depth}- `{inner.name}/`: {_first(inner / '__init__.py')}\n")
        lines += _lines(inner, depth + 1)
    return lines


def _files(room: Path, depth: int) -> list[str]:
    files = sorted(path for path in room.glob("*.py") if not path.stem.startswith("__"))
    return [f"{'  ' * depth}- `{path.stem}`: {_first(path)}\n" for path in files]


def _first(path: Path) -> str:
    """The first line of a file's docstring."""
    text = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
    return prose(text.partition("\n")[0], lambda _: None)
