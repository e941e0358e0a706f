"""What a running engine showed: its counters, their oscillation, and a prediction beside them.

`read_timeseries` reads the counters, `measure` takes mean, iteration rate and dominant period from
the part with a backlog, `compare_with_prediction` holds them against a prediction.
"""

from fluidkv.measured.comparison import Comparison, compare_with_prediction
from fluidkv.measured.oscillation import (
    SURROGATE_SEED,
    Measurement,
    Oscillation,
    find_oscillation,
    measure,
)
from fluidkv.measured.timeseries import ReadReport, Timeseries, read_timeseries

__all__ = [
    "SURROGATE_SEED",
    "Comparison",
    "Measurement",
    "Oscillation",
    "ReadReport",
    "Timeseries",
    "compare_with_prediction",
    "find_oscillation",
    "measure",
    "read_timeseries",
]
