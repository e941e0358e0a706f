"""Congestion, Example 3 and the captions of Figures 6 and 8: what the cascade as a whole says."""

from fractions import Fraction
from functools import cache
from itertools import islice, pairwise
from typing import TYPE_CHECKING

from fluidkv.ledger.claim import Outcome
from fluidkv.ledger.outcomes import decimal, equals, holds_for
from fluidkv.papers.congestion.paper import congestion

if TYPE_CHECKING:
    from fluidkv.exact.one_class.cascade import Cascade
    from fluidkv.workload import System

_START = (Fraction(5, 2), Fraction(2), Fraction(17, 10))


def _system() -> "System":
    from fluidkv.workload import RequestClass, System, Workload

    return System(Workload((RequestClass(2, 3),)), Fraction(24))


@cache
def _way() -> "Cascade":
    """The literal model for thirty iterations, analysed."""
    from fluidkv.exact.mass import iterates
    from fluidkv.exact.one_class.cascade import cascade

    states = [state[0] for state in islice(iterates(_system(), [_START]), 31)]
    return cascade(states, _system())


def _perturbation() -> Outcome:
    from fluidkv.exact.survival import eviction_free_equilibrium

    return equals(_START[0] - eviction_free_equilibrium(_system()).rate, "1/2")


def _depleted() -> Outcome:
    """Mass of the position that dies at n = 16, whenever an eviction has trimmed it."""
    found = _way()
    (dying,) = found.support_losses[-1].positions
    times = [e.iteration for e in found.evictions if e.iteration <= 16]
    masses = [Fraction(found.states[n][(dying + n) % 3]) for n in times]
    falling = all(a > b for a, b in pairwise(masses))
    return holds_for(
        None if falling and masses[-1] == 0 else str(masses),
        ours=f"{', '.join(decimal(x, 2) for x in masses)} at n = {', '.join(map(str, times))}",
        paper="evictions progressively deplete the second live position",
    )


def _phases() -> Outcome:
    """Levels before 7, from 7 on, and from 17 on; the last n before the final cycle."""
    levels = _way().levels
    ours = [max(levels[:7]), min(levels[7:16]), max(levels[7:16]), min(levels[17:])]
    return equals(ours, "0, 1, 1, 2")


def _settled() -> Outcome:
    found = _way()
    settled = found.settled
    since = None if settled is None else settled.iteration
    on = settled is not None and settled.attractor == "maximal-eviction cycle"
    return holds_for(
        None if on and since is not None and since <= 17 else str(settled),
        ours=f"{settled.attractor if settled else 'none'} from n = {since} on",
        paper="convergence to the level-2 cycle, n >= 17",
    )


CLAIMS = (
    congestion(
        "figure-6.perturbation",
        "The start of Example 3 has 1/2 request more at stage 0 than the equilibrium.",
        "Example 3 and Figures 6 and 8, captions",
        _perturbation,
        kind="figure",
    ),
    congestion(
        "example-3.second-position-depletes",
        "From eviction to eviction the position that dies last has less, and nothing at n = 16.",
        "Example 3, text",
        _depleted,
    ),
    congestion(
        "figure-8.phases",
        "No stage is empty for n = 0 ... 6, one for n = 7 ... 15, two from n = 17 on.",
        "Figure 8, caption",
        _phases,
        kind="figure",
    ),
    congestion(
        "figure-8.settles",
        "From n = 17 on the state is on the level-2 cycle.",
        "Figure 8, caption",
        _settled,
        kind="figure",
    ),
    congestion(
        "figure-8.throughput",
        "The last cycle completes 8/5 requests an iteration.",
        "Figure 8, caption",
        lambda: equals(Fraction(_way().throughput), "8/5"),
        kind="figure",
    ),
)
