"""Congestion, Lemmas 18 to 21 (B.6.2, B.6.3) and Figure 12; B.8.6 for more classes."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING

from fluidkv import exact
from fluidkv.exact.mass import Masses, memory_used
from fluidkv.exact.mixed import nearby
from fluidkv.ledger import (
    Evidence,
    Finding,
    Origin,
    Outcome,
    Range,
    Seen,
    decimal,
    rounds_to,
    sympy,
)
from fluidkv.workload import System
from fluidkv_papers.congestion.instances import near_equilibrium as near
from fluidkv_papers.congestion.instances.near_equilibrium import HALF
from fluidkv_papers.congestion.paper import statements

if TYPE_CHECKING:
    from fluidkv_papers.congestion.uniform import UniformBound

CLAIMS = statements()
READING = CLAIMS.section(origin=Origin.READING)

# --- Lemmas 18 and 19: one bound for all l0 -------------------------------------------------------

_PROVED = (
    "Of these mixes proved, for every real input length from there on, by matrices P that are "
    "tested in rationals. The constants are what that proves, not the smallest."
)
PROVED = CLAIMS.section(note=_PROVED)


@cache
def _bound(mix: "exact.LengthMix", least: int) -> "UniformBound":
    from fluidkv_papers.congestion.uniform import uniform_bound

    return uniform_bound(mix, least)


def _inputs(least: int) -> tuple[int, ...]:
    """Where the bound is held against what is found at one input length."""
    return least, 4 * least, 100 * least


@PROVED.claim("lemma-18.uniform", "Lemma 18 and B.8.5", over=near.MIXES, refuted=Evidence.BALL)
def _radius(mix: "exact.LengthMix", least: int) -> Seen | str:
    """For coprime decode lengths there is an l0* from which on every eigenvalue of Phi has |z| <=
    rho for one rho < 1.

    Ours: {all}"""
    bound = _bound(mix, least)
    case = f"{mix.decode_lengths} from L = {least} on"
    if bound.radius is None:
        return f"{case}: {bound.reason}"
    found = max(exact.certify_spectrum(mix.weights(L)).radius[1] for L in _inputs(least))
    shown = f"rho = {bound.radius:.7g} for {case}"
    return Seen(shown) if found <= bound.radius < 1 else f"{shown}, found {found}"


@PROVED.claim("lemma-19.uniform", "Lemma 19 and B.8.6", over=near.MIXES, refuted=Evidence.BALL)
def _norm(mix: "exact.LengthMix", least: int) -> Seen | str:
    """I <= P <= C_P I for all l0 >= l0*, with C_P independent of l0.

    Ours: {all}"""
    bound = _bound(mix, least)
    case = f"{mix.decode_lengths} from L = {least} on"
    if bound.norm is None:
        return f"{case}: {bound.reason}"
    within = all(exact.lyapunov(mix.weights(L)).norm < bound.norm for L in _inputs(least))
    shown = f"C_P = {bound.norm:.7g} for {case}"
    return Seen(shown) if within else shown


@READING.claim(
    "lemma-19.lower-bound-tight", "Lemma 19 and Example 10, for every mix", over=near.SYSTEMS
)
def _smallest_eigenvalue(mix: "exact.LengthMix", L: int) -> bool:
    """The smallest eigenvalue of P is exactly 1.

    Ours: the last unit vector is an eigenvector of P with eigenvalue 1
    Note: The reason that Example 10 gives, the term k = 0 of the series, shows P >= I alone;
    equality comes from the zero last column of Phi."""
    # P e = e for the last unit vector e, since Phi e = 0; and P - I = Phi^T P Phi >= 0.
    found = near.neighbourhood_of(mix, L).lyapunov
    last = [int(s == mix.ages - 1) for s in range(mix.ages)]
    phi = exact.transition_matrix(found.weights).tolist()
    return found.flint.tolist()[-1] == last and not any(row[-1] for row in phi)


@READING.claim("lemma-19.size", "Lemma 19, measured", evidence=Evidence.SAMPLED)
def _norm_depends_on_input() -> Finding:
    """C_P(l0) falls to its limit as l0 grows: one constant serves all l0 >= l0*.

    Checked: decode lengths 5 and 9, equal shares, six l0 from 65 to 1,000,000
    Paper: C_P independent of l0
    Note: A bound for all l0 >= l0*; it grows without limit as l0* comes down to the threshold of
    stability."""
    # Stability begins at 65.
    mix, inputs = exact.two_lengths(5, 9, HALF), (65, 66, 70, 100, 1000, 10**6)
    norms = [exact.lyapunov(mix.weights(l0)).norm for l0 in inputs]
    limit = exact.lyapunov(mix.limit).norm
    shown = ", ".join(f"{float(n.mid()):.6g} at {l0}" for n, l0 in zip(norms, inputs, strict=True))
    return Finding(
        all(a > b for a, b in pairwise([*norms, limit])),
        f"C_P = {shown}; {float(limit.mid()):.6g} in the limit",
    )


# --- Lemma 20: requests in flight, tokens and requests evicted ------------------------------------


def _shortest(system: System) -> int:
    return min(c.input_length for c in system.workload.classes)


@dataclass(frozen=True)
class _Step:
    """One iteration from a feasible state: the shortest input, M, and what is counted, requests
    in flight, tokens that the shift adds, requests evicted."""

    where: str
    l0: int
    capacity: Fraction
    running: Fraction
    growth: Fraction
    evicted: Fraction

    def __str__(self) -> str:
        return f"{self.where}: {self.running}, {self.growth}, {self.evicted}"


@cache
def _steps() -> tuple[_Step, ...]:
    steps = []
    for mix, least in near.coprime_mixes():
        for L in (mix.input_ratios[0].denominator, least, 50 * least):
            system = near.loaded(mix, L)
            for state in near.class_starts(system, 24):
                for n in range(1, 5):
                    step, used = exact.iterate(system, state), memory_used(system, state)
                    steps.append(
                        _Step(
                            f"{mix.decode_lengths}, L = {L}, n = {n}",
                            _shortest(system),
                            system.capacity,
                            _requests(state),
                            memory_used(system, step.executed) - used,
                            _requests(step.evicted),
                        )
                    )
                    state = step.state
    return tuple(steps)


def _requests(masses: Masses) -> Fraction:
    return sum((x for row in masses for x in row), Fraction(0))


_FEASIBLE = Range(
    f"{near.MIXES.words}; three L each, 24 feasible states off the manifold, 4 iterations",
    _steps,
    name=str,
)
_SHORTEST = "With the shortest input for l0 where inputs differ. L from 1 (or 2) on."
FEASIBLE = CLAIMS.section(over=_FEASIBLE, note=_SHORTEST)


def _closest(seen: list[Fraction]) -> str:
    return f"at most {decimal(max(seen), 4)} of the bound"


def _within(found: Fraction, bound: Fraction) -> Seen | bool:
    return found <= bound and Seen(found / bound if bound else Fraction(0))


@FEASIBLE.claim("lemma-20.in-flight", "Lemma 20, proof in C.17", ours=_closest)
def _in_flight(step: _Step) -> Seen | bool:
    """At most M/(l0+1) requests run."""
    return _within(step.running, step.capacity / (step.l0 + 1))


FEASIBLE.claim(
    "lemma-20.growth",
    "Lemma 20, proof in C.17, and B.8.6",
    "A shift adds at most one token for each request that runs.",
    ours=_closest,
)(lambda step: _within(step.growth, step.running))


@FEASIBLE.claim("lemma-20.evicted", "Lemma 20 and Figure 12(b)", ours=_closest)
def _evicted(step: _Step) -> Seen | bool:
    """At most beta l0/(l0+1)^2 requests are evicted per iteration, from any feasible state."""
    return _within(step.evicted, step.capacity / (step.l0 + 1) ** 2)


@READING.claim(
    "lemma-20.sharp",
    "Lemma 20, how sharp",
    over=lambda: (
        (mix, l0)
        for mix, least in near.coprime_mixes()
        if mix.common_input
        for l0 in (1, 10, least, 1000)
    ),
    ours=lambda seen: (
        f"(l0+1)/(l0+2) of the bound, {decimal(seen[0])} at l0 = 1, "
        f"{decimal(seen[-1])} at 1000, and never more"
    ),
)
def _sharp_eviction(mix: "exact.LengthMix", l0: int) -> Seen | bool:
    """The bound on evicted requests is met up to (l0+1)/(l0+2): by all memory in stage 0.

    Checked: 3 mixes with a common input, four l0 each
    Paper: at most beta l0/(l0+1)^2
    Note: After the shift stage 0 is empty, so whatever is evicted holds l0 + 2 tokens or more: beta
    l0/((l0+1)(l0+2)) is the sharp bound wherever no request lasts one iteration."""
    # Exactly beta l0 / ((l0 + 1)(l0 + 2)) requests go in the first step.
    system = near.loaded(mix, l0)
    burst = system.capacity / (l0 + 1)
    state = [
        [c.share * burst, *[Fraction(0)] * (c.decode_length - 1)] for c in system.workload.classes
    ]
    evicted = _requests(exact.iterate(system, state).evicted)
    as_said = evicted == near.BETA * l0 / ((l0 + 1) * (l0 + 2))
    return as_said and Seen(evicted * (l0 + 1) ** 2 / (near.BETA * l0))


# --- Lemma 21: the perturbation -------------------------------------------------------------------


@CLAIMS.claim(
    "lemma-21.perturbation",
    "Lemma 21 and B.8.6, on the cohort manifold",
    over=near.ITERATIONS,
    ours=lambda seen: (
        f"at most {float(max(seen)) ** 0.5:.4f} of beta sqrt(1 + 1/alpha_{{d-1}}^2) / l0"
    ),
)
def _perturbation(step: near.Iteration) -> Seen | bool:
    """||y^n - Phi y^{n-1}||_2 is at most C_e/l0 with C_e independent of l0 and n.

    Note: The proof gives |e_0| <= beta l0/(l0+1)^2 and the sum of the others at most that over
    alpha_{d-1} (min(1, q) for two classes): C_e = beta sqrt(1 + 1/alpha_{d-1}^2) does."""
    # With alpha = alpha_{d-1}, and the shortest input for l0.
    system, limit = step.found.system, step.mix.limit
    alpha = Fraction(limit.requests[-1], limit.denominator)
    one = system.capacity / (_shortest(system) + 1) ** 2  # |e_0|, and requests evicted
    size, bound = near.square(step.now.perturbation), one**2 * (1 + 1 / alpha**2)
    return size <= bound and step.now.perturbation[0] <= one and Seen(size / bound)


def _largest_perturbation(l0: int) -> Fraction:
    """Of four iterations, all memory in the youngest stage of the class of decode length 2."""
    system = near.loaded(exact.two_lengths(2, 3, HALF), l0)
    weights = exact.survival_weights(system.workload)
    rate = exact.eviction_free_equilibrium(system).rate
    state = [[system.capacity / (l0 + 1), Fraction(0)], [Fraction(0)] * 3]
    largest = Fraction(0)
    for _ in range(4):
        before = tuple(y - rate for y in nearby.transition.cohort_masses(system, state))
        state = exact.iterate(system, state).state
        after = [y - rate for y in nearby.transition.cohort_masses(system, state)]
        free = nearby.transition.transition(weights, before)
        largest = max(largest, *(abs(a - b) for a, b in zip(after, free, strict=True)))
    return largest


@READING.fails("lemma-21.off-manifold", "Lemma 21, read with the starts of Theorem 22")
def _perturbation_off_manifold() -> Finding:
    """The bound on e^n holds for all n from any feasible initial state, with Y of B.6.1.

    Checked: decode lengths 2 and 3, equal shares, four l0
    Paper: ||e^n||_2 <= C_e / l0 for all n
    Note: B.6 starts on the manifold, which Lemma 9 allows: there the lemma holds, and every state
    is there after d iterations. In the first d iterations e also carries the deviation from the
    proportions p_k, which does not shrink with l0.
    Witness: decode lengths 2, 3, equal shares: all memory in stage 0 of the short class
    Holds: lemma-21.perturbation"""
    sizes = [(l0, _largest_perturbation(l0)) for l0 in (10, 100, 1000, 10000)]
    grows = all(b * m > 5 * a * n for (n, a), (m, b) in pairwise(sizes))
    shown = ", ".join(f"{decimal(size)} at l0 = {l0}" for l0, size in sizes)
    return Finding(not grows, f"max |e^n_s| over n = 1 ... 4: {shown}")


# --- Figure 12 ------------------------------------------------------------------------------------


def _most_evicted(l0: int) -> Fraction:
    """beta l0/(l0+1)^2."""
    return near.BETA * l0 / Fraction((l0 + 1) ** 2)


@CLAIMS.claim("figure-12.a.cleared", "Figure 12, caption (a), and B.6.3")
def _cleared() -> Outcome:
    """At l0 = 100 one eviction clears about 9 times the overflow."""
    l0 = 100
    really = (l0 + 1) * (l0 + 2) / (near.BETA * l0)
    return rounds_to(
        1 / _most_evicted(l0),
        "9",
        note="Memory freed by one eviction, l0 + 1, over the bound on the overflow, "
        "beta l0/(l0+1), beta = 11.8. The '99 times' that text copies of B.6.3 show is the 9, "
        "which they write twice, as all inline numbers. What is evicted holds l0 + 2 tokens or "
        f"more, which makes {decimal(really, 2)}.",
    )


@CLAIMS.claim("figure-12.a.fraction", "Figure 12, caption (a)")
def _fraction_of_an_eviction() -> Finding:
    """At l0 = 100 an iteration evicts at most a fraction of a request.

    Paper: at most a fraction of an eviction at l0 = 100
    Note: Masses are split at will here; whole requests leave whole."""
    first = next(l0 for l0 in range(1, 2001) if _most_evicted(l0) < 1)
    return Finding(
        _most_evicted(100) < 1,
        f"at most {decimal(_most_evicted(100))} requests at l0 = 100; less than one from l0 = "
        f"{first} on ({decimal(_most_evicted(first - 1))} at {first - 1})",
    )


@CLAIMS.claim("figure-12.b.order", "Figure 12, caption (b)")
def _bound_is_order_one_over_input() -> Finding:
    """The bound beta l0/(l0+1)^2, beta = 11.8, is O(1/l0).

    Checked: all l0 > 0, in symbols
    Paper: beta l0/(l0+1)^2 = O(1/l0)"""
    # l0 times the bound rises, and stays below beta.
    l0 = sympy.Symbol("l0", positive=True)
    beta = sympy.Rational(near.BETA.numerator, near.BETA.denominator)
    scaled = l0 * (beta * l0 / (l0 + 1) ** 2)
    below, slope = sympy.factor(beta - scaled), sympy.factor(sympy.diff(scaled, l0))
    return Finding(
        below.is_positive is True and slope.is_positive is True,
        f"l0 times the bound rises to beta = 11.8; {decimal(2000 * _most_evicted(2000))} at "
        "l0 = 2000",
    )
