"""Congestion, section D.1 and the captions of Figures 16 and 17.

The captions print no capacity. Masses scale with it, so no statement about the continuous model
depends on it; a simulator of whole requests would be another model. They print no start either.
"""

import math
from fractions import Fraction
from functools import cache

from fluidkv import exact, fluid, runs
from fluidkv.exact import roots
from fluidkv.ledger import Evidence, Finding, Origin, Range, np, xr
from fluidkv.workload import System
from fluidkv_papers.congestion.paper import statements

CLAIMS = statements()

Lengths = tuple[int, ...]

_STARTS = 63  # uniform on the memory boundary, and an empty server
_ITERATIONS = 12_000  # the slowest mode, of modulus 0.9957, is below 1e-20 of its start by then


def _equal_shares(lengths: Lengths, input_length: int) -> System:
    mix = exact.LengthMix(lengths, [Fraction(1, len(lengths))] * len(lengths))
    return System(mix.workload(input_length), mix.weights(input_length).lifetime_memory)


def _certificate(lengths: Lengths, input_length: int) -> "roots.spectrum.SpectralCertificate":
    workload = _equal_shares(lengths, input_length).workload
    return exact.certify_spectrum(exact.survival_weights(workload))


@cache
def _ends(lengths: Lengths, input_length: int) -> "xr.Dataset":
    system = _equal_shares(lengths, input_length)
    starts = fluid.uniform_starts(runs.random_key(16), system, count=_STARTS)
    everything = np.concatenate([np.zeros((1, starts.shape[1])), starts])
    return fluid.attractors(system, everything, iterations=_ITERATIONS, longest_period=120)


# --- the sets that the figures show ---------------------------------------------------------------


def _locally_stable(lengths: Lengths, input_length: int) -> Finding:
    found = _certificate(lengths, input_length)
    return Finding(
        found.outside == 0 and found.on_circle == 0,
        f"{found.outside} roots outside, largest modulus {found.radius[0]:.5f}",
        paper="converges",
        evidence=found.evidence,
    )


def _converges(lengths: Lengths, input_length: int) -> Finding:
    found = _ends(lengths, input_length)
    home = found.attractor.values == "equilibrium"
    return Finding(
        bool(home.all()),
        f"{home.sum()} of {len(home)} starts end at the equilibrium",
        paper="converges to the eviction-free equilibrium",
        note="An empty server and uniform starts on the memory boundary, in floats. The capacity "
        "is not printed and does not matter.",
    )


def _pulses(lengths: Lengths, input_length: int) -> Finding:
    found, certificate = _ends(lengths, input_length), _certificate(lengths, input_length)
    evicts = bool((found.evicted.values > 0).all())
    names = sorted(set(found.attractor.values.tolist()))
    rate = float(found.share_of_best.values.min())
    return Finding(
        evicts and certificate.outside == math.gcd(*lengths) - 1,
        f"all {found.sizes['batch']} starts end on: {', '.join(names)}, which evicts; "
        f"{rate:.4f} x*; {certificate.outside} growing modes at the equilibrium",
        paper="persistent oscillations and eviction",
        note="An empty server and uniform starts on the memory boundary, in floats.",
    )


_COPRIME = (((4, 7), 40, 16), ((2, 7, 12), 30, 17), ((2, 9, 12), 30, 17))
_COMMON = (((4, 8), 40, 16), ((2, 8, 12), 30, 17))
_TRIED = f"an empty server and {_STARTS} uniform starts"

for _check, _sets, _said, _evidence, _origin, _checked in (
    (
        _locally_stable,
        _COPRIME,
        ("locally-stable", "{0} with l0 = {1} and equal shares: the equilibrium is stable."),
        Evidence.EXACT,
        Origin.READING,
        "the printed case",
    ),
    (
        _converges,
        _COPRIME,
        ("converges", "{0} with l0 = {1} and equal shares converge to the equilibrium."),
        Evidence.SAMPLED,
        Origin.REPRODUCTION,
        _TRIED,
    ),
    (
        _pulses,
        _COMMON,
        ("oscillates", "{0} with l0 = {1} and equal shares oscillate and evict for good."),
        Evidence.SAMPLED,
        Origin.REPRODUCTION,
        _TRIED,
    ),
):
    for _lengths, _l0, _number in _sets:
        CLAIMS.claim(
            f"figure-{_number}.lengths-{'-'.join(map(str, _lengths))}.{_said[0]}",
            f"Figure {_number}, caption",
            f"Decode lengths {_said[1].format(_lengths, _l0)}",
            evidence=_evidence,
            origin=_origin,
            checked=_checked,
        )(lambda check=_check, lengths=_lengths, l0=_l0: check(lengths, l0))


# --- all coprime pairs ----------------------------------------------------------------------------

_PAIRS = Range(
    "all coprime a < b <= 12, l0 = 40, p = 1/2",
    lambda: ((a, b) for b in range(2, 13) for a in range(1, b) if math.gcd(a, b) == 1),
)


def _growing(a: int, b: int) -> int | None:
    return _certificate((a, b), 40).outside


def _elsewhere() -> str:
    """How the first unstable pair fares from all starts."""
    pair = next((a, b) for a, b in _PAIRS.cases() if _growing(a, b))
    found = _ends(pair, 40)
    away = int((found.attractor.values != "equilibrium").sum())
    return f"for {pair} {away} of {found.sizes['batch']} starts end elsewhere"


@CLAIMS.fails(
    "section-d-1.coprime-converge",
    "section D.1, read as a statement about all pairs at the input length of Figure 16",
    over=_PAIRS,
    origin=Origin.READING,
    ours=lambda _: (
        f"{_PAIRS.share(lambda a, b: _growing(a, b) != 0)} coprime pairs up to 12 are unstable at "
        f"l0 = 40; {_elsewhere()}"
    ),
)
def _coprime_pairs_converge(a: int, b: int) -> bool | str:
    """Coprime decode lengths desynchronize completions and converge to the equilibrium.

    Paper: coprime decoding lengths converge to the eviction-free equilibrium
    Note: Theorem 3 needs l0 large. The sets that the figures show do converge.
    Holds: figure-16.lengths-4-7.converges, figure-17.lengths-2-7-12.converges,
    figure-17.lengths-2-9-12.converges"""
    outside = _growing(a, b)
    return outside == 0 or f"{a, b}, l0 = 40, p = 1/2: {outside} growing modes"
