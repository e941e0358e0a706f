"""A name for every series, so that a value can be read out with what it is."""

from collections import Counter
from typing import Any

_KINDS = {
    "line": "line",
    "points": "points",
    "bars": "bars",
    "segments": "ranges",
    "band": "band",
    "grid": "cells",
}
READABLE = tuple(_KINDS)
"""Marks that have values of their own."""


def give_names(panels: list[dict[str, Any]]) -> None:
    """Its label, its legend's, else what the axis shows; numbered where several have none."""
    for panel in panels:
        nameless = []
        for mark in panel["marks"]:
            name = mark.pop("label", None) or mark.get("name")
            if name:
                mark["name"] = name
            elif mark["kind"] in READABLE:
                nameless.append(mark)
        counts = Counter(mark["kind"] for mark in nameless)
        seen: Counter[str] = Counter()
        for mark in nameless:
            kind = mark["kind"]
            seen[kind] += 1
            of = panel["y"]["name"] or panel["title"] or "values"
            many = f", {_KINDS[kind]} {seen[kind]} of {counts[kind]}" if counts[kind] > 1 else ""
            mark["name"] = of + many
        _tell_hollow_from_filled(panel["marks"])


def _tell_hollow_from_filled(marks: list[dict[str, Any]]) -> None:
    """Points of one legend entry may come filled and hollow, which says something."""
    points = [mark for mark in marks if mark["kind"] == "points"]
    faces: dict[str, set[str]] = {}
    for mark in points:
        faces.setdefault(mark["name"], set()).add(mark["face"])
    for mark in points:
        hollow = mark["face"] in ("none", "var(--paper)")
        if hollow and len(faces[mark["name"]]) > 1:
            mark["name"] += ", hollow"
