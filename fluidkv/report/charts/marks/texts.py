"""Text and Annotation: words at a place, moved by points, with an arrow or without."""

from typing import Any

from fluidkv.figures.figure import Axes
from fluidkv.report.charts import colours
from fluidkv.report.charts.marks.placed import Spec, coordinates, hexed
from fluidkv.report.charts.thin import rounded
from fluidkv.report.charts.words import plain

_NAMED = {"data": "", "axes fraction": "axes"}


def read_text(ax: Axes, text: Any) -> list[Spec]:
    """Words of a panel."""
    from matplotlib.text import Annotation

    if isinstance(text, Annotation):
        return _annotation(ax, text)
    return [_words(text) | _at(ax, text.get_position(), coordinates(ax, text.get_transform()))]


def _annotation(ax: Axes, note: Any) -> list[Spec]:
    """Words beside a point; with an arrow, `to` is where it points."""
    point = _at(ax, note.xy, _named(ax, note.xycoords))
    if note.anncoords == "offset points":
        x, y = note.xyann
        beside: Spec = point | {"dx": round(float(x), 1), "dy": round(float(y), 1)}
    else:
        beside = _at(ax, note.xyann, _named(ax, note.anncoords))
    found = _words(note) | beside
    if note.arrow_patch is None:
        return [found] if note.get_text() else []
    colour, _ = hexed(note.arrow_patch.get_edgecolor())
    style = type(note.arrow_patch.get_arrowstyle()).__name__
    heads = {"Curve": 0, "CurveA": 2, "CurveB": 1, "CurveAB": 3}  # 1: at the point, 2: at the words
    return [found | {"to": point, "heads": heads[style], "stroke": colours.mark(colour)}]


def _named(ax: Axes, said: Any) -> Spec:
    if isinstance(said, str | tuple):
        pair = (said, said) if isinstance(said, str) else said
        return {f"c{axis}": "axes" for axis, of in zip("xy", pair, strict=True) if _NAMED[of]}
    return coordinates(ax, said)


def _at(ax: Axes, point: Any, placed: Spec) -> Spec:
    found = dict(placed)
    for axis, value in zip("xy", point, strict=True):
        limits = (0, 1) if f"c{axis}" in placed else getattr(ax, f"get_{axis}lim")()
        scale = "linear" if f"c{axis}" in placed else getattr(ax, f"get_{axis}scale")()
        value = getattr(ax, f"convert_{axis}units")(value)
        found[axis] = rounded([value], limits, scale)[0]
    return found


def _words(text: Any) -> Spec:
    found: Spec = {"kind": "words", "text": plain(text.get_text())}
    found["fill"] = colours.words(hexed(text.get_color())[0])
    found |= {"size": round(float(text.get_fontsize()), 1)}
    found |= {"ha": text.get_horizontalalignment(), "va": text.get_verticalalignment()}
    if text.get_fontweight() in ("bold", 700):
        found["bold"] = 1
    return found | ({"turned": int(text.get_rotation())} if text.get_rotation() else {})
