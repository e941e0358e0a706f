"""The page as one file: style, scripts and data inside, and a policy that lets nothing else in."""

import json
import re
from collections.abc import Iterable
from functools import cache
from importlib import resources
from typing import Any

import fluidkv
from fluidkv.exact.linear_stability import stability
from fluidkv.explore import state as ranges
from fluidkv.explore.presets import NAMED, PRESETS
from fluidkv.explore.state import PageState
from fluidkv.report.head import head

SCRIPTS = ("map.js", "roots.js", "state.js", "axes.js", "circle.js", "batch.js", "page.js")
"""In the order in which they are put together into one module."""

OPENS = NAMED["figure-2b"].state
"""What a page shows whose address names nothing."""


def page(*, opens: PageState = OPENS, embed: bool = False) -> str:
    """HTML, complete in itself.

    Args:
        opens: what is shown where the address names nothing; its verdict is proved as well.
        embed: only the picture that moves, to stand in another page.
    """
    style = _asset("report", "look.css") + _asset("explore", "page.css")
    code = f"const data = {_inside_script(_data(opens))};\n" + "".join(map(_script, SCRIPTS))
    begins = head(
        "What does a full KV cache do?",
        style=style,
        scripts=[code],
        room="explore",
        attributes=" data-embed" if embed else "",
    )
    return (
        f"{begins}<body>\n{_asset('explore', 'page.html')}"
        f'<script type="module">{code}</script>\n</body>\n</html>\n'
    )


@cache
def proved(state: PageState) -> dict[str, Any]:
    """The certified verdict of a state's system; JSON values."""
    found = stability(state.system())
    return {
        "verdict": str(found.verdict),
        "evidence": str(found.evidence),
        "reason": found.reason,
        "radius": list(found.spectral_radius),
    }


def _data(opens: PageState) -> dict[str, Any]:
    shown = [*(preset.state for preset in PRESETS), opens]
    return {
        "version": fluidkv.__version__,
        "opens": opens.link,
        "limits": {
            "input": ranges.LONGEST_INPUT,
            "output": ranges.LONGEST_OUTPUT,
            "capacity": ranges.LARGEST_KV,
            "classes": ranges.MOST_CLASSES,
            "part": ranges.LARGEST_PART,
            "fewestIterations": ranges.FEWEST_ITERATIONS,
            "iterations": ranges.MOST_ITERATIONS,
        },
        "presets": [
            {
                "name": preset.name,
                "title": preset.title,
                "figure": preset.figure,
                "finding": preset.finding,
                "claims": list(preset.claims),
                "link": preset.state.link,
            }
            for preset in PRESETS
        ],
        "proved": _proved(shown),
    }


def _proved(states: Iterable[PageState]) -> dict[str, Any]:
    """By what decides them; states that differ in memory or start alone share a verdict."""
    found: dict[str, Any] = {}
    for state in states:
        if state.key not in found:
            found[state.key] = proved(state)
    return found


def _script(name: str) -> str:
    """A module's text without what ties it to other modules: they are one module here."""
    return re.sub(
        r"^export (?=(async )?(function|class|const) )", "", _asset("explore", name), flags=re.M
    )


def _asset(room: str, name: str) -> str:
    return resources.files(f"fluidkv.{room}").joinpath("assets", name).read_text(encoding="utf-8")


def _inside_script(value: Any) -> str:
    """JSON in which nothing ends the script that it stands in."""
    return json.dumps(value, allow_nan=False).replace("<", "\\u003c")
