"""The numbers of a chart as HTML tables: for screen readers, and where there is no JavaScript."""

from collections.abc import Sequence
from html import escape
from typing import Any

Spec = dict[str, Any]
Rows = list[list[str]]
ROWS = 100
"""Of a table at most; of a longer one every second is left out, or two of three, and so on."""


def tables(spec: Spec) -> str:
    """A table for the lines of each panel that share their places, and one for all the rest."""
    parts = []
    for number, panel in enumerate(spec["panels"]):
        name = _panel_name(spec, number)
        for header, rows in (*_curves(panel), *_others(panel)):
            every = -(-len(rows) // ROWS)
            thinned = f"; 1 row of every {every}" if every > 1 else ""
            parts.append(_html(f"{name}{thinned}", header, rows[::every]))
        notes = [" ".join(m["text"].split()) for m in panel["marks"] if m["kind"] == "words"]
        if any(notes):
            parts.append(f"<p>In the picture: {escape('; '.join(filter(None, notes)))}.</p>")
    return "".join(parts)


def _panel_name(spec: Spec, number: int) -> str:
    panel, many = spec["panels"][number], len(spec["panels"])
    words = "; ".join(filter(None, (panel["title"], panel["y"]["label"] or panel["x"]["label"])))
    return f"Panel {number + 1} of {many}: {words}" if many > 1 else words or spec["title"]


def _curves(panel: Spec) -> list[tuple[list[str], Rows]]:
    """Wide tables: places, and a column for each line that has them."""
    groups: dict[str, list[Spec]] = {}
    for mark in panel["marks"]:
        if mark["kind"] == "line":
            groups.setdefault(repr(mark["x"]), []).append(mark)
    found = []
    for lines in groups.values():
        header = [panel["x"]["label"] or "x", *(line["name"] for line in lines)]
        columns = zip(lines[0]["x"], *(line["y"] for line in lines), strict=True)
        found.append((header, [_row(panel, row) for row in columns]))
    return found


def _row(panel: Spec, row: Sequence[float | None]) -> list[str]:
    first, *rest = row
    return [_said(panel["x"], first), *(_said(panel["y"], value) for value in rest)]


def _others(panel: Spec) -> list[tuple[list[str], Rows]]:
    """A long table: every other value with the name of its series."""
    rows: Rows = []
    x, y = panel["x"], panel["y"]
    for mark in panel["marks"]:
        kind = mark["kind"]
        if kind == "points":
            cells = zip(mark["x"], mark["y"], strict=True)
            rows += [[mark["name"], _said(x, a), _said(y, b)] for a, b in cells]
        elif kind in ("bars", "segments"):
            ends = zip(mark["x"], mark["x2"], mark["y"], mark["y2"], strict=True)
            rows += [[mark["name"], _ends(x, a, b), _ends(y, c, d)] for a, b, c, d in ends]
        elif kind == "band":
            along, over = (x, y) if mark["along"] == "x" else (y, x)
            cells = zip(mark["at"], mark["low"], mark["high"], strict=True)
            said = [(_said(along, at), _ends(over, low, high)) for at, low, high in cells]
            rows += [[mark["name"], *(pair if along is x else pair[::-1])] for pair in said]
        elif kind == "rule" and "name" in mark:
            value = _said(x if mark["along"] == "v" else y, mark["at"])
            rows.append([mark["name"], *((value, "") if mark["along"] == "v" else ("", value))])
    header = ["series", x["label"] or "x", y["label"] or "y"]
    return [(header, rows)] if rows else []


def _said(axis: Spec, value: float | None) -> str:
    """A number as it was rounded, or the name of a place that has one."""
    if value is None:
        return "-"
    if axis["written"] is None:
        for place, words, _ in axis["ticks"]:
            if words and abs(place - value) <= 0.5 and axis["scale"] == "linear":
                return " ".join(words.split())
    return f"{value:,}" if isinstance(value, int) else f"{value:,.12g}"


def _ends(axis: Spec, low: float | None, high: float | None) -> str:
    one, other = _said(axis, low), _said(axis, high)
    return one if one == other else f"{one} to {other}"


def _html(caption: str, header: list[str], rows: Rows) -> str:
    head = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in header)
    body = "".join("<tr>" + "".join(f"<td>{escape(c)}</td>" for c in row) + "</tr>" for row in rows)
    return (
        f"<table><caption>{escape(caption)}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{body}</tbody></table>"
    )
