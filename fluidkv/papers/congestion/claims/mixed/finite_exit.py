"""Congestion, Lemma 16 and Remark 3: who leaves the neighbourhood of the equilibrium, who stays.

Exactness needs an unstable root that is rational. F of a pair is linear in q, so any rational z
gives a rational q. For (2, 8), l0 = 30 and z = -34/33 it is about 0.39: one unstable root, and a
hyperplane of states without projection on it, whose normal is rational.
"""

from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING

from fluidkv.ledger.claim import Outcome
from fluidkv.ledger.outcomes import holds_for, sampled, verdict
from fluidkv.papers.congestion.paper import congestion
from fluidkv.verdict import Evidence, Verdict

if TYPE_CHECKING:
    from fluidkv.exact.mixed.cycles.orbits import CohortMap
    from fluidkv.workload import System

_ROOT = Fraction(-34, 33)
_LENGTHS, _INPUT = (2, 8), 30
_FAR = 1000  # iterations; the checks say what they find until then
_NAMED = "(2, 8), l0 = 30, x* = 1 and the q, about 0.39, for which -34/33 is the unstable root"

State = tuple[Fraction, ...]


def _system() -> "System":
    """The pair with x* = 1 and the rational unstable root."""
    from fluidkv.exact.mixed.mix import two_lengths
    from fluidkv.workload import System

    (a, b), v = _LENGTHS, [_INPUT + 1 + s for s in range(_LENGTHS[1])]
    terms = [w * _ROOT ** (b - 1 - s) for s, w in enumerate(v)]
    q = -sum(terms[:a], Fraction(0)) / sum(terms[a:], Fraction(0))
    memory = sum(v[:a]) + q * sum(v[a:])
    return System(two_lengths(a, b, 1 - q).workload(_INPUT), memory)


def _normal(dynamics: "CohortMap") -> State:
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


def _on_hyperplane(dynamics: "CohortMap", young: Sequence[Fraction]) -> State:
    """The state with these youngest masses, all but two; no projection, and memory full."""
    normal = _normal(dynamics)
    balance = sum((a * (y - 1) for a, y in zip(normal, young, strict=False)), Fraction(0))
    return _filled(dynamics, [*young, 1 - balance / normal[-2]])


def _filled(dynamics: "CohortMap", young: Sequence[Fraction]) -> State:
    """The oldest cohort fills memory."""
    v = dynamics.weights
    held = sum((w * y for w, y in zip(v, young, strict=False)), Fraction(0))
    return (*young, (dynamics.capacity - held) / v[-1])


def _converges(dynamics: "CohortMap", state: State) -> bool:
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


def _exits(dynamics: "CohortMap", state: State, size: Fraction) -> int | None:
    """The first n at which some cohort is more than `size` away from x*; None up to _FAR."""
    for n in range(1, _FAR + 1):
        _, state = dynamics.step(state)
        if _deviation(state) > size:
            return n
    return None


def _finite_exit() -> Outcome:
    from fluidkv.exact.mixed.cycles.orbits import CohortMap

    dynamics = CohortMap(_system())
    normal, v = _normal(dynamics), dynamics.weights
    neighbourhood = v[0] / sum(v[1:]) / 2  # half of what keeps post-execute memory below M
    bad, latest, off, on = None, 0, 0, 0
    one = Fraction(1)
    for k in product((-1, 2), repeat=3):
        pushes = [Fraction(i, 500) for i in k]
        state = _filled(dynamics, [one + e for e in pushes] + [one] * 4)
        if _projection(normal, state) != 0:
            left = _exits(dynamics, state, neighbourhood)
            latest, off = max(latest, left or 0), off + 1
            bad = bad or (None if left else f"start {state[:3]} stays for {_FAR} iterations")
        state = _on_hyperplane(dynamics, [one + e for e in pushes] + [one] * 3)
        on += 1
        if not _converges(dynamics, state):
            bad = bad or f"start {state} without projection does not stay"
    return sampled(
        bad,
        f"{off} starts with projection exit by n = {latest}; {on} without it, in the hyperplane, "
        "stay and converge",
        "finite exit off a proper linear subspace",
        note=f"{_NAMED}; the projection is then rational and the trajectories are exact.",
    )


_PAIRS = ((2, 4), (2, 6), (3, 6), (4, 6), (4, 8), (6, 9), (5, 10))


def _no_eviction_near() -> Outcome:
    """After-execution memory is linear: over a box around x* it is largest in the upper corner."""
    from fluidkv.exact.mixed.cycles.orbits import CohortMap
    from fluidkv.exact.mixed.mix import two_lengths
    from fluidkv.workload import System

    bad, count = None, 0
    for (a, b), l0, p in product(_PAIRS, (1, 10, 100), (Fraction(1, 10), Fraction(9, 10))):
        dynamics = CohortMap(System(two_lengths(a, b, p).workload(l0), l0 + b + 1))
        v = dynamics.weights
        rate = dynamics.capacity / sum(v)
        size = v[0] * rate / sum(v[1:]) / 2
        corner = sum(v[1:]) * (rate + size)
        admitted = dynamics.step([rate + size] * b)
        if not corner < dynamics.capacity or admitted[0] != 0 or admitted[1][0] <= 0:
            bad = bad or f"(a, b) = ({a}, {b}), l0 = {l0}, p = {p}"
        count += 1
    return sampled(
        bad, f"inactive for |y_s - x*| <= V_0 x* / (2 sum of V_s, s >= 1), {count} systems", "near"
    )


# Youngest masses of a state that has just evicted, on the hyperplane: found by a random search.
_AFTER_EVICTION = tuple(Fraction(y) for y in ("0", "0.64", "0.12", "2.15", "1.95", "1.3"))


def _exactly_when() -> Outcome:
    """A start with a projection that comes back, as eviction takes the projection away."""
    from fluidkv.exact.mass import iterate
    from fluidkv.exact.mixed.cycles.orbits import CohortMap

    system = _system()
    dynamics = CohortMap(system)
    normal = _normal(dynamics)

    after = _on_hyperplane(dynamics, _AFTER_EVICTION)
    young = after[1] + Fraction(1, 100)  # eviction will take the hundredth of a request
    start = _filled(dynamics, [young, *after[2:]])
    step = iterate(system, dynamics.masses(start))
    evicts = any(x for row in step.evicted for x in row)
    if min(start) < 0 or step.state != dynamics.masses(after) or not evicts:
        raise ArithmeticError("the literal model does not lead to the hyperplane")
    returns = _projection(normal, start) != 0 and _converges(dynamics, after)

    return Outcome(
        verdict(not returns),
        Evidence.EXACT,
        ours=f"a start with projection {float(_projection(normal, start)):.4f} evicts once and "
        "converges to x*"
        if returns
        else "the start does not return",
        paper="stability holds exactly when there is no projection on the unstable subspace",
        note="The eviction, which the linear argument leaves out, takes the projection away. "
        "Within the neighbourhood of Lemma 16 the statement holds: see "
        "congestion.lemma-16.finite-exit.",
        witness=f"{_NAMED}: cohorts ({_shown(start)})",
    )


def _shown(state: State) -> str:
    return ", ".join(f"{float(y):.4g}" for y in state)


def _equilibrium_mode() -> Outcome:
    """z = 1 is no root of F. It is one of (z - 1) F, which the admissions themselves obey."""
    from fluidkv.exact.mixed.mix import two_lengths

    bad = None
    for (a, b), p, l0 in product(_PAIRS, (Fraction(1, 3), Fraction(9, 10)), (1, 50)):
        weights = two_lengths(a, b, p).weights(l0)
        if weights.lifetime_memory <= 0 or weights.ages != b:
            bad = bad or f"(a, b) = ({a}, {b}), p = {p}, l0 = {l0}"
    return holds_for(
        bad,
        ours="F(1) = sum of V_s > 0, so not a mode of the perturbation (9); b modes in all with "
        "those of F: the recurrence x^{n+1} of memory, differenced, has (z - 1) F(z)",
        paper="the equilibrium mode z_0 = 1 besides z_1 ... z_{b-1}",
        note="On the memory boundary the mode z_0 has no amplitude: it would change the capacity.",
        evidence=Evidence.SAMPLED,
    )


def _vandermonde() -> Outcome:
    """Real roots of F on both sides of a double one: their number changes only through it."""
    from fluidkv.exact.mixed.mix import two_lengths
    from fluidkv.exact.roots.polynomial import characteristic_polynomial, enclosed_roots
    from fluidkv.exact.roots.spectrum import count_unstable

    a, b, l0 = 6, 9, 1000

    def real(q: Fraction) -> int:
        polynomial = characteristic_polynomial(two_lengths(a, b, 1 - q).weights(l0))
        return sum(m for z, m in enclosed_roots(polynomial) if z.imag == 0)

    low, high = Fraction(1, 5), Fraction(3, 10)
    before, behind = real(low), real(high)
    while high - low > Fraction(1, 10**6) and before != behind:
        middle = (low + high) / 2
        low, high = (middle, high) if real(middle) == before else (low, middle)
    count = count_unstable(two_lengths(a, b, 1 - low).weights(l0))
    return Outcome(
        verdict(before == behind),
        Evidence.EXACT,
        ours=f"F has {before} real roots at q = {float(low):.6f} and {behind} at "
        f"{float(high):.6f}, so a multiple root between, where {count.outside} = g - 1 roots "
        "are unstable as supposed",
        paper="the general solution admits a Vandermonde decomposition",
        note="At a multiple root the modes are n z^n too (confluent). They decay with |z| < 1, so "
        "the conclusion about stability does not change.",
        witness=f"(a, b) = ({a}, {b}), l0 = {l0}, one q in that interval; for long inputs near "
        "q = 1/4, where A has double roots",
    )


CLAIMS = (
    congestion(
        "lemma-16.no-eviction",
        "Around the eviction-free equilibrium there is a neighbourhood without eviction.",
        "Lemma 16",
        _no_eviction_near,
        kind="lemma",
        checked="seven pairs with gcd > 1, l0 = 1, 10, 100, p = 1/10 and 9/10",
    ),
    congestion(
        "lemma-16.finite-exit",
        "Perturbations with a projection on the unstable modes leave it; the others, a proper "
        "linear subspace, may stay.",
        "Lemma 16",
        _finite_exit,
        kind="lemma",
        checked="one pair with a rational unstable root, 8 starts and 8 on the subspace",
    ),
    congestion(
        "remark-3.exactly",
        "Stability holds exactly when the initial perturbation has no projection onto the "
        "unstable subspace.",
        "Remark 3, read as a statement about all starts",
        _exactly_when,
        kind="remark",
        expected=Verdict.FAILS,
        checked="starts of one pair with a rational unstable root",
    ),
    congestion(
        "remark-3.equilibrium-mode",
        "The modes are z_0 = 1 and the roots of F, together b.",
        "Remark 3, for the recurrence of the admissions",
        _equilibrium_mode,
        kind="remark",
        checked="seven pairs, four systems each",
    ),
    congestion(
        "remark-3.vandermonde",
        "For g > 1 the general solution has a Vandermonde decomposition into these modes.",
        "Remark 3",
        _vandermonde,
        kind="remark",
        expected=Verdict.FAILS,
        checked="(6, 9), l0 = 1000, q from 1/5 to 3/10",
    ),
)
