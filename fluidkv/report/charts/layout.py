"""Where panels stand to each other: rows of columns of rows, as the browser lays them out."""

from collections.abc import Mapping
from typing import Any

Box = tuple[float, float, float, float]
"""Left, lower, right and upper edge, as shares of the figure."""
_TOUCH = 1e-3  # panels may share an edge


def arranged(boxes: Mapping[int, Box]) -> Any:
    """A panel's number, or {"rows": [...], "share": [...]}, or the same with "columns".

    `share` is how much of the height, or of the width, each has. Panels that cover each other
    stand below each other.
    """
    if len(boxes) == 1:
        return next(iter(boxes))
    for name, low, high, sign in (("rows", 1, 3, -1), ("columns", 0, 2, 1)):
        groups = _cut(boxes, low, high)
        if len(groups) > 1:
            groups = groups[::sign]
            return {
                name: [arranged(group) for group in groups],
                "share": [round(_extent(group, low, high), 3) for group in groups],
            }
    return {"rows": list(boxes), "share": [1] * len(boxes)}


def _cut(boxes: Mapping[int, Box], low: int, high: int) -> list[dict[int, Box]]:
    """Groups with a gap between them, in the order of the coordinate."""
    groups: list[dict[int, Box]] = []
    end = float("-inf")
    for index, box in sorted(boxes.items(), key=lambda item: item[1][low]):
        if box[low] >= end - _TOUCH:
            groups.append({})
        groups[-1][index] = box
        end = max(end, box[high])
    return groups


def _extent(boxes: Mapping[int, Box], low: int, high: int) -> float:
    return max(box[high] for box in boxes.values()) - min(box[low] for box in boxes.values())
