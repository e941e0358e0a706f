"""Congestion, the proof of Theorem 22 (B.6.4) and B.8.6: no eviction inside N, descent, entry.

Global convergence itself is another claim; here are the statements that it is put together from.
"""

from fractions import Fraction
from itertools import islice

from fluidkv import exact
from fluidkv.exact.mixed import nearby
from fluidkv.ledger import Evidence, Finding, Range, Seen, decimal, flint
from fluidkv.workload import System
from fluidkv_papers.congestion.instances import near_equilibrium as near
from fluidkv_papers.congestion.instances.near_equilibrium import HALF
from fluidkv_papers.congestion.paper import statements

CLAIMS = statements()


@CLAIMS.claim(
    "theorem-22.no-eviction-inside", "Theorem 22, proof, first step, and B.8.6", over=near.SYSTEMS
)
def _no_eviction_inside(mix: "exact.LengthMix", L: int) -> Seen | bool:
    """No request is evicted from a state with L(y) < delta^2.

    Ours: the sharp level is {min:.0f} to {max:.0f} times delta^2
    Note: max v^T y over L(y) <= c is sqrt(c v^T P^-1 v), so eviction is excluded up to c = (V_0
    x*)^2 / (v^T P^-1 v) and, off the memory boundary, no further."""
    # delta^2 against the level from which on a state could evict, in rationals.
    found = near.neighbourhood_of(mix, L)
    level = near.rational(found.eviction_level)
    return level > found.delta_squared and Seen(float(level / found.delta_squared))


_COMMON_INPUT = Range(
    "four mixes with a common input, l0 = 1 ... 15",
    lambda: [
        *((mix,) for mix, _ in near.coprime_mixes() if mix.common_input),
        (exact.two_lengths(1, 30, Fraction(9, 10)),),
    ],
)


@CLAIMS.claim("theorem-22.first-step-size", "Theorem 22, proof, first step", over=_COMMON_INPUT)
def _size_of_step_1(mix: "exact.LengthMix") -> Seen | str:
    """The estimates of the first step hold for sufficiently large l0.

    Ours: smallest l0 for the printed estimate, for V_0 x* >= C_2 l0 delta, and for no eviction
    where ||y|| <= delta: {all}
    Note: Exactly from kappa l0 >= W - 2 kappa and 3 kappa l0 >= W - 4 kappa on, with W = sum of p_k
    l1_k (l1_k + 1)/2."""
    # From which l0 on the printed estimates hold: V_0 x* against M/(2 kappa) and M/(4 kappa).
    # V_0 x* = (l0+1) M / (kappa l0 + W).
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
        sharp = near.rational(found.ball_squared) >= found.delta_squared
        for place, true in enumerate((*estimates, sharp)):
            if true:
                first.setdefault(place, l0)
    if len(first) < 3:
        return f"{mix.decode_lengths}: not up to l0 = 15"
    return Seen(f"{mix.decode_lengths}: {first[0]}, {first[1]}, {first[2]}")


@CLAIMS.claim(
    "theorem-22.entry",
    "Theorem 22, proof, third step",
    over=lambda: (
        (l0, start)
        for l0 in (2, 10, 100, 1000)
        for start in near.cohort_starts(_of_two_and_three(l0).system, 10)
    ),
    ours=lambda seen: (
        f"entry at n = {max(time for time, _ in seen)} at the latest; the bound is "
        f"{min(bound for _, bound in seen):.0f} or more"
    ),
    refuted=Evidence.FLOAT,
)
def _entry_bound(l0: int, start: list[Fraction]) -> Seen | bool:
    """The energy is below delta^2 within 2 C_P^2 M_y^2 / delta^2 iterations.

    Checked: decode lengths 2 and 3, equal shares, four l0, 10 starts each"""
    # With M_y from the trajectory, of 60 iterations.
    found = _of_two_and_three(l0)
    path = list(islice(nearby.transition.cohort_iterates(found.system, start), 61))
    energies = [found.energy(now.deviation) for now in path]
    entry = nearby.neighbourhood.entry_time(energies, found.delta_squared)
    if entry.time is None:
        raise ArithmeticError(f"delta^2 at l0 = {l0}: {entry.status}")
    largest = float(max(near.square(now.deviation) for now in path))
    bound = 2 * float(found.lyapunov.norm.mid()) ** 2 * largest / float(found.delta_squared)
    return entry.time <= bound and Seen((entry.time, bound))


def _of_two_and_three(l0: int) -> "nearby.neighbourhood.Neighbourhood":
    return near.neighbourhood_of(exact.two_lengths(2, 3, HALF), l0)


@CLAIMS.claim(
    "theorem-22.invariance",
    "Theorem 22, proof, fourth step",
    over=lambda: (
        step
        for step in near.ITERATIONS.cases()
        if step.energies[0] < near.rational(step.found.eviction_level)
    ),
    checked=near.ITERATIONS.words,
)
def _invariance(step: near.Iteration) -> bool:
    """Once inside N, no request is evicted, L falls by ||y||^2 and the system remains in N.

    Ours: {count} iterations inside the sharp level, which holds N
    Note: Proved by the identity of step 2 wherever delta^2 is below the sharp level
    (theorem-22.no-eviction-inside); this is the literal model."""
    falls = -step.change == near.square(step.before.deviation)
    return falls and not any(step.now.perturbation) and step.energies[1] <= step.energies[0]


@CLAIMS.claim(
    "theorem-22.rate",
    "Theorem 22, proof, fifth step",
    over=near.ITERATIONS.where(
        "without eviction", lambda step: step.now.evicted == 0 != step.energies[0]
    ),
)
def _rate(step: near.Iteration) -> Seen | bool:
    """Inside N the energy is multiplied by at most 1 - 1/C_P per iteration.

    Ours: at most {max:.4f} of 1 - 1/C_P without eviction"""
    # With C_P rounded down.
    low = Fraction(int(float(step.found.lyapunov.norm.lower()) * 2**20), 2**20)
    ratio = step.energies[1] / step.energies[0]
    return ratio <= 1 - 1 / low and Seen(float(ratio) / float(1 - 1 / low))


# --- B.8.6 ----------------------------------------------------------------------------------------

_MOST_STEPS = 100


@CLAIMS.claim(
    "b-8-6.ball",
    "B.8.6",
    over=lambda: ((mix, least * scale) for mix, least in near.coprime_mixes() for scale in (2, 8)),
    checked=f"{near.MIXES.words}; at 2 and 8 times the smallest l0 of each",
    ours=lambda seen: (
        "no state of the ball evicts later; decided in "
        f"{min(steps for steps, _ in seen)} to {max(steps for steps, _ in seen)} iterations"
    ),
    note=lambda seen: (
        "B.8.6 passes over that the ball can be left again: ||y|| grows by "
        f"{max(growth for _, growth in seen):.3f} from some state on the memory boundary within 4 "
        "iterations. Eviction stays away all the same. The sublevel set of B.6.4 cannot be left."
    ),
    kind="theorem",
)
def _ball(mix: "exact.LengthMix", L: int) -> Seen | str:
    """Once ||y|| is below a delta that rules out eviction, no request is evicted ever after."""
    # The largest ball that excludes eviction at once: does eviction stay away ever after?
    # From a state of the ball on the memory boundary the memory after the shift deviates, k
    # iterations on, by v^T Phi^k y. Its largest value over the ball is r times the norm of
    # (Phi^T)^k v, less its part along V; r ||v|| is the margin. Once the energy of all of the ball
    # is below the sharp level, k needs to go no further.
    found = near.neighbourhood_of(mix, L)
    weights = found.lyapunov.weights
    phi, P = exact.transition_matrix(weights), found.lyapunov.flint
    memory = [Fraction(v, weights.denominator) for v in weights.memory]
    shifted = [*memory[1:], Fraction(0)]
    row = flint.fmpq_mat(1, mix.ages, [flint.fmpq(v.numerator, v.denominator) for v in shifted])
    level = near.rational(found.eviction_level) / near.rational(found.ball_squared)
    power = flint.fmpq_mat(phi)
    for k in range(1, _MOST_STEPS + 1):
        u = [Fraction(int(x.p), int(x.q)) for x in (row * power).entries()]
        part = sum((a * b for a, b in zip(u, memory, strict=True)), Fraction(0))
        if near.square(u) - part**2 / near.square(memory) > near.square(shifted):
            return f"{mix.decode_lengths}, L = {L}, k = {k}"
        energy = nearby.lyapunov.largest_eigenvalue(power.transpose() * P * power)
        if energy < exact.to_ball(level):
            return Seen((k, _growth(found)))
        power = power * phi
    return f"{mix.decode_lengths}, L = {L}: not closed in {_MOST_STEPS} iterations"


def _growth(found: "nearby.neighbourhood.Neighbourhood") -> float:
    """A lower bound on max ||Phi^k y|| / ||y||, k <= 4, on the boundary: two cohorts off."""
    weights, best = found.lyapunov.weights, Fraction(0)
    for s in range(weights.ages - 1):
        y = [Fraction(0)] * weights.ages
        y[s], y[s + 1] = Fraction(1), -Fraction(weights.memory[s], weights.memory[s + 1])
        size = near.square(y)
        for _ in range(4):
            y = list(nearby.transition.transition(weights, y))
            best = max(best, near.square(y) / size)
    return float(best) ** 0.5


# --- the second step: the energy falls outside N --------------------------------------------------


@CLAIMS.claim(
    "theorem-22.transition-norm",
    "Theorem 22, proof, second step",
    over=near.MIXES.cases,
    checked=f"{near.MIXES.words}; L = 1 ... 200",
    ours=lambda seen: f"|V_s/V_0| <= 2 for {', '.join(seen)}",
)
def _transition_norm(mix: "exact.LengthMix", _: int) -> Seen | str:
    """For sufficiently large l0 every |V_s/V_0| is at most 2 and ||Phi||_F <= sqrt(5(d-1))."""
    # ||Phi||_F^2 <= 5(d-1) exactly where the proof says, |V_s/V_0| <= 2; from which l0 on.
    first = None
    for L in range(1, 201):
        row = nearby.transition.first_row(mix.weights(L))
        small = all(abs(c) <= 2 for c in row)
        if small and near.square(row) + mix.ages - 1 > 5 * (mix.ages - 1):
            return f"{mix.decode_lengths}, L = {L}"
        if small and first is None:
            first = L
        if not small and first is not None:
            return f"{mix.decode_lengths}, L = {L}: not from {first} on"
    shown = f"{mix.decode_lengths} from L = {first}"
    return Seen(shown) if first is not None else shown


@CLAIMS.claim("theorem-22.one-step-change", "Theorem 22, proof, second step", over=near.ITERATIONS)
def _one_step_identity(step: near.Iteration) -> Seen | bool:
    """L changes by -||y||^2 + 2 e^T P Phi y + e^T P e per iteration.

    Ours: exact in every iteration, {sum} of them with eviction"""
    y, e = step.before.deviation, step.now.perturbation
    residual = Fraction(0)
    if step.now.evicted:
        P, free = (
            step.found.lyapunov.flint,
            nearby.transition.transition(step.found.lyapunov.weights, y),
        )
        cross = near.rational(nearby.lyapunov.inner_product(P, e, free))
        residual = 2 * cross + near.rational(nearby.lyapunov.inner_product(P, e, e))
    return step.change == residual - near.square(y) and Seen(bool(step.now.evicted))


@CLAIMS.claim(
    "theorem-22.residual",
    "Theorem 22, proof, second step",
    over=lambda: (step for step in near.ITERATIONS.cases() if step.mix.common_input),
    checked="the mixes with a common input of " + near.ITERATIONS.words,
    refuted=Evidence.FLOAT,
)
def _residual_bound(step: near.Iteration) -> Seen | bool:
    """The residual is at most C_3/l0 ||y|| + C_4/l0^2.

    Ours: at most {max:.3f} of the bound"""
    # With C_e = beta sqrt(1 + 1/alpha^2).
    limit, l0, y = step.mix.limit, step.input_length, near.square(step.before.deviation)
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
    c_e = float(near.BETA) * (1 + 1 / alpha**2) ** 0.5
    return 2 * norm * (5 * (d - 1)) ** 0.5 * c_e, norm * c_e**2


_INPUTS = {(2, 3): (2, 3, 5, 10, 100, 1000), (5, 9): (65, 70, 100, 120, 150, 200, 1000)}
# Cohort masses, in proportion, from which L rises at l0 = 100 and at 120: the first found among
# all 19,682 states with entries 0, 1, 2, in floats. At l0 = 150 none of them made L rise.
_RISING = {(2, 3): (), (5, 9): ((0, 0, 1, 0, 0, 0, 1, 0, 1), (0, 1, 2, 0, 0, 0, 1, 0, 1))}


def _energy_rises(lengths: tuple[int, int], input_length: int) -> str | None:
    """The first rise of L outside N that the starts of the sample meet, or None; rational."""
    found = near.neighbourhood_of(exact.two_lengths(*lengths, HALF), input_length)
    full = [_filled(found, pattern) for pattern in _RISING[lengths]]
    for start in (*full, *near.cohort_starts(found.system, 12)):
        last: Fraction | None = None
        for n, now in enumerate(islice(nearby.transition.cohort_iterates(found.system, start), 9)):
            level = near.rational(found.energy(now.deviation))
            if last is not None and last >= found.delta_squared and level >= last:
                shown = ", ".join(map(str, start))
                return f"from Y = ({shown}) L rises {decimal(last)} -> {decimal(level)} at n = {n}"
            last = level
    return None


def _filled(
    found: "nearby.neighbourhood.Neighbourhood", pattern: tuple[int, ...]
) -> list[Fraction]:
    """The state on the memory boundary with cohorts in these proportions."""
    weights = found.lyapunov.weights
    used = sum(v * y for v, y in zip(weights.memory, pattern, strict=True))
    return [found.system.capacity * weights.denominator * y / used for y in pattern]


@CLAIMS.claim(
    "theorem-22.descent", "Theorem 22, proof, second step, and B.8.6", evidence=Evidence.SAMPLED
)
def _descent() -> Finding:
    """Outside N the energy falls in every iteration, for sufficiently large l0.

    Checked: decode lengths 2, 3 and 5, 9, equal shares; 12 to 14 starts, 8 iterations
    Paper: L falls outside N for sufficiently large l0"""
    # At which of the input lengths tried L falls in every iteration outside N.
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
    return Finding(
        settled,
        "; ".join(shown),
        note="The equilibrium is stable at every l0 tried (from 2 and from 65 on): stability alone "
        f"does not make L fall. {witness} The printed constants ask for l0 = "
        f"{_printed_size():.2g} with decode lengths 2 and 3.",
    )


def _printed_size() -> float:
    """l0_3 of the proof for decode lengths 2 and 3, equal shares, beta = 11.8.

    (C_3 M_y + C_4)/l0 <= delta^2/(2 C_P) with the limits for long inputs of C_P, delta and x*,
    C_e = beta sqrt(1 + 1/q^2) and M_y = beta/q + sqrt(d) x*. A float, for display.
    """
    mix, beta, q, d, kappa = exact.two_lengths(2, 3, HALF), float(near.BETA), 0.5, 3, 2.5
    c_p = float(exact.lyapunov(mix.limit).norm.upper())
    c_3, c_4 = _constants(c_p, q, d)
    m_y = beta / q + d**0.5 * beta / kappa
    return (c_3 * m_y + c_4) * 2 * c_p / ((beta / (4 * kappa)) ** 2 / d)
