"""Congestion, section 5.1: with admission capped at x*, eviction ends after max l1 iterations.

In exact arithmetic, from full and from partly filled memory. The paper proves it for a_k = p_k a.
Which requests are admitted when the queue does not hold all classes in proportion, it leaves open;
that is where the cap on the total is not enough.
"""

import random
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING

from fluidkv.ledger.claim import Outcome
from fluidkv.ledger.outcomes import sampled
from fluidkv.papers.congestion.paper import congestion
from fluidkv.verdict import Evidence, Verdict

if TYPE_CHECKING:
    from fluidkv.fluid.open.iteration import CapOn, Selection
    from fluidkv.fluid.open.reference import LiteralStep, Masses
    from fluidkv.workload import System

_ONE = [((l0, l1),) for l1 in range(1, 6) for l0 in (1, 2, 5)]
_TWO = [((l0, a), (m0, b)) for b in range(2, 6) for a in range(1, b) for l0, m0 in ((1, 1), (4, 1))]
_STARTS, _SEED = 3, 51
_RANGE = "l0 up to 5, l1 up to 5, equal shares, full and half full memory, random masses"


def _best_rate(system: "System") -> Fraction:
    from fluidkv.exact.survival import eviction_free_equilibrium

    return eviction_free_equilibrium(system).rate


def _system(lengths: tuple[tuple[int, int], ...]) -> "System":
    from fluidkv.workload import RequestClass, System, Workload

    share = Fraction(1, len(lengths))
    classes = tuple(RequestClass(l0, l1, share) for l0, l1 in lengths)
    return System(Workload(classes), 5 * max(l0 + l1 for l0, l1 in lengths))


def _starts(system: "System") -> "Iterator[Masses]":
    """Random masses, some stages empty; memory full, or half full."""
    from fluidkv.exact.mass import memory_used

    draw = random.Random(_SEED)
    for n in range(_STARTS):
        rows = [
            [Fraction(max(0, draw.randint(-2, 6))) for _ in range(c.decode_length)]
            for c in system.workload.classes
        ]
        rows[0][0] += 1
        fill = system.capacity / memory_used(system, rows) / (1 + n % 2)
        yield [[x * fill for x in row] for row in rows]


def _walk(
    system: "System",
    start: "Masses",
    queue: "list[Fraction]",
    *,
    selection: "Selection",
    cap_on: "CapOn",
) -> "list[LiteralStep]":
    """Three times the longest decode, nobody arriving, under the cap x*."""
    from fluidkv.fluid.open.reference import literal_step

    steps, state, waiting = [], start, list(queue)
    nobody = [Fraction(0)] * len(queue)
    for _ in range(3 * system.workload.longest_decode):
        step = literal_step(
            system,
            state,
            waiting,
            nobody,
            cap=_best_rate(system),
            selection=selection,
            cap_on=cap_on,
        )
        steps.append(step)
        state, waiting = step.state, step.queue
    return steps


def _queues(system: "System") -> "Iterator[list[Fraction]]":
    """More than the walk can admit: in proportion, and all of one class."""
    classes = system.workload.classes
    plenty = 20 * system.capacity
    yield [c.share * plenty for c in classes]
    if len(classes) > 1:
        for chosen in range(len(classes)):
            yield [plenty * (k == chosen) for k in range(len(classes))]


@cache
def _evictions(
    lengths: tuple[tuple[int, int], ...], selection: "Selection", cap_on: "CapOn"
) -> tuple[tuple[int, ...], int]:
    """Iterations (from 1) that evict, later than max l1 or not, and how many walks there were."""
    system, seen, walks = _system(lengths), [], 0
    for start in _starts(system):
        for queue in _queues(system):
            walks += 1
            steps = _walk(system, start, queue, selection=selection, cap_on=cap_on)
            seen += [n for n, step in enumerate(steps, start=1) if any(step.evicted)]
    return tuple(seen), walks


def _transient(
    cases: "list[tuple[tuple[int, int], ...]]", selection: "Selection", cap_on: "CapOn"
) -> Outcome:
    bad, walks, latest = None, 0, []
    for lengths in cases:
        seen, tried = _evictions(lengths, selection, cap_on)
        walks += tried
        longest = max(l1 for _, l1 in lengths)
        late = [n for n in seen if n > longest]
        latest += [n - longest for n in seen]
        if late and bad is None:
            bad = (
                f"(l0, l1) of the classes {lengths}, equal shares: evicts at iteration "
                f"{max(late)}, longest decode {longest}"
            )
    reach = f"the latest eviction comes at iteration max l1 {max(latest):+d}"
    return sampled(
        bad,
        f"{walks} walks; {reach}" if bad is None else f"evictions go on in some of {walks} walks",
        "no eviction after at most max l1 iterations",
    )


def _keeps_throughput() -> Outcome:
    """From iteration max l1 on, admission is x* exactly; from 2 max l1 on, completion too."""
    bad, walks = None, 0
    for lengths in (*_ONE, *_TWO):
        system = _system(lengths)
        x, d = _best_rate(system), system.workload.longest_decode
        plenty = [c.share * 20 * system.capacity for c in system.workload.classes]
        for start in _starts(system):
            walks += 1
            steps = _walk(system, start, plenty, selection="shares", cap_on="total")
            admitted = {sum(step.admitted) for step in steps[d:]}
            completed = {sum(step.completed) for step in steps[2 * d :]}
            if admitted != {x} or completed != {x}:
                bad = bad or f"{lengths}"
    return sampled(
        bad,
        f"x* exactly, after max l1 iterations, in {walks} walks",
        "preserves the eviction-free throughput",
        "With demand throughout. After the transient every cohort is at most x*, so the free "
        "memory is at least x* V_0, and memory never binds.",
    )


def _low_demand() -> Outcome:
    """Q < x* at an empty server: everybody is admitted at once."""
    bad, tried = None, 0
    for lengths in (*_ONE, *_TWO):
        system = _system(lengths)
        x = _best_rate(system)
        empty: Masses = [[Fraction(0)] * l1 for _, l1 in lengths]
        queue = [c.share * x * Fraction(9, 10) for c in system.workload.classes]
        tried += 1
        first = _walk(system, empty, queue, selection="shares", cap_on="total")[0]
        if first.admitted != queue:
            bad = bad or f"{lengths}"
    return sampled(bad, f"{tried} systems", "admitted immediately")


def _low_demand_at_random() -> Outcome:
    """Poisson arrivals at a fifth of x*: does anybody wait."""
    from fluidkv.fluid.open.system import simulate_open
    from fluidkv.papers.congestion.claims.experiments._open_runs import poisson
    from fluidkv.papers.congestion.claims.experiments._routing import COPRIME, node

    system, runs, window = node(COPRIME, COPRIME.mixed), 16, 2000
    rate = float(_best_rate(system)) / 5
    arrivals = poisson(system, rate, iterations=4 * window, count=runs, seed=_SEED)
    waiting = {}
    for rule in ("shares", "queued"):
        found = simulate_open(
            system,
            arrivals=arrivals,
            cap=float(_best_rate(system)),
            selection=rule,
            every=window,
            record=("queue",),
        )
        at = found["queue"].sum("class").mean("batch").values
        waiting[rule] = (float(at[0]), float(at[-1]))
    early, late = waiting["shares"]
    return sampled(
        f"a_k = p_k a: {late:.0f} waiting after {4 * window} iterations" if late > 10 else None,
        f"in fixed proportions {early:.0f} wait after {window} iterations and {late:.0f} after "
        f"{4 * window}; in proportion to what waits {waiting['queued'][1]:.2f}",
        "the threshold is non-binding and requests are admitted immediately",
        f"Poisson arrivals of four classes at x*/5, {runs} runs. In fixed proportions a class "
        "whose queue is empty stops all others, and what the streams differ by grows as the square "
        "root of time, at any load.",
        refuted=Evidence.SAMPLED,
    )


CLAIMS = (
    congestion(
        "section-5-1.transient.one-class",
        "With admission capped at x*, eviction ends after at most l1 iterations from any start.",
        "section 5.1",
        lambda: _transient(_ONE, "queued", "total"),
        kind="remark",
        checked=_RANGE,
    ),
    congestion(
        "section-5-1.transient.proportional",
        "With several classes in fixed proportions it ends after at most max l1 iterations.",
        "section 5.1",
        lambda: _transient(_TWO, "shares", "total"),
        kind="remark",
        checked=f"two classes, {_RANGE}",
    ),
    congestion(
        "section-5-1.transient.any-queue",
        "The cap x* on the total does so whatever waits, admitting in proportion to it.",
        "section 5.1, with Q the sum of the queues",
        lambda: _transient(_TWO, "queued", "total"),
        kind="remark",
        expected=Verdict.FAILS,
        checked=f"two classes, queues of one class among them, {_RANGE}",
    ),
    congestion(
        "section-5-1.transient.class-caps",
        "A cap of p_k x* on each class does so whatever waits.",
        "section 5.1, amended",
        lambda: _transient(_TWO, "queued", "class"),
        kind="remark",
        checked=f"two classes, queues of one class among them, {_RANGE}",
    ),
    congestion(
        "section-5-1.throughput",
        "With enough demand, capped admission settles at x* from any start.",
        "section 5.1",
        _keeps_throughput,
        kind="remark",
        checked=_RANGE,
    ),
    congestion(
        "section-5-1.low-demand",
        "A queue below x* is admitted at once.",
        "section 5.1",
        _low_demand,
        kind="remark",
        checked="an empty server, l0 and l1 up to 5",
    ),
    congestion(
        "section-5-1.low-demand.random-arrivals",
        "With random arrivals below x*, a_k = p_k a admits requests at once.",
        "section 5.1, the formula for a_k",
        _low_demand_at_random,
        kind="remark",
        expected=Verdict.FAILS,
        checked="four classes, rate x*/5, 16 runs of 8,000 iterations",
    ),
)
