"""Congestion, section 5.1: with admission capped at x*, eviction ends after max l1 iterations.

In exact arithmetic, from full and from partly filled memory. The paper admits a_k = p_k a, which
`shares` does: as far as the class that runs out first allows. Another rule is tried beside it.
"""

import random
from collections.abc import Iterator
from fractions import Fraction
from itertools import islice
from typing import Any

from fluidkv import exact, fluid
from fluidkv.exact.mass import Masses, memory_used
from fluidkv.exact.open_mass import OpenStep, iterate_open
from fluidkv.ledger import Evidence, Finding, Origin, Range, Seen
from fluidkv.workload import RequestClass, System, Workload
from fluidkv_papers.congestion.experiments.nodes import COPRIME, node
from fluidkv_papers.congestion.experiments.open_runs import poisson
from fluidkv_papers.congestion.paper import statements

Lengths = tuple[tuple[int, int], ...]
"""(l0, l1) of each class."""
Walk = tuple[System, Masses, list[Fraction]]

_ONE: list[Lengths] = [((l0, l1),) for l1 in range(1, 6) for l0 in (1, 2, 5)]
_TWO: list[Lengths] = [
    ((l0, a), (m0, b)) for b in range(2, 6) for a in range(1, b) for l0, m0 in ((1, 1), (4, 1))
]
_STARTS, _SEED = 3, 51
_RANGE = "l0 up to 5, l1 up to 5, equal shares, full and half full memory, random masses"
ONE = Range(f"one class, {_RANGE}", lambda: _walks(_ONE))
TWO = Range(f"two classes, queues of one class among them, {_RANGE}", lambda: _walks(_TWO))
IN_PROPORTION = Range(f"queues in proportion, {_RANGE}", lambda: _walks(_ONE + _TWO, 1))
EMPTY = Range("an empty server, queues in proportion, l0 and l1 up to 5", lambda: _ONE + _TWO)

CLAIMS = statements(evidence=Evidence.SAMPLED)
SECTION_5_1 = CLAIMS.section(
    "section-5-1", "section 5.1, with another rule than its a_k = p_k a", origin=Origin.READING
)


def _best_rate(system: System) -> Fraction:
    return exact.eviction_free_equilibrium(system).rate


def _system(lengths: Lengths) -> System:
    share = Fraction(1, len(lengths))
    classes = tuple(RequestClass(l0, l1, share) for l0, l1 in lengths)
    return System(Workload(classes), 5 * max(l0 + l1 for l0, l1 in lengths))


def _starts(system: System) -> Iterator[Masses]:
    """Random masses, some stages empty; memory full, or half full."""
    draw = random.Random(_SEED)
    for n in range(_STARTS):
        rows = [
            [Fraction(max(0, draw.randint(-2, 6))) for _ in range(c.decode_length)]
            for c in system.workload.classes
        ]
        rows[0][0] += 1
        fill = system.capacity / memory_used(system, rows) / (1 + n % 2)
        yield [[x * fill for x in row] for row in rows]


def _queues(system: System) -> Iterator[list[Fraction]]:
    """More than a walk can admit: in proportion; where there are two classes, all of one."""
    classes = system.workload.classes
    plenty = 20 * system.capacity
    yield [c.share * plenty for c in classes]
    if len(classes) > 1:
        for chosen in range(len(classes)):
            yield [plenty * (k == chosen) for k in range(len(classes))]


def _walks(cases: list[Lengths], queues: int | None = None) -> "Iterator[Walk]":
    """A system, a start and a queue; the first `queues` of each system's."""
    for system in map(_system, cases):
        for start in _starts(system):
            for queue in islice(_queues(system), queues):
                yield system, start, queue


def _walk(system: System, start: Masses, queue: list[Fraction], **rule: str) -> list[OpenStep]:
    """Three times the longest decode, nobody arriving, under the cap x*."""
    rules = {"selection": "shares", "cap_on": "total"} | rule
    cap, nobody = _best_rate(system), [Fraction(0)] * len(queue)
    steps, state, waiting = [], start, list(queue)
    for _ in range(3 * system.workload.longest_decode):
        step = iterate_open(system, state, waiting, nobody, cap=cap, **rules)  # pyright: ignore[reportArgumentType]
        steps.append(step)
        state, waiting = step.state, step.queue
    return steps


def _ends(system: System, start: Masses, queue: list[Fraction], **rule: str) -> str | Seen:
    """No eviction later than iteration max l1."""
    longest = system.workload.longest_decode
    steps = _walk(system, start, queue, **rule)
    last = max((n for n, step in enumerate(steps, start=1) if any(step.evicted)), default=0)
    lengths = [(c.input_length, c.decode_length) for c in system.workload.classes]
    if last > longest:
        return f"(l0, l1) of the classes {lengths}: evicts at iteration {last}"
    return Seen(last - longest)


def _latest(seen: list[int]) -> str:
    return f"{{count}} walks; the latest eviction comes at iteration max l1 {max(seen):+d}"


_NONE_LATER = "no eviction after at most max l1 iterations"


@CLAIMS.claim(
    "section-5-1.transient.proportional",
    "section 5.1",
    "With several classes, a_k = p_k a, a cap of x* ends evictions after at most max l1 "
    "iterations, whatever waits.",
    over=TWO,
    ours=_latest,
    paper=_NONE_LATER,
)
@CLAIMS.claim(
    "section-5-1.transient.one-class",
    "section 5.1",
    "With admission capped at x*, eviction ends after at most l1 iterations from any start.",
    over=ONE,
    ours=_latest,
    paper=_NONE_LATER,
)
def _as_printed(*walk: Any) -> str | Seen:
    return _ends(*walk)


@SECTION_5_1.fails("transient.in-proportion-to-the-queue", over=TWO, paper=_NONE_LATER)
def _in_proportion_to_the_queue(*walk: Any) -> str | Seen:
    """A cap of x* on the total ends evictions too where classes are admitted in proportion to what
    waits.

    Ours: evictions go on
    Holds: section-5-1.transient.proportional"""
    return _ends(*walk, selection="queued")


@SECTION_5_1.claim("transient.class-caps", over=TWO, ours=_latest, paper=_NONE_LATER)
def _class_caps(*walk: Any) -> str | Seen:
    """Where classes are admitted in proportion to what waits, a cap of p_k x* on each does so."""
    return _ends(*walk, selection="queued", cap_on="class")


@CLAIMS.claim("section-5-1.throughput", "section 5.1", over=IN_PROPORTION)
def _keeps_throughput(system: System, *walk: Any) -> bool | str:
    """With enough demand, capped admission settles at x* from any start.

    Ours: x* exactly, after max l1 iterations, in {count} walks
    Paper: preserves the eviction-free throughput
    Note: With demand throughout. After the transient every cohort is at most x*, so the free memory
    is at least x* V_0, and memory never binds."""
    # From iteration max l1 on, admission is x* exactly; from 2 max l1 on, completion too.
    x, d = _best_rate(system), system.workload.longest_decode
    steps = _walk(system, *walk)
    admitted = {sum(step.admitted) for step in steps[d:]}
    completed = {sum(step.completed) for step in steps[2 * d :]}
    return admitted == completed == {x} or f"{system.workload.classes}"


@CLAIMS.claim("section-5-1.low-demand", "section 5.1", over=EMPTY)
def _low_demand(*lengths: tuple[int, int]) -> bool | str:
    """A queue below x* is admitted at once.

    Ours: {count} systems
    Paper: admitted immediately"""
    system = _system(lengths)
    empty: Masses = [[Fraction(0)] * l1 for _, l1 in lengths]
    below = _best_rate(system) * Fraction(9, 10)
    queue = [c.share * below for c in system.workload.classes]
    return _walk(system, empty, queue)[0].admitted == queue or f"{lengths}"


@CLAIMS.fails(
    "section-5-1.low-demand.random-arrivals",
    "section 5.1, of a queue that is not in proportion",
    origin=Origin.READING,
)
def _low_demand_at_random() -> Finding:
    """With random arrivals below x*, a_k = p_k a admits requests at once.

    Checked: four classes, rate x*/5, 16 runs of 8,000 iterations
    Paper: the threshold is non-binding and requests are admitted immediately"""
    system, runs, window = node(COPRIME, COPRIME.mixed), 16, 2000
    x = float(_best_rate(system))
    arrivals = poisson(system, x / 5, iterations=4 * window, count=runs, seed=_SEED)
    waiting = {}
    for rule in ("shares", "queued"):
        found = fluid.simulate_open(
            system, arrivals=arrivals, cap=x, selection=rule, every=window, record=("queue",)
        )
        at = found["queue"].sum("class").mean("batch").values
        waiting[rule] = (float(at[0]), float(at[-1]))
    early, late = waiting["shares"]
    return Finding(
        not (late > 10) or f"a_k = p_k a: {late:.0f} waiting after {4 * window} iterations",
        f"in fixed proportions {early:.0f} wait after {window} iterations and {late:.0f} after "
        f"{4 * window}; in proportion to what waits {waiting['queued'][1]:.2f}",
        note=f"Poisson arrivals of four classes at x*/5, {runs} runs. In fixed proportions a class "
        "whose queue is empty stops all others, and what the streams differ by grows as the square "
        "root of time, at any load.",
    )
