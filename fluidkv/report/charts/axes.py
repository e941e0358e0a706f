"""Axes of a canvas: scale, limits, ticks, labels."""

import re
from typing import Any

import numpy as np

from fluidkv.figures.figure import Axes
from fluidkv.report.charts.thin import rounded
from fluidkv.report.charts.words import plain, unit

Spec = dict[str, Any]
_WRITTEN = re.compile(r"([+−-]?)([\d,]+(?:\.\d+)?(?:e[+-]?\d+)?)(\D*)")


def read_axis(ax: Axes, which: str, shared: str) -> Spec:
    """One axis, "x" or "y", as the browser draws it again.

    Args:
        shared: label of the figure for axes that have none of their own.

    Returns:
        limits; scale, with what it takes; ticks as [value, label, 1 if bold]; `written`: how
        numbers are written where a zoom needs others, None where only the given ticks will do.
    """
    axis = getattr(ax, f"{which}axis")
    limits = getattr(ax, f"get_{which}lim")()
    label = plain(axis.get_label_text()) or plain(_of_siblings(ax, which)) or plain(shared)
    name, of = unit(label)
    ticks = _ticks(axis, limits)
    return {
        "label": " ".join(label.split()),
        "name": name,
        "unit": of,
        "own": bool(axis.get_label_text()),
        "limits": rounded(limits, limits, axis.get_scale()),
        **_scale(axis),
        "ticks": ticks,
        "minor": rounded(_within(axis.get_minorticklocs(), limits), limits, axis.get_scale()),
        "written": _written(axis, ticks),
        "shown": bool(ax.axison and axis.get_visible() and _labelled(axis)),
        "side": axis.get_ticks_position(),
    }


def _of_siblings(ax: Axes, which: str) -> str:
    """The label of axes that share their numbers and show it."""
    group = getattr(ax, f"get_shared_{which}_axes")().get_siblings(ax)
    labels = [getattr(each, f"get_{which}label")() for each in group]
    return next(filter(None, labels), "")


def _scale(axis: Any) -> Spec:
    name = axis.get_scale()
    transform = axis.get_transform()
    if name == "symlog":
        return {
            "scale": name,
            "threshold": float(transform.linthresh),
            "share": float(transform.linscale),
            "base": float(transform.base),
        }
    if name not in ("linear", "log"):
        raise NotImplementedError(f"an axis with the scale {name!r}")
    return {"scale": name}


def _within(places: Any, limits: tuple[float, float]) -> list[float]:
    """What lies on the axis, with room for rounding."""
    low, high = sorted(limits)
    slack = 1e-9 * (high - low)
    return [float(p) for p in np.asarray(places, float) if low - slack <= p <= high + slack]


def _ticks(axis: Any, limits: tuple[float, float]) -> list[list[Any]]:
    """Major ticks, and minor ones that have words; of plain numbers the browser makes labels."""
    from matplotlib.ticker import LogFormatter, ScalarFormatter

    kinds = ((axis.get_major_ticks(), axis.major), (axis.get_minor_ticks(), axis.minor))
    found = []
    for ticks, kind in kinds:
        own = isinstance(kind.formatter, ScalarFormatter | LogFormatter)
        for tick in ticks:
            value, text = float(tick.get_loc()), tick.label1.get_text() or tick.label2.get_text()
            if not _within([value], limits) or (kind is axis.minor and not text):
                continue
            words = None if own and text else plain(text)
            bold = tick.label1.get_fontweight() == "bold"
            found.append([*rounded([value], limits, axis.get_scale()), words, int(bold)])
    return sorted(found, key=lambda tick: tick[0])


def _labelled(axis: Any) -> bool:
    ticks = axis.get_major_ticks()
    return not ticks or any(t.label1.get_visible() or t.label2.get_visible() for t in ticks)


def _written(axis: Any, ticks: list[list[Any]]) -> Spec | None:
    """{"times", "plus", "comma", "after"} of numbers; None for names and dates.

    A formatter is a function. What it does is read off its labels, and believed where it explains
    all of them.
    """
    from matplotlib.ticker import LogFormatter, ScalarFormatter

    if isinstance(axis.major.formatter, ScalarFormatter | LogFormatter):
        return {"times": 1, "plus": 0, "after": ""}
    labels = [(value, words) for value, words, _ in ticks if words]
    for times in (1, 100):
        rules = {_rule(value, words, times) for value, words in labels}
        if len(labels) > 1 and None not in rules and len({rule[1] for rule in rules if rule}) == 1:
            signs = any(rule[0] for rule in rules if rule)
            after = next(rule[1] for rule in rules if rule)
            return {"times": times, "plus": int(signs), "after": after}
    return None


def _rule(value: float, words: str, times: float) -> tuple[bool, str] | None:
    """Whether a plus is written, and what stands behind the number; None if it is another."""
    found = _WRITTEN.fullmatch(words)
    if not found:
        return None
    sign = -1 if found[1] in ("-", "−") and found[1] else 1
    said = sign * float(found[2].replace(",", ""))
    near = abs(said - times * value) <= 0.006 * abs(times * value) + 1e-12
    return (found[1] == "+", found[3]) if near else None
