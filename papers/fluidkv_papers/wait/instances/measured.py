"""Runs of counts against what a theorem allows: how often memory is exceeded, a mean queue."""

from fractions import Fraction
from typing import TYPE_CHECKING

from fluidkv.ledger import Finding
from fluidkv.wait.theory.lindley import kingman
from fluidkv.wait.theory.nested import nested_time
from fluidkv_papers.wait.instances.nested import NESTED, instance
from fluidkv_papers.wait.instances.statistics import ERRORS, at_most, mean_and_error
from fluidkv_papers.wait.paper import LOST

if TYPE_CHECKING:
    import numpy as np
    import xarray as xr


def counted(peaks: "np.ndarray", capacity: int, delta: Fraction, note: str) -> Finding:
    """Holds if the chance to exceed is at most delta, at a confidence of 99 %.

    Args:
        peaks: most tokens held in each run.
        capacity: tokens.
        delta: the chance allowed.
        note: of the finding.
    """
    over = int((peaks > capacity).sum())
    upper = at_most(over, peaks.size)
    return Finding(
        upper <= delta,
        f"{over} of {peaks.size} runs exceed {capacity} tokens: at most {upper:.2%}",
        paper=f"at most {delta}",
        note=f"At a confidence of 99 % (Clopper and Pearson, one-sided). {note}",
    )


def first_queue(runs: "xr.Dataset", note: str) -> Finding:
    """Holds if the mean queue before segment 1 is at most n_1 + Var / (2 |drift|).

    Args:
        runs: of `nested.instance`, with its least thresholds.
        note: of the finding.
    """
    n, arrivals = NESTED[0], instance().rates[0] * nested_time(instance(), NESTED, 1, 0)
    bound = n + kingman(arrivals - n, arrivals)
    mean, error = mean_and_error(runs.mean_queue.values[:, 0])
    above = mean - ERRORS * error > bound
    return Finding(
        not above or f"{mean:.3f}",
        f"{mean:.3f} ± {error:.3f}, at most {bound}",
        paper=f"{LOST}; given back as n_1 + Var / (2 |drift|)",
        note=f"n = {NESTED}, {runs.sizes['run']} runs, as batches begin, ± one standard error, "
        f"{ERRORS} of which are allowed. {note}",
    )
