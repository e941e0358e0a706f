"""Legends: each entry, how it looks, and which marks it speaks of."""

from collections.abc import Iterable
from typing import Any

from fluidkv.report.charts.marks.areas import area_look
from fluidkv.report.charts.marks.lines import line_look
from fluidkv.report.charts.marks.points import point_look
from fluidkv.report.charts.marks.segments import segment_look
from fluidkv.report.charts.marks.shapes import outline
from fluidkv.report.charts.words import plain

Spec = dict[str, Any]
Place = tuple[int, int]
"""Panel and mark."""


def read_legend(legend: Any, panels: Iterable[tuple[int, Spec]]) -> Spec:
    """Title and entries; `marks` of each are the panel and number of what it switches.

    A mark belongs to the entry with its label. One without a label belongs to the only entry that
    looks like it: the points beside the one that has the label, the band around a line.

    Args:
        panels: those that the legend speaks of, with their numbers.
    """
    texts = [" ".join(plain(text.get_text()).split()) for text in legend.get_texts()]
    looks = [_look(handle) for handle in legend.legend_handles]
    entries: list[Spec] = [
        {"label": label, "look": look, "marks": []}
        for label, look in zip(texts, looks, strict=True)
    ]
    for number, panel in panels:
        for place, mark in enumerate(panel["marks"]):
            if mark["kind"] == "grid":
                _say_cells(mark, entries)
            entry = _entry(mark, entries)
            if entry is not None:
                entry["marks"].append([number, place])
                mark.setdefault("name", entry["label"])
    return {"title": plain(legend.get_title().get_text()), "entries": entries}


def _say_cells(grid: Spec, entries: list[Spec]) -> None:
    """What a colour of a grid stands for, where the legend has all of them."""
    said = {entry["look"].get("fill"): entry["label"] for entry in entries}
    if all(colour in said for colour in grid["colours"]):
        grid["said"] = [said[colour] for colour in grid["colours"]]


def _entry(mark: Spec, entries: list[Spec]) -> Spec | None:
    if mark["kind"] in ("words", "grid"):
        return None
    if "label" in mark:
        return next((each for each in entries if each["label"] == mark["label"]), None)
    if mark["kind"] == "rule":
        return None
    for alike in (_same_look, _same_outline, _same_colour):
        found = [each for each in entries if alike(mark, each["look"])]
        if len(found) == 1:
            return found[0]
    return None


def _same_look(mark: Spec, look: Spec) -> bool:
    keys = ("stroke", "dash", "shape") if mark["kind"] == "line" else ("shape", "face", "edge")
    if mark["kind"] in ("band", "area", "bars", "box"):
        keys = ("fill",)
    elif "fill" in look:
        return False
    if mark["kind"] == "segments":
        keys = ("stroke", "dash")
    wanted = [mark.get(key) for key in keys]
    return any(wanted) and wanted == [look.get(key) for key in keys]


def _same_outline(mark: Spec, look: Spec) -> bool:
    """A hollow point beside a filled one."""
    return "edge" in mark and all(mark.get(k) == look.get(k) for k in ("shape", "edge"))


def _same_colour(mark: Spec, look: Spec) -> bool:
    """Greys and blacks are too common to tell one from another."""
    common = {"none", "var(--grey)", "var(--ink)", "var(--paper)", "var(--line)"}
    shades = (
        {each.get(key) for key in ("stroke", "face", "edge", "fill")} for each in (mark, look)
    )
    one, other = (found - common - {None} for found in shades)
    return bool(one & other) and ("fill" in look) <= ("fill" in mark)


def _look(handle: Any) -> Spec:
    from matplotlib.collections import LineCollection, PathCollection
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    if isinstance(handle, Line2D):
        return line_look(handle)
    if isinstance(handle, PathCollection):
        face, edge, _, width, size = point_look(handle, 0)
        shape = outline(handle.get_paths()[0])
        return {"shape": shape, "size": size, "face": face, "edge": edge, "edge_width": width}
    if isinstance(handle, LineCollection):
        stroke, _, width, dashed = segment_look(handle, 0)
        return {"stroke": stroke, "width": width} | ({"dash": "6 3.5"} if dashed else {})
    if isinstance(handle, Patch):
        return area_look(handle.get_facecolor(), handle.get_edgecolor(), handle.get_linewidth())
    raise NotImplementedError(f"a legend with a {type(handle).__name__}")
