"""Congestion, Lemma 16 and Remark 3: who leaves the neighbourhood of the equilibrium, who stays.

Exactness needs an unstable root that is rational. F of a pair is linear in q, so any rational z
gives a rational q. For (2, 8), l0 = 30 and z = -34/33 it is about 0.39: one unstable root, and a
hyperplane of states without projection on it, whose normal is rational.
"""

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product

from fluidkv import exact
from fluidkv.exact import roots
from fluidkv.exact.mixed import cycles
from fluidkv.ledger import Finding, Origin, Seen, flint
from fluidkv.workload import System
from fluidkv_papers.congestion.paper import statements

CLAIMS = statements()

State = tuple[Fraction, ...]

_ROOT = Fraction(-34, 33)
_LENGTHS, _INPUT = (2, 8), 30
_FAR = 1000  # iterations; the checks say what they find until then
_NAMED = "(2, 8), l0 = 30, x* = 1 and the q, about 0.39, for which -34/33 is the unstable root"


# --- the pair with a rational unstable root -------------------------------------------------------


def _rational() -> "cycles.orbits.CohortMap":
    """The pair with x* = 1 and the rational unstable root."""
    (a, b), v = _LENGTHS, [_INPUT + 1 + s for s in range(_LENGTHS[1])]
    terms = [w * _ROOT ** (b - 1 - s) for s, w in enumerate(v)]
    q = -sum(terms[:a], Fraction(0)) / sum(terms[a:], Fraction(0))
    memory = sum(v[:a]) + q * sum(v[a:])
    return cycles.orbits.CohortMap(System(exact.two_lengths(a, b, 1 - q).workload(_INPUT), memory))


def _normal(dynamics: "cycles.orbits.CohortMap") -> State:
    """The left eigenvector of the eviction-free map at the unstable root: l_0 = 1,
    l_{j+1} = z l_j + V_{j+1} / V_0. The projection on its mode is the product with it."""
    v = dynamics.weights
    normal = [Fraction(1)]
    for j in range(len(v) - 1):
        normal.append(_ROOT * normal[j] + v[j + 1] / v[0])
    if normal[-1] != 0:  # the last column of the map is 0, and so is the last entry
        raise ArithmeticError("z is not a root of F")
    return tuple(normal)


def _deviation(state: Sequence[Fraction]) -> Fraction:
    return max(abs(y - 1) for y in state)


def _projection(normal: State, state: Sequence[Fraction]) -> Fraction:
    return sum((a * (y - 1) for a, y in zip(normal, state, strict=True)), Fraction(0))


def _on_hyperplane(dynamics: "cycles.orbits.CohortMap", young: Sequence[Fraction]) -> State:
    """The state with these youngest masses, all but two; no projection, and memory full."""
    normal = _normal(dynamics)
    balance = sum((a * (y - 1) for a, y in zip(normal, young, strict=False)), Fraction(0))
    return _filled(dynamics, [*young, 1 - balance / normal[-2]])


def _filled(dynamics: "cycles.orbits.CohortMap", young: Sequence[Fraction]) -> State:
    """The oldest cohort fills memory."""
    v = dynamics.weights
    held = sum((w * y for w, y in zip(v, young, strict=False)), Fraction(0))
    return (*young, (dynamics.capacity - held) / v[-1])


def _converges(dynamics: "cycles.orbits.CohortMap", state: State) -> bool:
    """No eviction, no projection, and 1e-6 of the equilibrium in the end.

    From there on for ever: the other roots lie inside the unit circle.
    """
    normal, first = _normal(dynamics), _deviation(state)
    for _ in range(_FAR):
        front, state = dynamics.step(state)
        if front != 0 or _projection(normal, state) != 0:
            return False
        if _deviation(state) < first / 10**6:
            return True
    return False


def _exits(dynamics: "cycles.orbits.CohortMap", state: State, size: Fraction) -> int | None:
    """The first n at which some cohort is more than `size` away from x*; None up to _FAR."""
    for n in range(1, _FAR + 1):
        _, state = dynamics.step(state)
        if _deviation(state) > size:
            return n
    return None


# --- Lemma 16 -------------------------------------------------------------------------------------

_PAIRS = ((2, 4), (2, 6), (3, 6), (4, 6), (4, 8), (6, 9), (5, 10))


@CLAIMS.claim(
    "lemma-16.no-eviction",
    "Lemma 16",
    over=lambda: product(_PAIRS, (1, 10, 100), (Fraction(1, 10), Fraction(9, 10))),
)
def _no_eviction_near(pair: tuple[int, int], l0: int, p: Fraction) -> bool:
    """Around the eviction-free equilibrium there is a neighbourhood without eviction.

    Checked: seven pairs with gcd > 1, l0 = 1, 10, 100, p = 1/10 and 9/10
    Ours: inactive for |y_s - x*| <= V_0 x* / (2 sum of V_s, s >= 1), {count} systems"""
    # After-execution memory is linear: over a box around x* it is largest in the upper corner.
    workload = exact.two_lengths(*pair, p).workload(l0)
    dynamics = cycles.orbits.CohortMap(System(workload, l0 + pair[1] + 1))
    v = dynamics.weights
    rate = dynamics.capacity / sum(v)
    size = v[0] * rate / sum(v[1:]) / 2
    front, state = dynamics.step([rate + size] * pair[1])
    return sum(v[1:]) * (rate + size) < dynamics.capacity and front == 0 and state[0] > 0


def _starts() -> Iterator[tuple[bool, State]]:
    """Starts near x* = 1, and whether they lie on the hyperplane without projection."""
    dynamics, one = _rational(), Fraction(1)
    for k in product((-1, 2), repeat=3):
        young = [one + Fraction(i, 500) for i in k]
        yield False, _filled(dynamics, [*young, *[one] * 4])
        yield True, _on_hyperplane(dynamics, [*young, *[one] * 3])


@CLAIMS.claim(
    "lemma-16.finite-exit",
    "Lemma 16",
    over=_starts,
    note=f"{_NAMED}; the projection is then rational and the trajectories are exact.",
)
def _finite_exit(on: bool, state: State) -> bool | Seen:
    """Perturbations with a projection on the unstable modes leave a neighbourhood of the
    equilibrium; the others, a proper linear subspace, may stay.

    Checked: one pair with a rational unstable root, 8 starts and 8 on the subspace
    Ours: 8 starts with projection exit by n = {max}; 8 without it, in the hyperplane, stay and
    converge
    Paper: finite exit off a proper linear subspace"""
    dynamics = _rational()
    if on:
        return _converges(dynamics, state) and Seen(0)
    v = dynamics.weights
    size = v[0] / sum(v[1:]) / 2  # half of what keeps post-execute memory below M
    left = _exits(dynamics, state, size)
    return _projection(_normal(dynamics), state) != 0 and left is not None and Seen(left)


# --- Remark 3 -------------------------------------------------------------------------------------

# Youngest masses of a state that has just evicted, on the hyperplane: found by a random search.
_AFTER_EVICTION = tuple(Fraction(y) for y in ("0", "0.64", "0.12", "2.15", "1.95", "1.3"))


@CLAIMS.fails(
    "remark-3.exactly", "Remark 3, read as a statement about all starts", origin=Origin.READING
)
def _exactly_when() -> Finding:
    """Stability holds exactly when the initial perturbation has no projection onto the unstable
    subspace.

    Checked: starts of one pair with a rational unstable root
    Paper: stability holds exactly when there is no projection on the unstable subspace
    Note: The eviction, which the linear argument leaves out, takes the projection away. Within the
    neighbourhood of Lemma 16 the statement holds.
    Holds: lemma-16.finite-exit"""
    # A start with a projection that comes back, as eviction takes the projection away.
    dynamics = _rational()
    after = _on_hyperplane(dynamics, _AFTER_EVICTION)
    young = after[1] + Fraction(1, 100)  # eviction will take the hundredth of a request
    start = _filled(dynamics, [young, *after[2:]])
    step = exact.iterate(dynamics.system, dynamics.masses(start))
    evicts = any(x for row in step.evicted for x in row)
    if min(start) < 0 or step.state != dynamics.masses(after) or not evicts:
        raise ArithmeticError("the literal model does not lead to the hyperplane")
    projection = _projection(_normal(dynamics), start)
    returns = projection != 0 and _converges(dynamics, after)
    return Finding(
        not returns or f"{_NAMED}: cohorts ({_shown(start)})",
        f"a start with projection {float(projection):.4f} evicts once and converges to x*"
        if returns
        else "the start does not return",
    )


def _shown(state: State) -> str:
    return ", ".join(f"{float(y):.4g}" for y in state)


@CLAIMS.claim(
    "remark-3.equilibrium-mode",
    "Remark 3, for the map that admits what an iteration frees",
    over=lambda: product(_PAIRS, (Fraction(1, 3), Fraction(9, 10)), (100, 1000)),
)
def _equilibrium_mode(pair: tuple[int, int], p: Fraction, l0: int) -> bool:
    """The modes are z_0 = 1, carried by equal masses, g - 1 outside the unit circle and b - g
    inside, together b.

    Checked: seven pairs with gcd > 1, p = 1/3 and 9/10, l0 = 100 and 1000
    Ours: the characteristic polynomial of the map is (z - 1) F(z), F counted, {count} systems
    Paper: the equilibrium mode z_0 = 1, unstable z_1 ... z_{g-1}, stable z_g ... z_{b-1}
    Note: F(1) > 0, so that z = 1 is not a mode of the perturbation (9): on the memory boundary it
    has no amplitude, as it would change the capacity."""
    (_, b), g, mix = pair, math.gcd(*pair), exact.two_lengths(*pair, p)
    capacity = mix.weights(l0).lifetime_memory  # x* = 1
    dynamics = cycles.orbits.CohortMap(System(mix.workload(l0), capacity))
    v = [*dynamics.weights, Fraction(0)]
    frees = [(v[j] - v[j + 1]) / v[0] for j in range(b)]
    rows = [frees, *([Fraction(i == j) for j in range(b)] for i in range(b - 1))]
    update = flint.fmpq_mat([[flint.fmpq(x.numerator, x.denominator) for x in row] for row in rows])

    # It is what the literal model does: full memory, uneven masses, no eviction.
    state = _filled(dynamics, [1 + Fraction(j * j % 3, 50) for j in range(b - 1)])
    after = [sum((x * y for x, y in zip(r, state, strict=True)), Fraction(0)) for r in rows]
    literal = exact.iterate(dynamics.system, dynamics.masses(state)).state

    f = flint.fmpq_poly(exact.characteristic_polynomial(mix.weights(l0)))
    modes = update.charpoly() == flint.fmpq_poly([-1, 1]) * f / f.coeffs()[-1]
    count = exact.count_unstable(mix.weights(l0))
    return (
        literal == dynamics.masses(after)
        and modes
        and sum(frees) == 1
        and f(1) > 0
        and (count.outside, count.on_circle, f.degree()) == (g - 1, 0, b - 1)
    )


@CLAIMS.fails("remark-3.vandermonde", "Remark 3")
def _vandermonde() -> Finding:
    """For g > 1 the general solution has a Vandermonde decomposition into these modes.

    Checked: (6, 9), l0 = 1000, q from 1/5 to 3/10
    Paper: the general solution admits a Vandermonde decomposition
    Note: At a multiple root the modes are n z^n too (confluent). They decay with |z| < 1, so the
    conclusion about stability does not change."""
    # Real roots of F on both sides of a double one: their number changes only through it.
    a, b, l0 = 6, 9, 1000

    def real(q: Fraction) -> int:
        polynomial = exact.characteristic_polynomial(exact.two_lengths(a, b, 1 - q).weights(l0))
        return sum(m for z, m in roots.polynomial.enclosed_roots(polynomial) if z.imag == 0)

    low, high = Fraction(1, 5), Fraction(3, 10)
    before, behind = real(low), real(high)
    while high - low > Fraction(1, 10**6) and before != behind:
        middle = (low + high) / 2
        low, high = (middle, high) if real(middle) == before else (low, middle)
    count = exact.count_unstable(exact.two_lengths(a, b, 1 - low).weights(l0))
    return Finding(
        before == behind
        or f"(a, b) = ({a}, {b}), l0 = {l0}, one q in that interval; for long inputs near "
        "q = 1/4, where A has double roots",
        f"F has {before} real roots at q = {float(low):.6f} and {behind} at "
        f"{float(high):.6f}, so a multiple root between, where {count.outside} = g - 1 roots "
        "are unstable as supposed",
    )
