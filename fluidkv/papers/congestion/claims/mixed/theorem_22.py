"""Congestion, the proof of Theorem 22 (B.6.4) and B.8.6: no eviction inside N, entry, rate.

Global convergence itself is another claim; here and in `energy_descent` are the statements that it
is put together from.
"""

from fractions import Fraction
from itertools import islice

from fluidkv import exact
from fluidkv.ledger.ranges import Range, Seen
from fluidkv.papers.congestion.claims.mixed.near_equilibrium import (
    HALF,
    ITERATIONS,
    MIXES,
    SYSTEMS,
    Iteration,
    cohort_starts,
    coprime_mixes,
    neighbourhood_of,
    rational,
    square,
)
from fluidkv.papers.congestion.paper import statements
from fluidkv.workload import System

CLAIMS = statements()


@CLAIMS.over(
    SYSTEMS,
    "theorem-22.no-eviction-inside",
    "Theorem 22, proof, first step, and B.8.6",
    "No request is evicted from a state with L(y) < delta^2.",
    ours=lambda seen: f"the sharp level is {min(seen):.0f} to {max(seen):.0f} times delta^2",
    paper="no eviction where L(y) < delta^2",
    note="max v^T y over L(y) <= c is sqrt(c v^T P^-1 v), so eviction is excluded up to "
    "c = (V_0 x*)^2 / (v^T P^-1 v) and, off the memory boundary, no further.",
)
def _no_eviction_inside(mix: "exact.LengthMix", L: int) -> Seen | bool:
    """delta^2 against the level from which on a state could evict, in rationals."""
    found = neighbourhood_of(mix, L)
    level = rational(found.eviction_level)
    return level > found.delta_squared and Seen(float(level / found.delta_squared))


_COMMON_INPUT = Range(
    "four mixes with a common input, l0 = 1 ... 15",
    lambda: [
        *((mix,) for mix, _ in coprime_mixes() if mix.common_input),
        (exact.two_lengths(1, 30, Fraction(9, 10)),),
    ],
)


@CLAIMS.over(
    _COMMON_INPUT,
    "theorem-22.first-step-size",
    "Theorem 22, proof, first step",
    "The estimates of the first step hold for sufficiently large l0.",
    ours=lambda seen: (
        "smallest l0 for the printed estimate, for V_0 x* >= C_2 l0 delta, and for "
        f"no eviction where ||y|| <= delta: {'; '.join(seen)}"
    ),
    paper="for sufficiently large l0",
    note="Exactly from kappa l0 >= W - 2 kappa and 3 kappa l0 >= W - 4 kappa on, with "
    "W = sum of p_k l1_k (l1_k + 1)/2.",
)
def _size_of_step_1(mix: "exact.LengthMix") -> Seen | str:
    """From which l0 on the printed estimates hold: V_0 x* against M/(2 kappa) and M/(4 kappa).

    V_0 x* = (l0+1) M / (kappa l0 + W).
    """
    pairs = list(zip(mix.shares, mix.decode_lengths, strict=True))
    kappa = sum((p * n for p, n in pairs), Fraction(0))
    W = sum((p * n * (n + 1) / 2 for p, n in pairs), Fraction(0))
    first = {}
    for l0 in range(1, 16):
        found = exact.neighbourhood(System(mix.workload(l0), 1000 * l0))
        M = found.system.capacity
        estimates = found.margin >= M / (2 * kappa), found.margin >= M / (4 * kappa)
        if estimates != (kappa * l0 >= W - 2 * kappa, 3 * kappa * l0 >= W - 4 * kappa):
            return f"{mix.decode_lengths}, l0 = {l0}"
        sharp = rational(found.ball_squared) >= found.delta_squared
        for place, true in enumerate((*estimates, sharp)):
            if true:
                first.setdefault(place, l0)
    if len(first) < 3:
        return f"{mix.decode_lengths}: not up to l0 = 15"
    return Seen(f"{mix.decode_lengths}: {first[0]}, {first[1]}, {first[2]}")


@CLAIMS.over(
    Range(
        "decode lengths 2 and 3, equal shares, four l0, 10 starts each",
        lambda: (
            (l0, start)
            for l0 in (2, 10, 100, 1000)
            for start in cohort_starts(_of_two_and_three(l0).system, 10)
        ),
        name=lambda l0, start: f"l0 = {l0}, start {start}",
    ),
    "theorem-22.entry",
    "Theorem 22, proof, third step",
    "The energy is below delta^2 within 2 C_P^2 M_y^2 / delta^2 iterations.",
    ours=lambda seen: (
        f"entry at n = {max(time for time, _ in seen)} at the latest; the bound is "
        f"{min(bound for _, bound in seen):.0f} or more"
    ),
    paper="entry within 2 C_P^2 M_y^2 / delta^2 iterations",
)
def _entry_bound(l0: int, start: list[Fraction]) -> Seen | bool:
    """With M_y from the trajectory, of 60 iterations."""
    found = _of_two_and_three(l0)
    path = list(islice(exact.cohort_iterates(found.system, start), 61))
    energies = [found.energy(now.deviation) for now in path]
    time = exact.entry_time(energies, found.delta_squared)
    largest = float(max(square(now.deviation) for now in path))
    bound = 2 * float(found.lyapunov.norm.mid()) ** 2 * largest / float(found.delta_squared)
    return time is not None and time <= bound and Seen((time, bound))


def _of_two_and_three(l0: int) -> "exact.Neighbourhood":
    return neighbourhood_of(exact.two_lengths(2, 3, HALF), l0)


@CLAIMS.over(
    Range(
        ITERATIONS.words,
        lambda: (
            step
            for step in ITERATIONS.cases()
            if step.energies[0] < rational(step.found.eviction_level)
        ),
        name=str,
    ),
    "theorem-22.invariance",
    "Theorem 22, proof, fourth step",
    "Once inside N, no request is evicted, L falls by ||y||^2 and the system remains in N.",
    ours="{count} iterations inside the sharp level, which holds N",
    paper="once inside, the system remains in N",
    note="Proved by the identity of step 2 wherever delta^2 is below the sharp level "
    "(theorem-22.no-eviction-inside); this is the literal model.",
)
def _invariance(step: Iteration) -> bool:
    falls = -step.change == square(step.before.deviation)
    return falls and not any(step.now.perturbation) and step.energies[1] <= step.energies[0]


@CLAIMS.over(
    ITERATIONS.where("without eviction", lambda step: step.now.evicted == 0 != step.energies[0]),
    "theorem-22.rate",
    "Theorem 22, proof, fifth step",
    "Inside N the energy is multiplied by at most 1 - 1/C_P per iteration.",
    ours=lambda seen: f"at most {max(seen):.4f} of 1 - 1/C_P without eviction",
    paper="L(y^n) <= (1 - 1/C_P) L(y^{n-1})",
)
def _rate(step: Iteration) -> Seen | bool:
    """With C_P rounded down."""
    low = Fraction(int(float(step.found.lyapunov.norm.lower()) * 2**20), 2**20)
    ratio = step.energies[1] / step.energies[0]
    return ratio <= 1 - 1 / low and Seen(float(ratio) / float(1 - 1 / low))


# --- B.8.6 ----------------------------------------------------------------------------------------

_MOST_STEPS = 100


@CLAIMS.over(
    # nearer to the threshold decay takes long to show
    Range(
        f"{MIXES.words}; at 2 and 8 times the smallest l0 of each",
        lambda: ((mix, least * scale) for mix, least in coprime_mixes() for scale in (2, 8)),
        name=lambda mix, L: f"{mix.decode_lengths}, L = {L}",
    ),
    "b-8-6.ball",
    "B.8.6",
    "Once ||y|| is below a delta that rules out eviction, no request is evicted ever after.",
    ours=lambda seen: (
        "no state of the ball evicts later; decided in "
        f"{min(steps for steps, _ in seen)} to {max(steps for steps, _ in seen)} iterations"
    ),
    paper="thereafter e^n = 0",
    note=lambda seen: (
        "B.8.6 passes over that the ball can be left again: ||y|| grows by "
        f"{max(growth for _, growth in seen):.3f} from some state on the memory boundary within 4 "
        "iterations. Eviction stays away all the same. The sublevel set of B.6.4 cannot be left."
    ),
    kind="theorem",
)
def _ball(mix: "exact.LengthMix", L: int) -> Seen | str:
    """The largest ball that excludes eviction at once: does eviction stay away ever after?

    From a state of the ball on the memory boundary the memory after the shift deviates, k
    iterations on, by v^T Phi^k y. Its largest value over the ball is r times the norm of
    (Phi^T)^k v, less its part along V; r ||v|| is the margin. Once the energy of all of the ball
    is below the sharp level, k needs to go no further.
    """
    from flint import arb, fmpq, fmpq_mat

    found = neighbourhood_of(mix, L)
    weights = found.lyapunov.weights
    phi, P = exact.transition_matrix(weights), found.lyapunov.flint
    memory = [Fraction(v, weights.denominator) for v in weights.memory]
    shifted = [*memory[1:], Fraction(0)]
    row = fmpq_mat(1, mix.ages, [fmpq(v.numerator, v.denominator) for v in shifted])
    level = rational(found.eviction_level) / rational(found.ball_squared)
    power = fmpq_mat(phi)
    for k in range(1, _MOST_STEPS + 1):
        u = [Fraction(int(x.p), int(x.q)) for x in (row * power).entries()]
        part = sum((a * b for a, b in zip(u, memory, strict=True)), Fraction(0))
        if square(u) - part**2 / square(memory) > square(shifted):
            return f"{mix.decode_lengths}, L = {L}, k = {k}"
        energy = exact.largest_eigenvalue(power.transpose() * P * power)
        if energy < arb(fmpq(level.numerator, level.denominator)):
            return Seen((k, _growth(found)))
        power = power * phi
    return f"{mix.decode_lengths}, L = {L}: not closed in {_MOST_STEPS} iterations"


def _growth(found: "exact.Neighbourhood") -> float:
    """A lower bound on max ||Phi^k y|| / ||y||, k <= 4, on the boundary: two cohorts off."""
    weights, best = found.lyapunov.weights, Fraction(0)
    for s in range(weights.ages - 1):
        y = [Fraction(0)] * weights.ages
        y[s], y[s + 1] = Fraction(1), -Fraction(weights.memory[s], weights.memory[s + 1])
        size = square(y)
        for _ in range(4):
            y = list(exact.transition(weights, y))
            best = max(best, square(y) / size)
    return float(best) ** 0.5
