"""Congestion, the proof of Theorem 22 (B.6.4), second step: the energy falls outside N."""

from fractions import Fraction
from itertools import islice

from fluidkv import exact
from fluidkv.ledger.claim import Outcome
from fluidkv.ledger.outcomes import decimal, verdict
from fluidkv.ledger.ranges import Range, Seen
from fluidkv.papers.congestion.claims.mixed.near_equilibrium import (
    BETA,
    HALF,
    ITERATIONS,
    MIXES,
    Iteration,
    cohort_starts,
    neighbourhood_of,
    rational,
    square,
)
from fluidkv.papers.congestion.paper import statements
from fluidkv.verdict import Evidence

CLAIMS = statements()


@CLAIMS.over(
    Range(f"{MIXES.words}; L = 1 ... 200", MIXES.cases),
    "theorem-22.transition-norm",
    "Theorem 22, proof, second step",
    "For sufficiently large l0 every |V_s/V_0| is at most 2 and ||Phi||_F <= sqrt(5(d-1)).",
    ours=lambda seen: f"|V_s/V_0| <= 2 for {', '.join(seen)}",
    paper="||Phi||_2 <= sqrt(5(d-1)) for sufficiently large l0",
)
def _transition_norm(mix: "exact.LengthMix", _: int) -> Seen | str:
    """||Phi||_F^2 <= 5(d-1) exactly where the proof says, |V_s/V_0| <= 2; from which l0 on."""
    first = None
    for L in range(1, 201):
        row = exact.first_row(mix.weights(L))
        small = all(abs(c) <= 2 for c in row)
        if small and square(row) + mix.ages - 1 > 5 * (mix.ages - 1):
            return f"{mix.decode_lengths}, L = {L}"
        if small and first is None:
            first = L
        if not small and first is not None:
            return f"{mix.decode_lengths}, L = {L}: not from {first} on"
    shown = f"{mix.decode_lengths} from L = {first}"
    return Seen(shown) if first is not None else shown


@CLAIMS.over(
    ITERATIONS,
    "theorem-22.one-step-change",
    "Theorem 22, proof, second step",
    "L changes by -||y||^2 + 2 e^T P Phi y + e^T P e per iteration.",
    ours=lambda seen: f"exact in every iteration, {sum(seen)} of them with eviction",
    paper="the one-step change of L",
)
def _one_step_identity(step: Iteration) -> Seen | bool:
    y, e = step.before.deviation, step.now.perturbation
    residual = Fraction(0)
    if step.now.evicted:
        P, free = step.found.lyapunov.flint, exact.transition(step.found.lyapunov.weights, y)
        cross = rational(exact.inner_product(P, e, free))
        residual = 2 * cross + rational(exact.inner_product(P, e, e))
    return step.change == residual - square(y) and Seen(bool(step.now.evicted))


@CLAIMS.over(
    Range(
        "the mixes with a common input of " + ITERATIONS.words,
        lambda: (step for step in ITERATIONS.cases() if step.mix.common_input),
        name=str,
    ),
    "theorem-22.residual",
    "Theorem 22, proof, second step",
    "The residual is at most C_3/l0 ||y|| + C_4/l0^2.",
    ours=lambda seen: f"at most {max(seen):.3f} of the bound",
    paper="|R_n| <= C_3/l0 ||y|| + C_4/l0^2",
)
def _residual_bound(step: Iteration) -> Seen | bool:
    """With C_e = beta sqrt(1 + 1/alpha^2)."""
    limit, l0, y = step.mix.limit, step.input_length, square(step.before.deviation)
    c_3, c_4 = _constants(
        float(step.found.lyapunov.norm.upper()),
        limit.requests[-1] / limit.denominator,
        step.mix.ages,
    )
    bound = c_3 / l0 * float(y) ** 0.5 + c_4 / l0**2
    residual = abs(step.change + y)
    # room for the rounding of the bound
    return residual <= bound * (1 - 1e-12) and Seen(float(residual) / bound)


def _constants(norm: float, alpha: float, d: int) -> tuple[float, float]:
    """C_3 and C_4 of the proof, from C_P and alpha_{d-1}."""
    c_e = float(BETA) * (1 + 1 / alpha**2) ** 0.5
    return 2 * norm * (5 * (d - 1)) ** 0.5 * c_e, norm * c_e**2


_INPUTS = {(2, 3): (2, 3, 5, 10, 100, 1000), (5, 9): (65, 70, 100, 120, 150, 200, 1000)}
# Cohort masses, in proportion, from which L rises at l0 = 100 and at 120: the first found among
# all 19,682 states with entries 0, 1, 2, in floats. At l0 = 150 none of them made L rise.
_RISING = {(2, 3): (), (5, 9): ((0, 0, 1, 0, 0, 0, 1, 0, 1), (0, 1, 2, 0, 0, 0, 1, 0, 1))}


def _energy_rises(lengths: tuple[int, int], input_length: int) -> str | None:
    """The first rise of L outside N that the starts of the sample meet, or None; rational."""
    found = neighbourhood_of(exact.two_lengths(*lengths, HALF), input_length)
    full = [_filled(found, pattern) for pattern in _RISING[lengths]]
    for start in (*full, *cohort_starts(found.system, 12)):
        last: Fraction | None = None
        for n, now in enumerate(islice(exact.cohort_iterates(found.system, start), 9)):
            level = rational(found.energy(now.deviation))
            if last is not None and last >= found.delta_squared and level >= last:
                shown = ", ".join(map(str, start))
                return f"from Y = ({shown}) L rises {decimal(last)} -> {decimal(level)} at n = {n}"
            last = level
    return None


def _filled(found: "exact.Neighbourhood", pattern: tuple[int, ...]) -> list[Fraction]:
    """The state on the memory boundary with cohorts in these proportions."""
    weights = found.lyapunov.weights
    used = sum(v * y for v, y in zip(weights.memory, pattern, strict=True))
    return [found.system.capacity * weights.denominator * y / used for y in pattern]


@CLAIMS.claim(
    "theorem-22.descent",
    "Theorem 22, proof, second step, and B.8.6",
    "Outside N the energy falls in every iteration, for sufficiently large l0.",
    evidence=Evidence.SAMPLED,
    checked="decode lengths 2, 3 and 5, 9, equal shares; 12 to 14 starts, 8 iterations",
)
def _descent() -> Outcome:
    """At which of the input lengths tried L falls in every iteration outside N."""
    shown, largest, witness = [], 0, ""
    settled = True
    for lengths, tried in _INPUTS.items():
        met = {l0: said for l0 in tried if (said := _energy_rises(lengths, l0))}
        falls = [l0 for l0 in tried if l0 not in met]
        shown.append(f"{lengths}: falls at l0 = {falls}, rises at {list(met)}")
        # An asymptotic statement: from some size on, here with two sizes to show for it.
        settled = settled and not any(l0 in met for l0 in tried[-2:])
        if met and max(met) > largest:
            largest = max(met)
            witness = f"Decode lengths {lengths}, l0 = {largest}: {met[largest]}."
    return Outcome(
        verdict(settled),
        Evidence.SAMPLED,
        ours="; ".join(shown),
        paper="L falls outside N for sufficiently large l0",
        note="The equilibrium is stable at every l0 tried (from 2 and from 65 on): stability alone "
        f"does not make L fall. {witness} The printed constants ask for l0 = "
        f"{_printed_size():.2g} with decode lengths 2 and 3.",
    )


def _printed_size() -> float:
    """l0_3 of the proof for decode lengths 2 and 3, equal shares, beta = 11.8.

    (C_3 M_y + C_4)/l0 <= delta^2/(2 C_P) with the limits for long inputs of C_P, delta and x*,
    C_e = beta sqrt(1 + 1/q^2) and M_y = beta/q + sqrt(d) x*. A float, for display.
    """
    mix, beta, q, d, kappa = exact.two_lengths(2, 3, HALF), float(BETA), 0.5, 3, 2.5
    c_p = float(exact.lyapunov(mix.limit).norm.upper())
    c_3, c_4 = _constants(c_p, q, d)
    m_y = beta / q + d**0.5 * beta / kappa
    return (c_3 * m_y + c_4) * 2 * c_p / ((beta / (4 * kappa)) ** 2 / d)
