"""WAIT, Propositions 2 to 4: what no policy exceeds, what FCFS loses, what latency cannot avoid.

At M tokens a batch does at most M / (d0 + d1 M) token-iterations in a unit of time, which at M = M*
is just what comes, sum of lambda c. Below M* less is done than comes; at M* the work left is above
a walk without drift. Both hold for every policy, whatever it foresees.
"""

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from math import factorial
from typing import TYPE_CHECKING

from fluidkv.ledger.claim import Claim, Outcome
from fluidkv.ledger.outcomes import equals, sampled, verdict
from fluidkv.papers.wait.claims._systems import RANDOM, hello, margin, proposition_3, random_systems
from fluidkv.papers.wait.paper import wait
from fluidkv.verdict import Evidence

if TYPE_CHECKING:
    import numpy as np
    from xarray import Dataset

    from fluidkv.runs.requests import Requests
    from fluidkv.wait.model import WaitSystem

_HORIZON, _RUNS = 600, 6
_TIMES = (75, 150, 300, 600)
_ROUNDING = 1e-9  # of clocks below 1000, whose sums round at 1e-12
_FCFS = {"new first": True, "running first": False}


def _tables(system: "WaitSystem", horizon: int) -> "list[Requests]":
    from fluidkv.wait.runs.arrivals import poisson_prompts

    return [poisson_prompts(system, rng=seed, horizon=horizon) for seed in range(_RUNS)]


@cache
def _runs(policy: str, memory: int = 9) -> "Dataset":
    """Proposition 3's instance; outputs as the paper counts them."""
    system = proposition_3()
    return _run(system, policy, (1, 1), memory, _HORIZON)


def _run(
    system: "WaitSystem", policy: str, thresholds: tuple[int, ...], memory: int, horizon: int
) -> "Dataset":
    from fluidkv.serving.limits import Limits
    from fluidkv.serving.run import serve
    from fluidkv.wait.policy import Wait
    from fluidkv.wait.runs.run import run_policy
    from fluidkv.wait.runs.stages import engine_requests, fcfs

    tables = _tables(system, horizon)
    if policy == "WAIT":
        return run_policy(
            tables,
            Wait(thresholds),
            clock=system.clock,
            capacity=memory,
            horizon=horizon,
            backend="reference",
        )
    shortest = float(system.base)  # more iterations than start before the horizon
    found = serve(
        [engine_requests(table) for table in tables],
        fcfs(new_first=_FCFS[policy]),
        Limits(memory),
        clock=system.clock,
        iterations=int(horizon / shortest) + 1,
        backend="reference",
    )
    return found.assign(output_length=found.output_length - 1)


def _outputs(run: "Dataset", until: float) -> "tuple[np.ndarray, np.ndarray]":
    """Output tokens of the prompts that completed, and of those that came, up to a time."""
    import numpy as np

    output = run.output_length.values
    done = run.finished.values & (run.last_token.values <= until)
    came = run.arrival.values <= until
    return np.where(done, output, 0).sum(axis=1), np.where(came, output, 0).sum(axis=1)


# --- Proposition 2 ------------------------------------------------------------------------------


def _proposition_2() -> Outcome:
    bad, looked, seen, best = None, 0, [], 3
    for policy in ("WAIT", *_FCFS):
        rate = _outputs(_runs(policy), _HORIZON)[0] / _HORIZON
        mean, wide = float(rate.mean()), margin(rate)
        seen.append(f"{policy} {mean:.2f} ± {wide:.2f}")
        if mean - wide > best:
            bad = bad or seen[-1]
        for until in range(10, _HORIZON + 1, 10):
            done, came = _outputs(_runs(policy), until)
            looked += len(done)
            if (done > came).any():
                bad = bad or f"{policy} by {until}: {done.max()}"
    return sampled(
        bad,
        f"completed per unit of time: {', '.join(seen)}; completed <= arrived, {looked} times",
        f"at most sum of lambda l' = {best}",
        f"{_RUNS} runs, ± what chance exceeds one time in a million (Student). Path by path a "
        "count of a part of the same prompts, whatever the policy and the memory.",
        refuted=Evidence.SAMPLED,
    )


def _less_memory() -> Outcome:
    """Exactly, and in runs: work done by T is at most T M / (d0 + d1 M)."""
    import numpy as np

    from fluidkv.wait.theory.fluid import fluid_equilibrium

    bad, tried = None, 0
    for system in random_systems():
        least = fluid_equilibrium(system).memory
        for memory in (least, least * Fraction(99, 100), least / 2):
            tried += 1
            done = memory / (system.base + system.per_kv_token * memory)
            if (done < system.token_rate) != (memory < least):
                bad = bad or f"{system}, M = {memory}"
    system, memory = proposition_3(), 8
    most = float(memory / (system.base + system.per_kv_token * memory))
    costs = [float(each.lifetime_cost) for each in system.types]
    for policy in _FCFS:
        run = _runs(policy, memory)
        done = (run.finished & (run.last_token <= _HORIZON)).values
        kinds = run.class_index.values
        of_type = [cost * (done & (kinds == j)).sum(axis=1) for j, cost in enumerate(costs)]
        work = np.sum(of_type, axis=0)
        if (work > most * _HORIZON + _ROUNDING).any():
            bad = bad or f"{policy}, M = {memory}: {work.max()}"
    return sampled(
        bad,
        f"M / (d0 + d1 M) < sum of lambda c exactly if M < M*, {tried} cases",
        "the throughput can never approach the optimal fluid throughput",
        "Ours: by the work that a batch can do. Proposition 2 itself says nothing of memory.",
    )


# --- Proposition 3 ------------------------------------------------------------------------------


def _safe_arrivals() -> Outcome:
    from fluidkv.papers.wait.fcfs_examples import poisson_weight, safe_arrivals

    safe = safe_arrivals(batches=2)
    same = safe == safe_arrivals(batches=2, later=(1, 1))
    weight = poisson_weight(safe)
    overflow = 1 - float(weight) * 2.718281828459045**-2
    shown = ", ".join(map(str, sorted(safe)))
    return Outcome(
        verdict(same and weight < 7),  # e^2 > 7: the chance of an overflow is above 0
        Evidence.EXACT,
        ours=f"{shown}: overflow with 1 - {weight} e^-2 = {overflow:.4f}",
        paper="a list, and a probability bounded away from 0; both are lost",
        note="The same list whether nobody or one of each type comes during the second iteration.",
    )


def _gap(policy: str) -> Outcome:
    """3 - completed outputs per unit of time; arrivals are the same for all times of a run."""
    run, best = _runs(policy), 3.0
    gaps = [best - _outputs(run, until)[0] / until for until in _TIMES]
    means = [float(gap.mean()) for gap in gaps]
    wide = margin(gaps[-1])
    constant = means[-1] > wide and means[-1] > means[0] / 2
    return Outcome(
        verdict(constant),
        Evidence.SAMPLED,
        ours=f"{', '.join(f'{mean:.3f}' for mean in means)} (± {wide:.3f})",
        paper="a gap that stays as T grows",
        note=f"T = {', '.join(map(str, _TIMES))}; {_RUNS} runs, ± at the end what chance exceeds "
        "one time in a million (Student). Required: that much above 0, and more than half of the "
        "first; a gap of order T^-1/2 would fall to 0.35 of it."
        + (
            " Once nine wait twice in a row, newcomers take all memory for ever."
            if policy == "new first"
            else ""
        ),
        witness="" if constant else f"{means}",
    )


def _absorbed() -> Outcome:
    """New first: nine prefills evict the nine of the iteration before, which wait again."""
    run = _runs("new first")
    bad, seen = None, 0
    for row in range(_RUNS):
        completed = run.completed.values[row]
        last = int(completed.nonzero()[0].max())
        seen = max(seen, last)
        admitted = run.admit_new.values[row] + run.admit_resumed.values[row]
        waiting = run.waiting.values[row] + admitted - run.preempt.values[row]  # before it
        twice = ((waiting[:-1] >= 9) & (waiting[1:] >= 9)).nonzero()[0]
        after = int(twice[0]) if len(twice) else len(waiting)
        if completed[after:].any() or (waiting[after:] < 9).any():
            bad = bad or f"seed {row}, iteration {after + 1}"
    return sampled(
        bad,
        f"in {_RUNS} runs nobody completes after iteration {seen + 1}",
        "FCFS experiences eviction with constant probability at each iteration",
        "Ours: newcomers first, the throughput is 0 in the end.",
    )


# --- Proposition 4 ------------------------------------------------------------------------------


def _least_in_system() -> Outcome:
    """At M* = 3, l = l' = 1, at most T complete by T, and E[(A(T) - T)^+] = T e^-T T^T / T!."""
    from flint import arb

    from fluidkv.exact.precision import working

    bad, shares = None, []
    with working(128):
        for exponent in range(8):
            time = 4**exponent
            mean = (arb(time).log() * (time + 1) - time).exp() / arb(factorial(time))
            root = (arb(time) / (2 * arb.pi())).sqrt()
            if not (mean < root and mean > root * (1 - arb(1) / (11 * time))):
                bad = bad or f"T={time}: {mean}"
            shares.append(float(mean) / time**0.5)
    return sampled(
        bad,
        f"E[prompts in the system] >= {', '.join(f'{each:.4f}' for each in shares)} sqrt(T)",
        "latency and TTFT at least of order sqrt(T)",
        "T = 4^0 ... 4^7, in balls; sqrt(1/2pi) = 0.3989 by Stirling. For every policy, also one "
        "that foresees all: at most M/(c(d0 + d1 M)) = lambda complete in a unit of time. With "
        "l' = 1 the first token is the last.",
        refuted=Evidence.BALL,
    )


def _no_policy_is_faster() -> Outcome:
    """Completions by the end of each iteration against time, at M = M*."""
    system = hello(1, base=Fraction(1, 2), per_kv_token=Fraction(1, 6))
    bad, batches = None, 0
    for policy in ("WAIT", *_FCFS):
        run = _run(system, policy, (1,), 3, 200)
        done, time = run.completed.cumsum("window"), run.time
        batches += int(run.iterations.sum())
        if bool((done > time + _ROUNDING).any()):
            bad = bad or policy
    return sampled(
        bad,
        f"completions <= time in {batches} iterations of WAIT and FCFS",
        "latency and TTFT at least of order sqrt(T)",
    )


def _instance() -> Outcome:
    from fluidkv.wait.theory.fluid import fluid_equilibrium

    system = hello(1, base=Fraction(1, 2), per_kv_token=Fraction(1, 6))
    found = fluid_equilibrium(system)
    memory = found.memory
    most = memory / (system.types[0].lifetime_cost * (system.base + system.per_kv_token * memory))
    return equals((memory, found.per_stage[0], most), "3, 1, 1")


def _proposition(
    id: str,
    statement: str,
    place: str,
    check: Callable[[], Outcome],
    checked: str,
) -> Claim:
    return wait(f"proposition-{id}", statement, place, check, kind="proposition", checked=checked)


_INSTANCE = f"its instance with d0 = 1/2, {_RUNS} runs to T = {_HORIZON} (seeds 0 to {_RUNS - 1})"

CLAIMS: tuple[Claim, ...] = (
    _proposition(
        "2",
        "No policy has a mean throughput above sum of lambda l'.",
        "Proposition 2",
        _proposition_2,
        f"WAIT and FCFS on the instance of Proposition 3, {_RUNS} runs to T = {_HORIZON}",
    ),
    _proposition(
        "2.less-memory",
        "With less memory than M* no policy comes near the throughput sum of lambda l'.",
        "section 4, first paragraph",
        _less_memory,
        f"{RANDOM}; FCFS at M = 8 on the instance of Proposition 3",
    ),
    _proposition(
        "3.overflow",
        "In the instance of Proposition 3 finitely many arrival counts alone avoid an overflow "
        "within two iterations.",
        "proof of Proposition 3",
        _safe_arrivals,
        "all counts",
    ),
    *(
        _proposition(
            f"3.gap.{policy.replace(' ', '-')}",
            f"FCFS at M = M* loses a part of the throughput that does not vanish ({policy}).",
            "Proposition 3",
            lambda policy=policy: _gap(policy),
            _INSTANCE,
        )
        for policy in _FCFS
    ),
    _proposition(
        "3.new-first-ends",
        "With newcomers first FCFS comes to complete nobody at all.",
        "Proposition 3, more",
        _absorbed,
        _INSTANCE,
    ),
    _proposition(
        "4.instance",
        "l = l' = 1 with lambda tau* = 1 has M* = 3, at which one prompt a unit of time completes.",
        "Proposition 4",
        _instance,
        "d0 = 1/2, d1 = 1/6",
    ),
    _proposition(
        "4",
        "At M = M* mean latency and TTFT are at least of order sqrt(T) under every policy.",
        "Proposition 4",
        _least_in_system,
        "the instance above, T = 4^0 ... 4^7",
    ),
    _proposition(
        "4.runs",
        "At M = M* no policy completes more than lambda a unit of time on any path.",
        "Proposition 4",
        _no_policy_is_faster,
        f"WAIT and FCFS on the instance above, {_RUNS} runs each to T = 200",
    ),
)
