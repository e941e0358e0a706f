"""Mass dynamics on the memory boundary, in JAX: models, starts, and simulation in batches."""

from fluidkv.fluid.boundary import nearby_starts, slice_starts, uniform_starts
from fluidkv.fluid.events import event_log
from fluidkv.fluid.model import MassModel, class_model, cohort_model
from fluidkv.fluid.simulation import RECORDS, scan_trajectory, simulate
from fluidkv.fluid.starts import (
    burst_state,
    empty_state,
    equilibrium_state,
    mode_starts,
    perturbed_starts,
)
from fluidkv.fluid.whole import simulate_whole

__all__ = [
    "RECORDS",
    "MassModel",
    "burst_state",
    "class_model",
    "cohort_model",
    "empty_state",
    "equilibrium_state",
    "event_log",
    "mode_starts",
    "nearby_starts",
    "perturbed_starts",
    "scan_trajectory",
    "simulate",
    "simulate_whole",
    "slice_starts",
    "uniform_starts",
]
