"""Congestion, Lemmas 18 to 21 (B.6.2, B.6.3) and Figure 12; B.8.6 for more classes."""

from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING

from fluidkv.ledger.claim import Outcome
from fluidkv.ledger.outcomes import decimal, holds_for, rounds_to, sampled, verdict
from fluidkv.papers.congestion.claims.mixed.near_equilibrium import (
    BETA,
    HALF,
    RANGE,
    SAMPLE,
    SCALES,
    class_starts,
    coprime_mixes,
    loaded,
    trajectories,
)
from fluidkv.papers.congestion.paper import congestion
from fluidkv.verdict import Evidence, Verdict

if TYPE_CHECKING:
    from fluidkv.papers.congestion.uniform import UniformBound
    from fluidkv.workload import System


# --- Lemmas 18 and 19: one bound for all l0 -------------------------------------------------------


def _uniform_bounds() -> list["UniformBound"]:
    from fluidkv.papers.congestion.uniform import uniform_bound

    return [uniform_bound(mix, least) for mix, least in coprime_mixes()]


def _uniform(field: str, name: str) -> Outcome:
    """Whether the certificate closes for every mix, and the constant that it gives."""
    shown, bad = [], None
    for bound in _uniform_bounds():
        case = f"{bound.mix.decode_lengths} from L = {bound.input_length} on"
        value = getattr(bound, field)
        if bound.verdict is not Verdict.HOLDS:
            bad = bad or f"{case}: {bound.reason}"
        else:
            shown.append(f"{name} = {value:.7g} for {case}")
    return holds_for(
        bad,
        evidence=Evidence.SAMPLED,
        ours="; ".join(shown),
        paper="a bound for all l0 >= l0*",
        note="Of these mixes proved, for every real input length from there on, by matrices P that "
        "are tested in rationals. The constants are what that proves, not the smallest.",
    )


def _smallest_eigenvalue() -> Outcome:
    """P e = e for the last unit vector e, since Phi e = 0; and P - I = Phi^T P Phi >= 0."""
    from fluidkv.exact.mixed.nearby.lyapunov import lyapunov
    from fluidkv.exact.mixed.nearby.transition import transition_matrix

    bad = None
    for mix, least in coprime_mixes():
        for scale in SCALES:
            found = lyapunov(mix.weights(least * scale))
            d = mix.ages
            phi = transition_matrix(found.weights).tolist()
            last = [int(s == d - 1) for s in range(d)]
            if found.flint.tolist()[-1] != last or any(row[-1] != 0 for row in phi):
                bad = bad or f"{mix.decode_lengths} at L = {least * scale}"
    return holds_for(
        bad,
        evidence=Evidence.SAMPLED,
        ours="the last unit vector is an eigenvector of P with eigenvalue 1",
        paper="lambda_min(P) = 1",
        note="The reason that Example 10 gives, the term k = 0 of the series, shows P >= I alone; "
        "equality comes from the zero last column of Phi.",
    )


def _norm_depends_on_input() -> Outcome:
    """C_P over l0 for decode lengths 5 and 9, where stability begins at 65."""
    from fluidkv.exact.mixed.mix import two_lengths
    from fluidkv.exact.mixed.nearby.lyapunov import lyapunov

    mix = two_lengths(5, 9, HALF)
    inputs = (65, 66, 70, 100, 1000, 10**6)
    norms = [lyapunov(mix.weights(l0)).norm for l0 in inputs]
    falling = all(a > b for a, b in pairwise(norms))
    shown = ", ".join(f"{float(n.mid()):.6g} at {l0}" for n, l0 in zip(norms, inputs, strict=True))
    limit = lyapunov(mix.limit).norm
    return Outcome(
        verdict(falling and all(n > limit for n in norms)),
        Evidence.SAMPLED,
        ours=f"C_P = {shown}; {float(limit.mid()):.6g} in the limit",
        paper="C_P independent of l0",
        note="A bound for all l0 >= l0*; it grows without limit as l0* comes down to the threshold "
        "of stability.",
    )


# --- Lemma 20: requests in flight, tokens and requests evicted ------------------------------------


def _shortest(system: "System") -> int:
    return min(c.input_length for c in system.workload.classes)


def _physical(what: str) -> Outcome:
    """The three estimates of the proof, from any feasible state, on and off the manifold."""
    from fluidkv.exact.mass import iterate, memory_used

    bad, closest = None, Fraction(0)
    for mix, least in coprime_mixes():
        for L in (mix.input_ratios[0].denominator, least, 50 * least):
            system = loaded(mix, L)
            l0 = _shortest(system)
            most = system.capacity / (l0 + 1)
            for start in class_starts(system, 24):
                state = start
                for n in range(1, 5):
                    before = sum(x for row in state for x in row)
                    used = memory_used(system, state)
                    step = iterate(system, state)
                    state = step.state
                    growth = memory_used(system, step.executed) - used
                    evicted = sum(x for row in step.evicted for x in row)
                    found, bound = {
                        "in-flight": (before, most),
                        "growth": (growth, before),
                        "evicted": (evicted, system.capacity / (l0 + 1) ** 2),
                    }[what]
                    closest = max(closest, found / bound if bound else Fraction(0))
                    if found > bound:
                        bad = bad or f"{mix.decode_lengths}, L = {L}, n = {n}: {found} > {bound}"
    return sampled(
        bad,
        f"at most {decimal(closest, 4)} of the bound",
        {
            "in-flight": "N <= M/(l0+1)",
            "growth": "at most N tokens a shift",
            "evicted": "at most beta l0/(l0+1)^2",
        }[what],
        note="With the shortest input for l0 where inputs differ. L from 1 (or 2) on.",
    )


def _sharp_eviction() -> Outcome:
    """All memory in stage 0: exactly beta l0 / ((l0 + 1)(l0 + 2)) requests go in the first step."""
    from fluidkv.exact.mass import iterate

    bad, shares = None, []
    for mix, least in coprime_mixes()[:3]:
        for l0 in (1, 10, least, 1000):
            system = loaded(mix, l0)
            burst = system.capacity / (l0 + 1)
            state = [
                [c.share * burst] + [Fraction(0)] * (c.decode_length - 1)
                for c in system.workload.classes
            ]
            evicted = sum(x for row in iterate(system, state).evicted for x in row)
            if evicted != BETA * l0 / ((l0 + 1) * (l0 + 2)):
                bad = bad or f"{mix.decode_lengths}, l0 = {l0}: {evicted}"
            shares.append(evicted * (l0 + 1) ** 2 / (BETA * l0))
    return holds_for(
        bad,
        evidence=Evidence.SAMPLED,
        ours=f"(l0+1)/(l0+2) of the bound, {decimal(shares[0])} at l0 = 1, {decimal(shares[-1])} "
        "at 1000, and never more",
        paper="at most beta l0/(l0+1)^2",
        note="After the shift stage 0 is empty, so whatever is evicted holds l0 + 2 tokens or "
        "more: beta l0/((l0+1)(l0+2)) is the sharp bound wherever no request lasts one iteration.",
    )


# --- Lemma 21: the perturbation -------------------------------------------------------------------


def _perturbation() -> Outcome:
    """||e||_2 against (N/V-bound) sqrt(1 + 1/alpha^2), alpha = alpha_{d-1}."""
    bad, largest = None, Fraction(0)
    for mix, least in coprime_mixes():
        alpha = Fraction(mix.limit.requests[-1], mix.limit.denominator)
        for scale in SCALES:
            system = loaded(mix, least * scale)
            shortest = _shortest(system)
            one = system.capacity / (shortest + 1) ** 2  # |e_0|, and requests evicted
            bound = one**2 * (1 + 1 / alpha**2)
            for path in trajectories(mix, least * scale):
                for n, now in enumerate(path):
                    square = sum((e * e for e in now.perturbation), Fraction(0))
                    largest = max(largest, square / bound)
                    if square > bound or now.perturbation[0] > one:
                        bad = bad or f"{mix.decode_lengths}, L = {least * scale}, n = {n}"
    return sampled(
        bad,
        f"at most {float(largest) ** 0.5:.4f} of beta sqrt(1 + 1/alpha_{{d-1}}^2) / l0",
        "||e^n||_2 <= C_e / l0",
        note="The proof gives |e_0| <= beta l0/(l0+1)^2 and the sum of the others at most that "
        "over alpha_{d-1} (min(1, q) for two classes): C_e = beta sqrt(1 + 1/alpha_{d-1}^2) does.",
    )


def _perturbation_off_manifold() -> Outcome:
    """All memory in the youngest stage of the class of decode length 2, the other has 3."""
    from fluidkv.exact.mass import iterate
    from fluidkv.exact.mixed.mix import two_lengths
    from fluidkv.exact.mixed.nearby.transition import cohort_masses, transition
    from fluidkv.exact.survival import eviction_free_equilibrium, survival_weights

    sizes = []
    for l0 in (10, 100, 1000, 10000):
        system = loaded(two_lengths(2, 3, HALF), l0)
        weights = survival_weights(system.workload)
        rate = eviction_free_equilibrium(system).rate
        state = [[system.capacity / (l0 + 1), Fraction(0)], [Fraction(0)] * 3]
        largest = Fraction(0)
        for _ in range(4):
            before = tuple(y - rate for y in cohort_masses(system, state))
            state = iterate(system, state).state
            after = tuple(y - rate for y in cohort_masses(system, state))
            free = transition(weights, before)
            largest = max(largest, *(abs(a - b) for a, b in zip(after, free, strict=True)))
        sizes.append((l0, largest))
    grows = all(b * m > 5 * a * n for (n, a), (m, b) in pairwise(sizes))
    shown = ", ".join(f"{decimal(size)} at l0 = {l0}" for l0, size in sizes)
    return Outcome(
        verdict(not grows),
        Evidence.EXACT,
        ours=f"max |e^n_s| over n = 1 ... 4: {shown}",
        paper="||e^n||_2 <= C_e / l0 for all n",
        note="On the manifold the lemma holds, and every state is there after d iterations "
        "(Lemma 9), so the convergence proof loses nothing. In the first d iterations e also "
        "carries the deviation from the proportions p_k, which does not shrink with l0.",
        witness=""
        if not grows
        else "decode lengths 2, 3, equal shares: all memory in stage 0 of the short class",
    )


# --- Figure 12 ------------------------------------------------------------------------------------


def _cleared() -> Outcome:
    l0 = 100
    really = (l0 + 1) * (l0 + 2) / (BETA * l0)
    return rounds_to(
        (l0 + 1) ** 2 / (BETA * l0),
        "9",
        note="Memory freed by one eviction, l0 + 1, over the bound on the overflow, "
        "beta l0/(l0+1), beta = 11.8. The '99 times' that text copies of B.6.3 show is the 9, "
        "which they write twice, as all inline numbers. What is evicted holds l0 + 2 tokens or "
        f"more, which makes {decimal(really, 2)}.",
    )


def _fraction_of_an_eviction() -> Outcome:
    bound = [BETA * l0 / Fraction((l0 + 1) ** 2) for l0 in range(1, 2001)]
    below = [l0 for l0, b in enumerate(bound, start=1) if b < 1]
    return Outcome(
        verdict(bound[99] < 1),
        Evidence.EXACT,
        ours=f"at most {decimal(bound[99])} requests at l0 = 100; less than one from l0 = "
        f"{below[0]} on ({decimal(bound[below[0] - 2])} at {below[0] - 1})",
        paper="at most a fraction of an eviction at l0 = 100",
        note="Masses are split at will here; whole requests leave whole.",
    )


def _bound_is_order_one_over_input() -> Outcome:
    """l0 times the bound increases to beta: checked as l0^2/(l0+1)^2 < 1, increasing."""
    values = [BETA * l0 * l0 / Fraction((l0 + 1) ** 2) for l0 in range(1, 2001)]
    rising = all(a < b < BETA for a, b in pairwise(values))
    return holds_for(
        None if rising else "l0 times the bound is not increasing to beta",
        ours=f"l0 times the bound rises to beta = 11.8; {decimal(values[-1])} at l0 = 2000",
        paper="beta l0/(l0+1)^2 = O(1/l0)",
    )


CLAIMS = (
    congestion(
        "lemma-18.uniform",
        "For coprime decode lengths there is an l0* from which on every eigenvalue of Phi has "
        "|z| <= rho for one rho < 1.",
        "Lemma 18 and B.8.5",
        lambda: _uniform("radius", "rho"),
        kind="lemma",
        checked=SAMPLE,
    ),
    congestion(
        "lemma-19.uniform",
        "I <= P <= C_P I for all l0 >= l0*, with C_P independent of l0.",
        "Lemma 19 and B.8.6",
        lambda: _uniform("norm", "C_P"),
        kind="lemma",
        checked=SAMPLE,
    ),
    congestion(
        "lemma-19.lower-bound-tight",
        "The smallest eigenvalue of P is exactly 1.",
        "Lemma 19 and Example 10, for every mix",
        _smallest_eigenvalue,
        kind="lemma",
        checked=f"{SAMPLE}; 3 input lengths each",
    ),
    congestion(
        "lemma-19.size",
        "C_P(l0) falls to its limit as l0 grows: one constant serves all l0 >= l0*.",
        "Lemma 19, measured",
        _norm_depends_on_input,
        kind="lemma",
        checked="decode lengths 5 and 9, equal shares, six l0 from 65 to 1,000,000",
    ),
    congestion(
        "lemma-20.in-flight",
        "At most M/(l0+1) requests run.",
        "Lemma 20, proof in C.17",
        lambda: _physical("in-flight"),
        kind="lemma",
        checked=f"{SAMPLE}; three L each, 24 feasible states off the manifold, 4 iterations",
    ),
    congestion(
        "lemma-20.growth",
        "A shift adds at most one token for each request that runs.",
        "Lemma 20, proof in C.17, and B.8.6",
        lambda: _physical("growth"),
        kind="lemma",
        checked=f"{SAMPLE}; three L each, 24 feasible states off the manifold, 4 iterations",
    ),
    congestion(
        "lemma-20.evicted",
        "At most beta l0/(l0+1)^2 requests are evicted in an iteration, from any feasible state.",
        "Lemma 20 and Figure 12(b)",
        lambda: _physical("evicted"),
        kind="lemma",
        checked=f"{SAMPLE}; three L each, 24 feasible states off the manifold, 4 iterations",
    ),
    congestion(
        "lemma-20.sharp",
        "The bound on evicted requests is met up to (l0+1)/(l0+2): by all memory in stage 0.",
        "Lemma 20, how sharp",
        _sharp_eviction,
        kind="lemma",
        checked="3 mixes with a common input, four l0 each",
    ),
    congestion(
        "lemma-21.perturbation",
        "||y^n - Phi y^{n-1}||_2 is at most C_e/l0 with C_e independent of l0 and n.",
        "Lemma 21 and B.8.6, on the cohort manifold",
        _perturbation,
        kind="lemma",
        checked=f"{RANGE}, three L each",
    ),
    congestion(
        "lemma-21.off-manifold",
        "The bound on e^n holds for all n from any feasible initial state, with Y of B.6.1.",
        "Lemma 21, read with the starts of B.6",
        _perturbation_off_manifold,
        kind="lemma",
        expected=Verdict.FAILS,
        checked="decode lengths 2 and 3, equal shares, four l0",
    ),
    congestion(
        "figure-12.a.cleared",
        "At l0 = 100 one eviction clears about 9 times the overflow.",
        "Figure 12, caption (a), and B.6.3",
        _cleared,
        kind="figure",
    ),
    congestion(
        "figure-12.a.fraction",
        "At l0 = 100 an iteration evicts at most a fraction of a request.",
        "Figure 12, caption (a)",
        _fraction_of_an_eviction,
        kind="figure",
    ),
    congestion(
        "figure-12.b.order",
        "The bound beta l0/(l0+1)^2, beta = 11.8, is O(1/l0).",
        "Figure 12, caption (b)",
        _bound_is_order_one_over_input,
        kind="figure",
        checked="l0 = 1 ... 2000",
    ),
)
