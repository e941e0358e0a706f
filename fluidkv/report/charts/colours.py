"""Colours that are read on white and on black: those of the palette by their names in `look.css`.

Any other keeps its hue and is made darker or lighter until it stands out: 3 to 1 for a line, 4.5
to 1 for words, as WCAG 2.2 (1.4.3, 1.4.11) asks.
"""

import colorsys
from functools import cache

from fluidkv.figures.style import BLACK, BLUE, GREEN, GREY, ORANGE, PALE, PURPLE

RGB = tuple[float, float, float]

LIGHT, DARK = "#ffffff", "#15181c"
"""The papers of `look.css`."""
PALETTE = {
    BLUE.lower(): "var(--blue)",
    ORANGE.lower(): "var(--orange)",
    GREEN.lower(): "var(--green)",
    PURPLE.lower(): "var(--purple)",
    GREY.lower(): "var(--grey)",
    PALE.lower(): "var(--line)",
    BLACK.lower(): "var(--ink)",
    "#000000": "var(--ink)",
    "#ffffff": "var(--paper)",
}
LINE, WORDS = 3.0, 4.5
_STEP = 0.01  # of lightness; a colour that is near enough is not moved further
_WORDS_OF = {"var(--ink)", "var(--grey)"}  # they are read as they are


def mark(colour: str) -> str:
    """CSS of a line or a marker, given as "#rrggbb"."""
    return PALETTE.get(colour) or _both(colour, LINE)


def words(colour: str) -> str:
    """CSS of text."""
    named = PALETTE.get(colour, "")
    return named if named in _WORDS_OF else _both(colour, WORDS)


def ground(colour: str) -> str:
    """CSS of an area, whose shade may be what tells it from the next: not changed."""
    return PALETTE.get(colour) or colour


def contrast(one: str, other: str) -> float:
    """Of two colours, 1 to 21, as WCAG 2 defines it."""
    low, high = sorted((_luminance(_rgb(one)), _luminance(_rgb(other))))
    return (high + 0.05) / (low + 0.05)


@cache
def _both(colour: str, least: float) -> str:
    light, dark = (_against(colour, paper, least) for paper in (LIGHT, DARK))
    return light if light == dark else f"light-dark({light}, {dark})"


def _against(colour: str, paper: str, least: float) -> str:
    """The colour, moved away from the paper as far as it takes."""
    hue, lightness, saturation = colorsys.rgb_to_hls(*_rgb(colour))
    step = -_STEP if paper == LIGHT else _STEP
    while contrast(colour, paper) < least:
        lightness = min(1.0, max(0.0, lightness + step))
        colour = _hex(colorsys.hls_to_rgb(hue, lightness, saturation))
    return colour


def _rgb(colour: str) -> RGB:
    red, green, blue = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    return red, green, blue


def _hex(rgb: RGB) -> str:
    return "#" + "".join(f"{round(255 * part):02x}" for part in rgb)


def _luminance(rgb: RGB) -> float:
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in rgb]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
