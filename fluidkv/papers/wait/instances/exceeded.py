"""How often runs exceed a memory, against the chance that a theorem allows."""

from fractions import Fraction
from typing import TYPE_CHECKING

from fluidkv.ledger.claim import Outcome
from fluidkv.ledger.outcomes import verdict
from fluidkv.papers.wait.instances.statistics import at_most
from fluidkv.verdict import Evidence

if TYPE_CHECKING:
    import numpy as np


def counted(peaks: "np.ndarray", capacity: int, delta: Fraction, note: str) -> Outcome:
    """Holds if the chance to exceed is at most delta, at a confidence of 99 %.

    Args:
        peaks: most tokens held in each run.
        capacity: tokens.
        delta: the chance allowed.
        note: of the outcome.
    """
    over = int((peaks > capacity).sum())
    upper = at_most(over, peaks.size)
    return Outcome(
        verdict(upper <= delta),
        Evidence.SAMPLED,
        ours=f"{over} of {peaks.size} runs exceed {capacity} tokens: at most {upper:.2%}",
        paper=f"at most {delta}",
        note=f"At a confidence of 99 % (Clopper and Pearson, one-sided). {note}",
    )
