"""Congestion, section D.1 and the captions of Figures 16 and 17.

The captions print no capacity. Masses scale with it, so no statement about the continuous model
depends on it; a simulator of whole requests would be another model.
"""

import math
from fractions import Fraction
from functools import cache, partial
from typing import TYPE_CHECKING

from fluidkv.ledger.claim import Outcome
from fluidkv.ledger.outcomes import verdict
from fluidkv.papers.congestion.paper import congestion
from fluidkv.verdict import Evidence, Verdict

if TYPE_CHECKING:
    import xarray as xr

    from fluidkv.exact.roots.spectrum import SpectralCertificate
    from fluidkv.workload import System

Lengths = tuple[int, ...]

_STARTS = 63  # uniform on the memory boundary, and an empty server
_ITERATIONS = 12_000  # the slowest mode, of modulus 0.9957, is below 1e-20 of its start by then


def _equal_shares(lengths: Lengths, input_length: int) -> "System":
    from fluidkv.exact.mixed.mix import LengthMix
    from fluidkv.workload import System

    mix = LengthMix(lengths, [Fraction(1, len(lengths))] * len(lengths))
    return System(mix.workload(input_length), mix.weights(input_length).lifetime_memory)


def _certificate(lengths: Lengths, input_length: int) -> "SpectralCertificate":
    from fluidkv.exact.roots.spectrum import certify_spectrum
    from fluidkv.exact.survival import survival_weights

    return certify_spectrum(survival_weights(_equal_shares(lengths, input_length).workload))


@cache
def _ends(lengths: Lengths, input_length: int) -> "xr.Dataset":
    import numpy as np

    from fluidkv.fluid.boundary import uniform_starts
    from fluidkv.fluid.cohorts.attractors import attractors
    from fluidkv.fluid.precision import random_key

    system = _equal_shares(lengths, input_length)
    starts = uniform_starts(random_key(16), system, count=_STARTS)
    everything = np.concatenate([np.zeros((1, starts.shape[1])), starts])
    return attractors(system, everything, iterations=_ITERATIONS, longest_period=120)


def _locally_stable(lengths: Lengths, input_length: int) -> Outcome:
    found = _certificate(lengths, input_length)
    return Outcome(
        verdict(found.outside == 0 and found.on_circle == 0),
        found.evidence,
        ours=f"{found.outside} roots outside, largest modulus {found.radius[0]:.5f}",
        paper="converges",
    )


def _converges(lengths: Lengths, input_length: int) -> Outcome:
    found = _ends(lengths, input_length)
    home = found.attractor.values == "equilibrium"
    return Outcome(
        verdict(bool(home.all())),
        Evidence.SAMPLED,
        ours=f"{home.sum()} of {len(home)} starts end at the equilibrium",
        paper="converges to the eviction-free equilibrium",
        note="An empty server and uniform starts on the memory boundary, in floats. The capacity "
        "is not printed and does not matter.",
    )


def _pulses(lengths: Lengths, input_length: int) -> Outcome:
    found, certificate = _ends(lengths, input_length), _certificate(lengths, input_length)
    evicts = bool((found.evicted.values > 0).all())
    names = sorted(set(found.attractor.values.tolist()))
    rate = float(found.share_of_best.values.min())
    return Outcome(
        verdict(evicts and certificate.outside == math.gcd(*lengths) - 1),
        Evidence.SAMPLED,
        ours=f"all {found.sizes['batch']} starts end on: {', '.join(names)}, which evicts; "
        f"{rate:.4f} x*; {certificate.outside} growing modes at the equilibrium",
        paper="persistent oscillations and eviction",
        note="An empty server and uniform starts on the memory boundary, in floats.",
    )


def _coprime_sets_converge() -> Outcome:
    """Pairs with p = 1/2 at the l0 = 40 of Figure 16, shortest first."""
    unstable, checked = [], 0
    for b in range(2, 13):
        for a in range(1, b):
            if math.gcd(a, b) == 1:
                checked += 1
                outside = _certificate((a, b), 40).outside
                if outside:
                    unstable.append(((a, b), outside))
    if not unstable:
        return Outcome(verdict(True), Evidence.SAMPLED, f"{checked} pairs", "converge")
    pair, outside = unstable[0]
    found = _ends(pair, 40)
    away = int((found.attractor.values != "equilibrium").sum())
    return Outcome(
        verdict(False),
        Evidence.EXACT,
        ours=f"{len(unstable)} of {checked} coprime pairs up to 12 are unstable at l0 = 40; for "
        f"{pair} {away} of {found.sizes['batch']} starts end elsewhere",
        paper="coprime decoding lengths converge to the eviction-free equilibrium",
        note="Theorem 3 needs l0 large. The sets that the figures show do converge.",
        witness=f"{pair}, l0 = 40, p = 1/2: {outside} growing modes",
    )


_COPRIME = (((4, 7), 40, 16), ((2, 7, 12), 30, 17), ((2, 9, 12), 30, 17))
_COMMON = (((4, 8), 40, 16), ((2, 8, 12), 30, 17))


def _named(lengths: Lengths) -> str:
    return "-".join(map(str, lengths))


CLAIMS = (
    *(
        congestion(
            f"figure-{number}.lengths-{_named(lengths)}.locally-stable",
            f"Decode lengths {lengths} with l0 = {l0} and equal shares: the equilibrium is stable.",
            f"Figure {number}, caption",
            partial(_locally_stable, lengths, l0),
            kind="figure",
        )
        for lengths, l0, number in _COPRIME
    ),
    *(
        congestion(
            f"figure-{number}.lengths-{_named(lengths)}.converges",
            f"Decode lengths {lengths} with l0 = {l0} and equal shares converge to it.",
            f"Figure {number}, caption",
            partial(_converges, lengths, l0),
            kind="figure",
            checked=f"an empty server and {_STARTS} uniform starts",
        )
        for lengths, l0, number in _COPRIME
    ),
    *(
        congestion(
            f"figure-{number}.lengths-{_named(lengths)}.oscillates",
            f"Decode lengths {lengths} with l0 = {l0} and equal shares oscillate and evict for "
            "good.",
            f"Figure {number}, caption",
            partial(_pulses, lengths, l0),
            kind="figure",
            checked=f"an empty server and {_STARTS} uniform starts",
        )
        for lengths, l0, number in _COMMON
    ),
    congestion(
        "section-d-1.coprime-converge",
        "Coprime decode lengths desynchronize completions and converge to the equilibrium.",
        "section D.1, read as a statement about all pairs at the input length of Figure 16",
        _coprime_sets_converge,
        kind="figure",
        expected=Verdict.FAILS,
        checked="all coprime a < b <= 12, l0 = 40, p = 1/2",
    ),
)
