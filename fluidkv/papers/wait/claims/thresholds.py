"""WAIT, section 4: thresholds (11), memory, scaling, and what is said in passing."""

from collections.abc import Callable
from fractions import Fraction

from fluidkv.ledger.claim import Claim, Kind, Outcome
from fluidkv.ledger.outcomes import holds_for, sampled
from fluidkv.papers.wait.claims._systems import (
    RANDOM,
    TWO_TYPES,
    hello,
    proposition_3,
    random_systems,
    two_types,
)
from fluidkv.papers.wait.paper import wait
from fluidkv.verdict import Evidence, Verdict


def _least() -> Outcome:
    """n* satisfies (11) with equality; what satisfies it is nowhere below."""
    from random import Random

    from fluidkv.wait.theory.fluid import fluid_equilibrium
    from fluidkv.wait.theory.thresholds import check_thresholds, iteration_time, minimal_thresholds

    draw, bad, tried = Random(2), None, 0
    for system in random_systems():
        least = minimal_thresholds(system)
        at = check_thresholds(system, least, fluid_equilibrium(system).memory)
        if any(at.slack):
            bad = bad or f"{system}: slack {at.slack}"
        for _ in range(5):
            n = [x * Fraction(draw.randint(15, 40), 20) for x in least]
            time = iteration_time(system, n)
            feasible = all(
                each.arrival_rate * time <= x for each, x in zip(system.types, n, strict=True)
            )
            tried += feasible
            if feasible and any(x < low for x, low in zip(n, least, strict=True)):
                bad = bad or f"{system}: {n}"
    return sampled(
        bad,
        f"n* with equality in 200 systems, {tried} others that satisfy (11) above it",
        "the equilibrium policy is equality",
        "Delta T >= d0 + rho Delta T for whatever satisfies (11), so Delta T >= tau*, n >= n*.",
    )


def _whole() -> Outcome:
    """Whole prompts: (11) has no solution at M = M* unless n* is whole."""
    from fluidkv.wait.theory.fluid import fluid_equilibrium
    from fluidkv.wait.theory.thresholds import integer_thresholds, minimal_thresholds

    bad, needed = None, []
    for load in (Fraction(1, 2), Fraction(2, 3), Fraction(3, 4)):
        system = hello(1, base=1 - load, per_kv_token=load / 3)  # tau* = 1, n* = 1
        small = system.scaled(Fraction(1, 2))
        memory, own = fluid_equilibrium(small).memory, integer_thresholds(small).memory
        needed.append(f"{memory} and {own}")
        if own > memory:
            each = minimal_thresholds(small)
            bad = bad or f"l = l' = 1, lambda = 1/2, d0 = 1/2, d1 = 1/6: n* = {each[0]}, n = 1"
    return holds_for(
        bad,
        ours="M* and the least for whole n: " + ", ".join(needed),
        paper="M >= M*",
        note="Equality, sums and bounds are right for real n; a batch takes whole prompts. With "
        "n* well below 1 the least memory is c, many times M*.",
    )


def _below() -> Outcome:
    """One type, n < n*: a batch of n lasts longer than n take to come."""
    from fluidkv.wait.theory.fluid import fluid_equilibrium
    from fluidkv.wait.theory.thresholds import iteration_time

    bad, tried = None, 0
    for system in random_systems():
        if len(system.types) > 1:
            continue
        least = fluid_equilibrium(system).per_stage[0]
        for share in (Fraction(1, 10), Fraction(1, 2), Fraction(99, 100)):
            tried += 1
            n = share * least
            if n / iteration_time(system, [n]) >= system.arrival_rate:
                bad = bad or f"{system}: n = {n}"
    return sampled(bad, f"n / Delta T(n) < lambda for {tried} thresholds below n*", "(11)")


# --- memory, scaling ----------------------------------------------------------------------------


def _memory() -> Outcome:
    """Runs with the least whole thresholds of random systems, in exactly their memory."""
    from fluidkv.wait.policy import Wait
    from fluidkv.wait.runs.arrivals import poisson_prompts
    from fluidkv.wait.runs.run import run_policy
    from fluidkv.wait.theory.thresholds import integer_thresholds

    bad, iterations, full, runs = None, 0, 0, 0
    for seed, system in enumerate(random_systems()):
        if seed % 8:
            continue
        found = integer_thresholds(system)
        table = poisson_prompts(system, rng=seed, count=150)
        policy = Wait(tuple(int(n) for n in found.thresholds))
        run = run_policy(table, policy, clock=system.clock, backend="reference")
        peak = float(run.peak_tokens.max())
        runs, iterations = runs + 1, iterations + int(run.iterations.sum())
        full += peak == found.memory
        if peak > found.memory:
            bad = bad or f"{system}: {peak}"
    return sampled(
        bad,
        f"never above it in {iterations} iterations of {runs} runs, equal in {full} of them",
        "no eviction with M >= sum of n c",
        "At most n_j prompts are at each stage, in the batch or paused: a proof for every path.",
    )


def _scaling() -> Outcome:
    """Rates times zeta and d0, d1 over zeta: the same iterations on a faster clock."""
    import numpy as np

    from fluidkv.runs.requests import Requests
    from fluidkv.serving.clock import IterationClock
    from fluidkv.wait.policy import Wait
    from fluidkv.wait.runs.arrivals import poisson_prompts
    from fluidkv.wait.runs.run import run_policy

    bad, iterations = None, 0
    for zeta in (2, 8, 64):  # powers of two: floats scale without rounding
        for case in TWO_TYPES:
            system = two_types(case)
            table = poisson_prompts(system, rng=zeta, count=300)
            faster = Requests(
                table.input_length,
                table.output_length,
                arrival=table.arrival / zeta,
                class_index=table.class_index,
            )
            clock = system.clock
            runs = [
                run_policy(each, Wait((2, 2)), clock=own, backend="reference")
                for each, own in (
                    (table, clock),
                    (faster, IterationClock(clock.base / zeta, clock.per_kv_token / zeta)),
                )
            ]
            iterations += int(runs[0].iterations.sum())
            same = all(
                np.array_equal(runs[0][name].values, runs[1][name].values)
                for name in ("running", "completed", "used_blocks")
            )
            if not same or not np.array_equal(runs[0].time.values, zeta * runs[1].time.values):
                bad = bad or f"zeta={zeta}, {case}"
    return sampled(bad, f"equal in {iterations} iterations, times too", "equivalent")


def _decoupled() -> Outcome:
    """Type by type, with all others replaced by the time that they take in a full batch; on paths,
    a batch that holds fewer types, or the same with fewer stages, lasts no longer."""
    import numpy as np

    from fluidkv.papers.wait.coupled import type_paths
    from fluidkv.wait.model import WaitSystem
    from fluidkv.wait.theory.bounds import theorem_1_gap
    from fluidkv.wait.theory.lindley import lindley_path

    bad, tried, batches = None, 0, 0
    for case in TWO_TYPES:
        system, n = two_types(case), (2, 2)
        bound = theorem_1_gap(system, n, 100)
        alone = []
        for each, size in zip(system.types, n, strict=True):
            own = size * each.lifetime_cost
            others = sum(m * t.lifetime_cost for m, t in zip(n, system.types, strict=True)) - own
            base = system.base + system.per_kv_token * others
            alone += theorem_1_gap(
                WaitSystem((each,), base, system.per_kv_token), (size,), 100
            ).types
        tried += len(alone)
        # sums of doubles, each rounded up
        total = sum(gap.throughput_gap for gap in alone)
        if bound.types != tuple(alone) or abs(bound.throughput_gap - total) > 1e-12 * total:
            bad = bad or f"{case}: {bound}"
        paths = type_paths(system, n, runs=5, batches=200)
        batches += paths.end.size
        for j, size in enumerate(n):
            queue = paths.queue[:, :, j]
            came = queue + size * paths.joined[:, :, j].cumsum(axis=1)
            own_chain = lindley_path(np.diff(came, axis=1, prepend=0) - size)
            if (queue > 2 * size - 1 + own_chain).any():
                bad = bad or f"{case}, type {j + 1}"
    both, first = (float(each) for each in _first_batches())
    return sampled(
        bad,
        f"{tried} bounds, the same beside other types and alone in equal Delta T; queues below "
        f"what their own arrivals allow in {batches} batches",
        "analyze each type separately and sum the resulting bounds",
        "Paths are coupled: with n = 1, 1 and one prompt of each type of Proposition 3 at 0 the "
        f"first batch lasts {both:.3f}, with the first type alone {first:.3f}. Delta T in (11) "
        "bounds both.",
        refuted=Evidence.FLOAT,
    )


def _first_batches() -> list[Fraction]:
    """d0 + d1 tokens of a prefill of both types, and of one."""
    system = proposition_3()
    inputs = [each.input_length for each in system.types]
    return [system.base + system.per_kv_token * sum(inputs[:k]) for k in (2, 1)]


def _remark_1() -> Outcome:
    """Example 2's server with everybody there at the start: completions an iteration."""
    from fluidkv.papers.wait.fcfs_examples import Counts, fate

    first, running = (
        fate(Counts(10**6, 0), arrivals=4, capacity=12, new_first=new).throughput
        for new in (True, False)
    )
    best = Fraction(12, 3)  # M / c: no iteration does more than M token-iterations
    better = best > first and best > running
    return holds_for(
        None if better else f"{first}, {running}",
        ours=f"WAIT {best}, FCFS {first} (new first), {running} (running first)",
        paper="the eviction prevention mechanism still outperforms baselines",
        note="WAIT with n = 4 fills its 12 units in every iteration. Other instances are open.",
    )


def _remark(
    id: str,
    statement: str,
    place: str,
    check: Callable[[], Outcome],
    checked: str,
    *,
    expected: Verdict = Verdict.HOLDS,
) -> Claim:
    kinds: dict[str, Kind] = {"theorem": "theorem", "equation": "equation"}
    kind = kinds.get(id.split("-")[0], "remark")
    return wait(id, statement, place, check, kind=kind, expected=expected, checked=checked)


CLAIMS: tuple[Claim, ...] = (
    _remark(
        "remark-1",
        "With more load than can be served, WAIT outperforms FCFS on the server of Example 2.",
        "Remark 1",
        _remark_1,
        "Example 2's server with a queue that never ends",
    ),
    _remark(
        "section-4-3.scaling",
        "Rates and speeds times zeta run the same iterations as a horizon times zeta.",
        "section 4.3",
        _scaling,
        "9 runs of 300 prompts, zeta = 2, 8, 64",
    ),
    _remark(
        "equation-11.least",
        "The least thresholds that satisfy (11) are the equilibrium, with equality and in M*.",
        "equations (11) and (19)",
        _least,
        RANDOM,
    ),
    _remark(
        "equation-11.below",
        "With one type, thresholds below the equilibrium take in fewer prompts than come.",
        "equation (11)",
        _below,
        RANDOM,
    ),
    _remark(
        "equation-11.whole",
        "M >= M* is enough memory for thresholds that satisfy (11).",
        "section 4.4, first paragraph",
        _whole,
        "one type, three loads",
        expected=Verdict.FAILS,
    ),
    _remark(
        "theorem-1.memory",
        "WAIT never holds more than sum of n c.",
        "Theorem 1 and below it",
        _memory,
        "25 random systems, 150 prompts each",
    ),
    _remark(
        "section-4-4.decoupled",
        "Through Delta T each type has bounds of its own, as if alone, and the bounds add up.",
        "section 4.4; appendix B, Type Decoupling",
        _decoupled,
        "two types in balance and with slack, bounds to T = 100, 5 runs of 200 batches each",
    ),
)
