"""The page as one file: style, scripts and data inside, and a policy that lets nothing else in."""

import json
import re
from collections.abc import Iterable
from functools import cache
from importlib import resources
from typing import Any

import fluidkv
from fluidkv.explore import state as ranges
from fluidkv.explore.loads import LOADS, state_of
from fluidkv.explore.presets import PRESETS
from fluidkv.explore.state import Load, PageState
from fluidkv.footprints import footprint_stability
from fluidkv.report.head import head

SCRIPTS = (
    *("fft.js", "footprint.js", "map.js", "roots.js", "modes.js", "noise.js", "state.js"),
    *("axes.js", "circle.js", "batch.js", "controls.js", "page.js"),
)
"""In the order in which they are put together into one module."""


_FIGURES = "Figures of Congestion"


def page(*, opens: PageState | None = None, embed: bool = False) -> str:
    """HTML, complete in itself.

    Args:
        opens: what is shown where the address names nothing, chats if left out; its verdict is
            proved as well.
        embed: only the picture that moves, to stand in another page.
    """
    style = _asset("report", "look.css") + _asset("explore", "page.css")
    shown = opens or state_of("sharegpt")
    code = f"const data = {_inside_script(_data(shown))};\n" + "".join(map(_script, SCRIPTS))
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
    found = footprint_stability(state.server())
    return {
        "verdict": str(found.verdict),
        "evidence": str(found.evidence),
        "reason": found.reason,
        "radius": list(found.spectral_radius),
    }


def limits() -> dict[str, int]:
    """The largest values that a link may have, by the names that the script has for them."""
    return {
        "input": ranges.LONGEST_INPUT,
        "output": ranges.LONGEST_OUTPUT,
        "capacity": ranges.LARGEST_KV,
        "classes": ranges.MOST_CLASSES,
        "part": ranges.LARGEST_PART,
        "fewestIterations": ranges.FEWEST_ITERATIONS,
        "iterations": ranges.MOST_ITERATIONS,
        "stages": ranges.MOST_STAGES,
        "drafts": ranges.MOST_DRAFTS,
    }


def _data(opens: PageState) -> dict[str, Any]:
    of_loads = {name: state_of(name) for name in LOADS}
    loads = [state.load for state in (*of_loads.values(), opens) if isinstance(state.load, Load)]
    shown = [*of_loads.values(), *(preset.state for preset in PRESETS), opens]
    return {
        "version": fluidkv.__version__,
        "opens": opens.link,
        "limits": limits(),
        "loads": {load.name: {"words": load.words, "classes": load.counts} for load in loads},
        "presets": [
            *(
                _example(name, name, "Loads", LOADS[name], (), state)
                for name, state in of_loads.items()
            ),
            *(
                _example(p.name, f"{p.figure}: {p.title}", _FIGURES, p.finding, p.claims, p.state)
                for p in PRESETS
            ),
        ],
        "proved": _proved(shown),
    }


def _example(*fields: Any) -> dict[str, Any]:
    *told, state = fields
    names = ("name", "title", "group", "finding", "claims")
    return {**dict(zip(names, told, strict=True)), "link": state.link}


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
