"""WAIT, Propositions 3 and 4: what FCFS loses, what latency cannot avoid.

At M tokens a batch does at most M / (d0 + d1 M) token-iterations per unit of time, which at M = M*
is just what comes, sum of lambda c: the work left is above a walk without drift, under every
policy, whatever it foresees.
"""

from collections.abc import Iterator
from fractions import Fraction
from math import factorial

from fluidkv import wait
from fluidkv.ledger import Evidence, Finding, Instance, Origin, Outcome, equals, flint
from fluidkv_papers.wait import instances
from fluidkv_papers.wait.instances.served import FCFS, outputs, serve
from fluidkv_papers.wait.instances.statistics import margin
from fluidkv_papers.wait.instances.systems import hello
from fluidkv_papers.wait.instances.three import RUNS, TIMES, WORDS, three_runs
from fluidkv_papers.wait.paper import statements

CLAIMS = statements(origin=Origin.READING, checked=WORDS)

_ROUNDING = 1e-9  # of clocks below 1000, whose sums round at 1e-12
_GROWING = f"± at the end what chance exceeds one time in a million (Student), {RUNS} runs"


@CLAIMS.claim("proposition-3.overflow", "proof of Proposition 3")
def _safe_arrivals() -> Finding:
    """In the instance of Proposition 3 finitely many arrival counts alone avoid an overflow within
    two iterations.

    Checked: all counts
    Paper: a list, and a probability bounded away from 0; both are lost
    Note: The same list whether nobody or one of each type comes during the second iteration."""
    safe = instances.fcfs.safe_arrivals(batches=2)
    same = safe == instances.fcfs.safe_arrivals(batches=2, later=(1, 1))
    weight = instances.fcfs.poisson_weight(safe)
    overflow = 1 - float(weight) * 2.718281828459045**-2
    shown = ", ".join(map(str, sorted(safe)))
    return Finding(
        same and weight < 7, f"{shown}: overflow with 1 - {weight} e^-2 = {overflow:.4f}"
    )


@CLAIMS.claim(
    "proposition-3.gap.running-first",
    "Proposition 3",
    "FCFS at M = M* loses a part of the throughput that does not vanish (running first).",
    given=("running first",),
    evidence=Evidence.SAMPLED,
)
@CLAIMS.claim(
    "proposition-3.gap.new-first",
    "Proposition 3",
    "FCFS at M = M* loses a part of the throughput that does not vanish (new first).",
    given=("new first",),
    evidence=Evidence.SAMPLED,
)
def _gap(policy: str) -> Finding:
    """3 - completed outputs per unit of time; arrivals are the same for all times of a run."""
    run, best = three_runs(policy), 3.0
    gaps = [best - outputs(run, until)[0] / until for until in TIMES]
    means, wide = [float(gap.mean()) for gap in gaps], margin(gaps[-1])
    constant = means[-1] > wide and means[-1] > means[0] / 2
    return Finding(
        constant or f"{means}",
        f"{', '.join(f'{mean:.3f}' for mean in means)} (± {wide:.3f})",
        paper="a gap that stays as T grows",
        note=f"T = {', '.join(map(str, TIMES))}; {_GROWING}. Required: that much above 0, and more "
        "than half of the first; a gap of order T^-1/2 would fall to 0.35 of it."
        + (
            " Once nine wait twice in a row, newcomers take all memory for ever."
            if policy == "new first"
            else ""
        ),
    )


@CLAIMS.claim(
    "proposition-3.new-first-ends",
    "Proposition 3, more",
    evidence=Evidence.SAMPLED,
    ours=f"in {RUNS} runs nobody completes after iteration {{max}}",
)
def _absorbed() -> Iterator[Instance]:
    """With newcomers first FCFS comes to complete nobody at all.

    Paper: FCFS experiences eviction with constant probability at each iteration
    Note: Ours: newcomers first, the throughput is 0 in the end."""
    # New first: nine prefills evict the nine of the iteration before, which wait again.
    run = three_runs("new first")
    for row in range(RUNS):
        completed = run.completed.values[row]
        admitted = run.admit_new.values[row] + run.admit_resumed.values[row]
        waiting = run.waiting.values[row] + admitted - run.preempt.values[row]  # before it
        twice = ((waiting[:-1] >= 9) & (waiting[1:] >= 9)).nonzero()[0]
        after = int(twice[0]) if len(twice) else len(waiting)
        ends = not (completed[after:].any() or (waiting[after:] < 9).any())
        last = int(completed.nonzero()[0].max()) + 1
        yield Instance(ends, last, f"seed {row}, iteration {after + 1}")


# --- Proposition 4 ------------------------------------------------------------------------------


def _tight() -> "wait.WaitSystem":
    return hello(1, base=Fraction(1, 2), per_kv_token=Fraction(1, 6))


@CLAIMS.claim("proposition-4.instance", "Proposition 4")
def _instance() -> Outcome:
    """l = l' = 1 with lambda tau* = 1 has M* = 3, at which one prompt per unit of time completes.

    Checked: d0 = 1/2, d1 = 1/6"""
    system = _tight()
    found = wait.fluid_equilibrium(system)
    memory = found.memory
    most = memory / (system.types[0].lifetime_cost * (system.base + system.per_kv_token * memory))
    return equals((memory, found.per_stage[0], most), "3, 1, 1")


def _expected_above(time: int) -> "flint.arb":
    """E[(A(T) - T)^+] = T e^-T T^T / T! for Poisson arrivals at rate 1."""
    return (flint.arb(time).log() * (time + 1) - time).exp() / flint.arb(factorial(time))


@CLAIMS.claim(
    "proposition-4", "Proposition 4", over=lambda: (4**k for k in range(8)), refuted=Evidence.BALL
)
def _least_in_system(time: int) -> bool | str:
    """At M = M* mean latency and TTFT are at least of order sqrt(T) under every policy.

    Checked: the instance above, T = 4^0 ... 4^7
    Ours: E[prompts in the system] is at least 0.3678 sqrt(T)
    Paper: latency and TTFT at least of order sqrt(T)
    Note: In balls; sqrt(1/2pi) = 0.3989 by Stirling. For every policy, also one that foresees all:
    at most M/(c(d0 + d1 M)) = lambda complete per unit of time. With l' = 1 the first token is the
    last."""
    # At M* = 3, l = l' = 1, at most T complete by T.
    from fluidkv.exact.precision import working

    with working(128):
        mean = _expected_above(time)
        root = (flint.arb(time) / (2 * flint.arb.pi())).sqrt()
        inside = mean < root and mean > root * (1 - flint.arb(1) / (11 * time))
        least = mean / flint.arb(time).sqrt()
        return bool(inside and least > flint.arb("0.3678")) or f"T={time}: {mean}"


@CLAIMS.claim(
    "proposition-4.runs",
    "Proposition 4",
    checked=f"WAIT and FCFS on the instance above, {RUNS} runs each to T = 200",
    evidence=Evidence.SAMPLED,
)
def _no_policy_is_faster() -> Iterator[Instance]:
    """At M = M* no policy completes more than lambda per unit of time on any path.

    Ours: completions <= time in {sum} iterations of WAIT and FCFS
    Paper: latency and TTFT at least of order sqrt(T)"""
    # Completions by the end of each iteration against time, at M = M*.
    system = _tight()
    tables = [wait.poisson_prompts(system, rng=seed, horizon=200) for seed in range(RUNS)]
    for policy in ("WAIT", *FCFS):
        rule = wait.Wait((1,)) if policy == "WAIT" else policy
        run = serve(tables, rule, system.clock, memory=3, horizon=200)
        faster = bool((run.completed.cumsum("window") > run.time + _ROUNDING).any())
        yield Instance(not faster, int(run.iterations.sum()), policy)
