"""Congestion, Theorem 22 and Theorem 3 (2): who returns to the equilibrium, and how fast."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import product

from fluidkv import exact, fluid, runs
from fluidkv.ledger import Evidence, Origin, Range, Seen, np
from fluidkv_papers.congestion.instances import return_survey as surveys
from fluidkv_papers.congestion.paper import statements

CLAIMS = statements()

HALF = Fraction(1, 2)
_MIXES = (
    *(((2, 3), share) for share in (Fraction(1, 20), HALF, Fraction(19, 20))),
    *(((5, 9), share) for share in (Fraction(1, 4), HALF, Fraction(3, 4))),
)
_WORDS = "pairs (2, 3), (5, 9) with three shares each; 200 starts and the bursts"


def _surveys(words: str, lengths: Sequence[tuple[int, int]]) -> Range:
    return Range(
        f"{words}; {_WORDS}",
        lambda: (surveys.survey_at(*mix, *length) for length, mix in product(lengths, _MIXES)),
        name=surveys.named,
    )


def _tally(found: list[surveys.Survey]) -> str:
    slow = max(found, key=lambda s: s.slowest)
    return (
        f"{sum(s.returned for s in found):,} of {sum(s.starts for s in found):,} starts return; "
        f"slowest {slow.slowest:,} iterations, {surveys.named(slow)}"
    )


_ALL_STARTS = "from any feasible initial state, for all sufficiently large l0"
_KINDS = (
    "Every burst, uniform, sparse, near-pulse and below capacity, on the cohort manifold (Lemma "
    "9), in floats; M scales all masses and nothing else."
)


@CLAIMS.claim(
    "theorem-22.returns",
    "Theorem 22 and Theorem 3 (2)",
    "For coprime decode lengths and long inputs every start returns to the eviction-free "
    "equilibrium.",
    over=_surveys("twice and 8 times l0_min", ((2, 0), (8, 0))),
    ours=_tally,
    paper=_ALL_STARTS,
    note=_KINDS,
    refuted=Evidence.FLOAT,
)
@CLAIMS.claim(
    "theorem-3.2.returns-from-threshold",
    "Theorem 3 (2) and section 4.3, sharpened: from which l0 on",
    "For coprime decode lengths, the shorter at least 2, every start returns to the eviction-free "
    "equilibrium already at the smallest stable input length.",
    over=_surveys("l0_min and one token more", ((1, 0), (1, 1))),
    origin=Origin.READING,
    ours=_tally,
    paper=_ALL_STARTS,
    note=_KINDS,
    refuted=Evidence.FLOAT,
)
def _all_return(found: surveys.Survey) -> bool | Seen:
    return found.all_return and Seen(found)


def _decay(pair: tuple[int, int], share: Fraction, l0: int) -> tuple[float, float, float, bool]:
    """Slowest rate per iteration after the last eviction, the spectral radius from below and above,
    whether all starts returned."""
    mix = exact.two_lengths(*pair, share)
    system, model = surveys.system_of(mix, l0), fluid.cohort_model(surveys.system_of(mix, l0))
    low, high = exact.certify_spectrum(mix.weights(l0)).radius
    families = fluid.start_families(runs.random_key(1), system, count=100)
    settled = fluid.convergence(system, np.concatenate(list(families.values())))
    window = 4 * mix.ages  # longer than a turn of the slowest mode of these mixes
    decay = round(float(np.log(1e-6) / np.log(high)))
    run = fluid.simulate(
        model,
        settled.final_state.values[:, None],
        iterations=decay + 2 * window,
        record=("state",),
    )
    off = np.abs(run.state.values / model.equilibrium() - 1).max(axis=(2, 3))
    before, after = off[:, :window].max(axis=1), off[:, -window:].max(axis=1)
    rates = (after / before) ** (1 / (decay + window))
    returned = bool(np.all(settled.outcome.values == fluid.RETURNED))
    return float(rates.max()), float(low), float(high), returned


@CLAIMS.claim(
    "theorem-22.exponential",
    "Theorem 22",
    over=lambda: (((2, 3), HALF, 10), ((2, 3), Fraction(1, 20), 80)),
    ours=lambda seen: "slowest rate per iteration after the last eviction: " + "; ".join(seen),
    refuted=Evidence.FLOAT,
)
def _exponential(pair: tuple[int, int], share: Fraction, l0: int) -> Seen | str:
    """The return is exponential: at the spectral radius once evictions have ended.

    Checked: (2, 3), p = 1/2 at l0 = 10 and p = 1/20 at l0 = 80; 103 starts each
    Paper: converges exponentially from any feasible initial state"""
    rate, low, high, returned = _decay(pair, share, l0)
    shown = f"{pair}, p = {share}, l0 = {l0}: {rate:.4f} (spectral radius {low:.4f})"
    # Before the slowest mode rules, faster ones have decayed; phases within a window and what the
    # window cuts off change the rate by less than a hundredth over six decades.
    return Seen(shown) if returned and rate <= 1.01 * high else shown
