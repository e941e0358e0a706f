"""The whole answer about one system: equilibrium, certified stability, perturbed starts, a log.

`study_system` computes; `StudyResult` holds plain values and xarray data. Printing is the command
line's, drawing is `fluidkv.figures`'.
"""

from fluidkv.answers.study.result import StudyResult
from fluidkv.answers.study.simulation import Collapse, Simulation, StartGroup
from fluidkv.answers.study.study import LONGEST_DECODE, study_system

__all__ = [
    "LONGEST_DECODE",
    "Collapse",
    "Simulation",
    "StartGroup",
    "StudyResult",
    "study_system",
]
