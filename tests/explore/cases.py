"""Systems with what Python finds of them, exact: what the page's script must find."""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import gcd
from typing import Any

from flint import fmpz_poly

from fluidkv.exact.linear_stability import stability
from fluidkv.exact.mass import Masses, Step, iterate, memory_used
from fluidkv.exact.precision import working
from fluidkv.exact.roots.polynomial import enclosed_roots
from fluidkv.exact.survival import eviction_free_equilibrium, survival_weights
from fluidkv.explore.state import Lengths, PageState
from fluidkv.workload import System

_BITS = 128  # of balls around roots, which makes the nearest double a matter of the root alone


@dataclass(frozen=True)
class Case:
    """A state of the page, and what it is there to try."""

    name: str
    state: PageState


def _case(name: str, input_length: int, outputs: str, capacity: int, start: str, n: int) -> Case:
    """`outputs` as in a link: "2:1 4:3"; a length alone has one part."""
    pairs = [each.partition(":") for each in outputs.split()]
    read = tuple((int(length), int(part or 1)) for length, _, part in pairs)
    return Case(name, PageState(Lengths((input_length,), read), capacity, start, n))


CASES = (
    _case("one iteration each: no roots", 5, "1", 100, "empty", 10),
    _case("the smallest memory", 7, "3 5", 13, "over:40", 60),
    _case("equal requests lose stage after stage", 2, "3", 24, "list:2.5,2,1.7", 24),
    _case("an unstable cycle, exactly", 2, "4", 63, "list:17,3,0,0", 24),
    _case("four stages, five evictions", 2, "4", 48, "over:18.75", 30),
    _case("twelve stages down to the worst cycle", 2, "12", 1000, "over:1", 120),
    _case("a coprime pair forgets", 50, "2 3", 518, "over:25", 60),
    _case("the divisor 2 grows to evictions", 50, "2 4", 626, "over:25", 120),
    _case("the divisor 2, long inputs", 4096, "2 4", 10_000_000, "over:10", 60),
    _case("a push of all that fits", 20, "5 8", 3000, "over:100", 60),
    _case("parts of 3, 2 and 7", 30, "3:3 5:2 9:7", 2500, "over:25", 80),
    _case("parts of 1 and 999", 100, "2:1 9:999", 9000, "empty", 60),
    _case("an empty server overshoots", 100, "2 3", 1180, "empty", 60),
    _case("4 and 7 forget a burst", 40, "4 7", 239, "empty", 100),
    _case("4 and 8 keep it", 40, "4 8", 263, "empty", 100),
    _case("three lengths, coprime together", 30, "2 9 12", 816, "empty", 100),
    _case("three even lengths", 30, "2 8 12", 777, "empty", 100),
    _case("four lengths", 30, "6 9 10 15", 600, "empty", 100),
    _case("a pair of roots on the circle", 1, "2 3", 28, "over:25", 60),
    _case("the root -1", 2, "1 2:3", 90, "over:25", 60),
    _case("the root -1 of three lengths", 2, "1 2 4", 70, "over:25", 60),
    _case("roots outside and on the circle", 1, "3 6", 60, "over:5", 40),
    _case("an early burst of 1 and 6", 36, "1 6", 400, "empty", 100),
    _case("the divisor 20", 30, "20 40", 1000, "empty", 60),
    _case("249 roots, the divisor 25", 512, "100 125 200 250", 483_328, "empty", 40),
    _case("255 roots, all outside", 4096, "256", 10_000_000, "over:3", 30),
    _case("255 roots of two lengths", 3000, "255 256", 8_000_000, "over:25", 30),
)


def found(state: PageState) -> dict[str, Any]:
    """All that Python says of a state; exact numbers, each as the nearest double."""
    system, weights = state.system(), survival_weights(state.system().workload)
    balance, judged = eviction_free_equilibrium(system), stability(system)
    masses = start_masses(state)
    steps = list(_steps(system, _by_class(system, masses), state.iterations))
    return {
        "link": state.link,
        "memory": list(weights.memory),
        "requests": list(weights.requests),
        "denominator": weights.denominator,
        "rate": float(balance.rate),
        "inFlight": float(balance.in_flight),
        "start": list(map(float, masses)),
        "flows": _flows(system, steps),
        "running": [float(_requests(step.state)) for step in steps],
        "last": _by_age(system, steps[-1].state),
        **_late_half(system, steps),
        "verdict": str(judged.verdict),
        "growing": judged.unstable_modes,
        "neutral": judged.neutral_modes,
        "roots": _roots(weights.memory),
    }


def start_masses(state: PageState) -> tuple[Fraction, ...]:
    """Y^0, the mass of each cohort by age, in units of admission.

    Where the newest cohort is larger than at the equilibrium, the oldest ones are smaller by as
    many tokens, the very oldest first, so that memory is exactly full.
    """
    weights = survival_weights(state.system().workload)
    kind, _, text = state.start.partition(":")
    if kind == "empty":
        return (Fraction(0),) * weights.ages
    if kind == "list":
        return tuple(map(Fraction, text.split(",")))
    memory = [Fraction(v, weights.denominator) for v in weights.memory]
    rate = eviction_free_equilibrium(state.system()).rate
    masses = [rate] * len(memory)
    masses[0] = min(rate * (1 + Fraction(text) / 100), state.capacity / memory[0])
    excess = (masses[0] - rate) * memory[0]
    for age in range(len(memory) - 1, 0, -1):
        taken = min(excess, masses[age] * memory[age])
        masses[age] -= taken / memory[age]
        excess -= taken
    return (masses[0] - excess / memory[0], *masses[1:])


def _steps(system: System, masses: Masses, iterations: int) -> Iterator[Step]:
    for _ in range(iterations):
        step = iterate(system, masses)
        masses = step.state
        yield step


def _by_class(system: System, masses: tuple[Fraction, ...]) -> Masses:
    """Cohorts as masses of each class and stage: its share of each cohort, until it is done."""
    return [[c.share * y for y in masses[: c.decode_length]] for c in system.workload.classes]


def _by_age(system: System, state: Masses) -> list[float]:
    """The same the other way round, from the class that stays longest; all classes agree."""
    shares = [c.share for c in system.workload.classes]
    for row, share in zip(state, shares, strict=True):
        assert [x / share for x in row] == [x / shares[-1] for x in state[-1]][: len(row)]
    return [float(x / shares[-1]) for x in state[-1]]


def _requests(state: Masses) -> Fraction:
    return sum((x for row in state for x in row), Fraction(0))


def _flows(system: System, steps: list[Step]) -> dict[str, list[float]]:
    """Of each iteration, requests of all classes; what was asked for in tokens."""
    return {
        "completed": [float(sum(step.completed)) for step in steps],
        "evicted": [float(_requests(step.evicted)) for step in steps],
        "admitted": [float(sum(step.admitted)) for step in steps],
        "demand": [float(memory_used(system, step.executed)) for step in steps],
    }


def _late_half(system: System, steps: list[Step]) -> dict[str, Any]:
    """Throughput over that of the balance, and evictions over completions; None without any."""
    late = steps[len(steps) // 2 :]
    completed = sum((x for step in late for x in step.completed), Fraction(0))
    evicted = sum((_requests(step.evicted) for step in late), Fraction(0))
    rate = eviction_free_equilibrium(system).rate
    return {
        "throughput": float(completed / len(late) / rate),
        "evictions": float(evicted / completed) if completed else None,
    }


def _roots(memory: tuple[int, ...]) -> list[list[float]]:
    """Real and imaginary parts of the roots of F, those above the real line and on it."""
    common = gcd(*memory)
    with working(_BITS):
        enclosed = enclosed_roots(fmpz_poly([v // common for v in reversed(memory)]))
        middles = [(float(z.real.mid()), float(z.imag.mid())) for z, _ in enclosed]
    return sorted([x, y] for x, y in middles if y >= 0)
