"""WAIT, equation (14): how large the safety buffer is, and on what it depends."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import pairwise
from math import log

from fluidkv import wait
from fluidkv.ledger import Evidence, Finding, Origin, Verdict, flint
from fluidkv.wait import theory
from fluidkv_papers.wait.instances.designs import LOADS, best, swept
from fluidkv_papers.wait.instances.nested import INSTANCE, NESTED, SYNTHETIC, instance, synthetic
from fluidkv_papers.wait.paper import statements

CLAIMS = statements()
REMARKS = CLAIMS.section(origin=Origin.READING, kind="remark")


def _bound(horizon: int, delta: Fraction) -> "theory.bounds.MemoryBound":
    return wait.theorem_2_memory(instance(), NESTED, 1, horizon, delta, per_kv_token=0)


def _tail_step(before: tuple[int, int], after: tuple[int, int]) -> "flint.arb":
    """What term 3 gains from T = 10^a, delta = 10^-b to the next; terms 1 and 2 must stay."""
    low, high = (_bound(10**a, Fraction(1, 10**b)) for a, b in (before, after))
    if (low.batch, low.queue) != (high.batch, high.queue):
        raise ArithmeticError("terms 1 and 2 move")
    return high.tail - low.tail


@CLAIMS.claim(
    "theorem-2.logarithmic",
    "below Theorem 2; section 7.2, (iii)",
    over=lambda: (((3, 1), (4, 1)), ((2, 1), (2, 2)), ((2, 2), (2, 3))),
    checked=f"{INSTANCE}; N = 1e2 to 1e4, delta = 1e-1 to 1e-3",
    refuted=Evidence.BALL,
    kind="remark",
)
def _logarithmic(before: tuple[int, int], after: tuple[int, int]) -> bool | str:
    """The safety buffer of (14) grows logarithmically in the horizon and in 1 / delta.

    Ours: 3.1900 tokens for each factor 10 of T or 1 / delta
    Paper: the safety buffer grows logarithmically in T and 1 / delta"""
    step, first = _tail_step(before, after), _tail_step((2, 1), (3, 1))
    same = step.overlaps(first) and abs(step - flint.arb("3.1900")) < flint.arb("5e-5")
    return bool(same) or f"from {before} to {after}: {step}, {first}"


@dataclass(frozen=True)
class _Case:
    """A base memory and the buffer beside it, tokens."""

    name: str
    base: float
    buffer: float


@cache
def _cases() -> tuple[_Case, ...]:
    least = _bound(1000, Fraction(1, 100))
    buffer = float(least.queue) + float(least.tail.mid())
    found = [_Case(f"n = {NESTED}", float(least.batch), buffer)]
    for load in LOADS:
        system = synthetic(load)
        for spare in (0, 1):
            design = best(swept(system, spare=spare, counts=(5, 10, 25, 50)))
            name = f"load {float(load)}, {spare} to spare"
            found.append(_Case(name, float(design.batch), design.total - float(design.batch)))
    return tuple(found)


@REMARKS.undecided("theorem-2.modest-buffer", "below Theorem 2", evidence=Evidence.SAMPLED)
def _modest() -> Finding:
    """The safety buffer of (14) is typically modest beside its base memory.

    Checked: the instance of Proposition 3, and six designs for a synthetic distribution
    Paper: typically dominated by the base term; modest in practice"""
    # Whether term 1 is above terms 2 and 3 together: in all cases, in none, or in some.
    cases = _cases()
    small = [case for case in cases if case.buffer < case.base]
    worst = max(cases, key=lambda case: case.buffer / case.base)
    mixed = Verdict.UNDECIDED if small else Verdict.FAILS
    return Finding(
        Verdict.HOLDS if len(small) == len(cases) else mixed,
        f"in {len(small)} of {len(cases)} cases; {worst.name}: a buffer of "
        f"{worst.buffer:,.0f} tokens beside {worst.base:,.0f}",
        note=f"{INSTANCE}; {SYNTHETIC}, at loads 0.1, 0.5 and 0.8 with the best of 5, 10, 25 and "
        "50 segments. Typically and in practice are the paper's words, which single cases do not "
        "refute.",
    )


_COUNTS = (10, 50, 250)  # types


def _by_types() -> tuple[list[Fraction], list[Fraction], float]:
    """Least M^pi of whole thresholds, what waits before segments with real ones, the last n*."""
    least, waiting, most = [], [], 0.0
    for m in _COUNTS:
        system = synthetic(Fraction(1, 2), every=500 // m)
        segments, fluid = wait.Segments.of(system), wait.fluid_equilibrium(system)
        found = wait.integer_nested_thresholds(segments, system.base, system.per_kv_token)
        least.append(found.memory)
        most = float(max(fluid.per_stage))
        # real thresholds come down to r_k tau*: what they hold before each segment, at any rate
        alive = [rate * fluid.iteration_time for rate in segments.rates[1:]]
        waiting.append(sum(a * b for a, b in zip(segments.boundary_tokens, alive, strict=True)))
    return least, waiting, most


@REMARKS.undecided(
    "section-2-2.types",
    "section 2.2; below Theorem 2",
    checked=f"{SYNTHETIC}; only each 50th, 10th, 2nd output; load 1/2",
)
def _types() -> Finding:
    """With a segment for each type the memory (14) depends on the number of types weakly, like its
    logarithm.

    Paper: guarantees depend weakly (logarithmically) on the number of types"""
    # One segment for each of m types; the load, and so M*, is the same.
    least, waiting, most = _by_types()
    growth = [
        [float(after / before) for before, after in pairwise(each)] for each in (least, waiting)
    ]
    logs = [log(b) / log(a) for a, b in pairwise(_COUNTS)]
    bad = all(g > most for each in growth for g, most in zip(each, logs, strict=True))
    rows = zip(_COUNTS, least, strict=True)
    shown = ", ".join(f"{m}: {float(memory):,.0f}" for m, memory in rows)
    return Finding(
        not bad or f"M^pi by number of types: {shown}",
        f"five times the types: {growth[0][0]:.1f} and {growth[0][1]:.1f} times the least "
        f"M^pi of whole thresholds, {growth[1][0]:.1f} and {growth[1][1]:.1f} times what waits "
        "before segments with real ones",
        note="Read of the memory (14), a segment for each type. Whole thresholds at a low "
        f"rate, n* = {most:.2g} at most with {_COUNTS[-1]}: one prompt at each stage is one in "
        "each segment. At higher rates and with real ones term 2 is a sum over the "
        "boundaries. The tail has ln(m - 1) in each. Which guarantee is meant is not said, and "
        "section 7.2 merges types.",
    )
