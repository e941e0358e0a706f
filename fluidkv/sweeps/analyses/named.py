"""Every analysis that a sweep knows, by its name."""

from fluidkv.answers.questions import QUESTIONS
from fluidkv.errors import InputError
from fluidkv.sweeps.analyses.certified import (
    EQUILIBRIA,
    PULSE,
    STABILITY,
    STABILITY_MAP,
    THRESHOLD,
)
from fluidkv.sweeps.analyses.mass import ATTRACTORS, BASINS, CONVERGENCE, SIMULATE
from fluidkv.sweeps.analyses.questions import analysis_of
from fluidkv.sweeps.analyses.served import PREEMPT, SERVE
from fluidkv.sweeps.analyses.wait import WAIT
from fluidkv.sweeps.analysis import Analysis
from fluidkv.text import nearest

_ALL = (
    STABILITY,
    STABILITY_MAP,
    THRESHOLD,
    EQUILIBRIA,
    PULSE,
    BASINS,
    CONVERGENCE,
    ATTRACTORS,
    SIMULATE,
    SERVE,
    PREEMPT,
    WAIT,
    *(analysis_of(each) for each in QUESTIONS.values() if each.sweep is not None),
)
ANALYSES: dict[str, Analysis] = {each.name: each for each in _ALL}
"""Name in a spec -> the analysis.

>>> from fluidkv.sweeps.analyses.named import ANALYSES
>>> list(ANALYSES)[:4]
['stability', 'stability_map', 'threshold', 'equilibria']
>>> [each.name for each in ANALYSES["stability"].settings]
['input_length', 'decode_length', 'share', 'capacity']
"""


def analysis_named(name: object) -> Analysis:
    """The analysis of a name.

    Raises:
        InputError: an unknown one, and what is near it.
    """
    if not isinstance(name, str) or name not in ANALYSES:
        raise InputError("analysis", name, nearest(name, ANALYSES))
    return ANALYSES[name]
