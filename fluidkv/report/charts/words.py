"""Words of a figure as plain text: formulas in Unicode, and the unit in an axis label."""

import re

_COMMANDS = {
    "pi": "π",
    "mathcal": "",
    "mathdefault": "",
    "mathrm": "",
    "cdot": "·",
    "times": "×",
    "lambda": "λ",
    "delta": "δ",
}
_UP = str.maketrans("0123456789+-−=()nikx", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁼⁽⁾ⁿⁱᵏˣ")
_DOWN = str.maketrans("0123456789+-−=()aeknxij", "₀₁₂₃₄₅₆₇₈₉₊₋₋₌₍₎ₐₑₖₙₓᵢⱼ")
_TIMES = {"s", "ms", "minutes", "hours", "iterations", "rounds", "tokens", "%"}


def plain(text: str) -> str:
    r"""Text without TeX.

        >>> plain(r"input length $l_0$, tokens"), plain(r"$\mathdefault{10^{-3}}$")
        ('input length l₀, tokens', '10⁻³')

    What Unicode cannot lift stays beside its sign: "M^π". Words that
    are not known stay as they are.
    """
    return re.sub(r"\$([^$]*)\$", lambda found: _formula(found[1]), text)


def unit(label: str) -> tuple[str, str]:
    """What an axis shows, and in which unit; "" where the label has none.

    >>> unit("time (s)"), unit("p99 latency, s"), unit("in flight,\\n% of equilibrium")
    (('time', 's'), ('p99 latency', 's'), ('in flight', '% of equilibrium'))
    """
    label = " ".join(label.split())
    bracketed = re.fullmatch(r"(.+?) \(([^()]+)\)", label)
    if bracketed:
        return bracketed[1], bracketed[2]
    name, comma, last = label.rpartition(", ")
    if comma and last.split()[0] in _TIMES:
        return name, last
    return label, ""


def _formula(tex: str) -> str:
    tex = re.sub(r"\\([a-zA-Z]+)\s*", lambda found: _COMMANDS.get(found[1], found[1]), tex)
    tex = re.sub(r"\^(\{[^{}]*\}|.)", lambda found: _moved(found[1], _UP, "^"), tex)
    tex = re.sub(r"_(\{[^{}]*\}|.)", lambda found: _moved(found[1], _DOWN, "_"), tex)
    return tex.replace("{", "").replace("}", "")


def _moved(group: str, letters: dict[int, int], sign: str) -> str:
    """Raised or lowered where every letter can be."""
    inner = group.removeprefix("{").removesuffix("}")
    if inner and all(ord(letter) in letters for letter in inner):
        return inner.translate(letters)
    return sign + inner
