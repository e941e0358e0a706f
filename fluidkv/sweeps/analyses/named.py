"""Every analysis that a sweep knows, by its name."""

from fluidkv.errors import InputError
from fluidkv.sweeps.analyses.stability import STABILITY
from fluidkv.sweeps.analyses.threshold import THRESHOLD
from fluidkv.sweeps.analysis import Analysis
from fluidkv.text import nearest

ANALYSES: dict[str, Analysis] = {each.name: each for each in (STABILITY, THRESHOLD)}
"""Name in a spec -> the analysis."""


def analysis_named(name: object) -> Analysis:
    """The analysis of a name.

    Raises:
        InputError: an unknown one, and what is near it.
    """
    if not isinstance(name, str) or name not in ANALYSES:
        raise InputError("analysis", name, nearest(name, ANALYSES))
    return ANALYSES[name]
