"""WAIT, Proposition 1: a load of 1 or more.

Each prompt that completes took part in l' + 1 iterations and cost d1 c of their time, whatever the
policy, and a batch of at most M tokens took d0 besides: with m token-iterations done by T,

    T >= d1 m + d0 m / M,    c (completions by T) <= m.

So what completes by T is at most T / (c (d1 + d0 / M)), or T / (c d1) without a limit of memory.
Both are below lambda T where the load d1 lambda c is above 1; the first is at 1 too.
"""

from fractions import Fraction
from functools import cache
from typing import Any

from fluidkv import runs, wait
from fluidkv.ledger import Evidence, Finding, Origin, np, sympy, xr
from fluidkv_papers.wait.instances.served import serve
from fluidkv_papers.wait.paper import statements

CLAIMS = statements(origin=Origin.READING)

MEMORY = 28  # l = 2, l' = 3: c = 14, two prompts a stage
_HORIZON = 400
_POLICIES = ("WAIT, n = 1", "WAIT, n = 2", "FCFS, new first", "FCFS, running first")
_ROUNDING = 1e-9  # of a clock of 400 units, whose sums round at 1e-13 each
_RANGE = (
    f"four policies, one prompt per unit of time to T = {_HORIZON}, l = 2, l' = 3, M = {MEMORY}"
)


def _system(load: Fraction) -> "wait.WaitSystem":
    return wait.WaitSystem((wait.PromptType(1, 2, 3),), 1, load / 14)


@cache
def _runs(load: Fraction) -> "dict[str, xr.Dataset]":
    """Each policy on one prompt per unit of time, up to the horizon."""
    system, size = _system(load), _HORIZON
    table = runs.Requests(
        [2] * size, [3] * size, arrival=np.arange(1.0, size + 1), class_index=[0] * size
    )
    found = {}
    for name in _POLICIES:
        kind, rule = name.split(", ")
        policy = wait.Wait((int(rule[-1]),)) if kind == "WAIT" else rule
        found[name] = serve([table], policy, system.clock, memory=MEMORY, horizon=_HORIZON)
    return found


@CLAIMS.claim(
    "proposition-1.at-one",
    "Proposition 1",
    "With a load of exactly 1 and a limit of memory mean latency grows linearly with time.",
    given=(Fraction(1),),
    checked=_RANGE,
    evidence=Evidence.SAMPLED,
)
@CLAIMS.claim(
    "proposition-1.above-one",
    "Proposition 1",
    "With a load of 5/4 mean latency grows linearly with time.",
    origin=Origin.PRINTED,
    given=(Fraction(5, 4),),
    checked=_RANGE,
    evidence=Evidence.SAMPLED,
)
def _growth(load: Fraction) -> Finding:
    """Completions at each iteration; the mean time in the system at half time and at the end."""
    system = _system(load)
    most = 1 / (14 * (system.per_kv_token + system.base / MEMORY))  # completions per unit of time
    share = (1 - most) / 2  # of T, that prompts spend in the system by T on average, at least
    bad, seen = None if share > 0 else "all who come can be served", []
    for name, run in _runs(load).items():
        done, time = run.completed.values[0].cumsum(), run.time.values[0]
        wrong = done > float(most) * time + _ROUNDING
        if wrong.any():
            bad = bad or f"{name}: {done[wrong][0]} by {time[wrong][0]:.4g}"
        ends = np.where(run.finished.values[0], run.last_token.values[0], np.inf)
        arrival, means = run.arrival.values[0], []
        for until in (_HORIZON / 2, _HORIZON):
            came = arrival <= until
            means.append(float((np.minimum(ends, until) - arrival)[came].mean()))
            if means[-1] < float(share) * until - 1:  # the last prompt has only just come
                bad = bad or f"{name}: {means[-1]:.4g} on average by {until:g}"
        seen.append(f"{means[0]:.0f}, {means[1]:.0f}")
    return Finding(
        bad,
        f"by T = {_HORIZON // 2}, {_HORIZON}: " + "; ".join(seen),
        paper="at least of order T",
        note=f"Mean time in the system of {', '.join(_POLICIES)}. For every policy: at least "
        f"T (1 - 1 / (lambda c (d1 + d0 / M))) / 2 = {share} T, less one arrival.",
    )


def _recursion(iterations: int) -> list[Fraction]:
    """Durations where everybody is served at once: l = l' = lambda = d0 = 1, d1 = 1/3."""
    times = [Fraction(0), Fraction(1)]
    for _ in range(iterations):
        times.append(1 + Fraction(1, 3) * (times[-1] + 2 * times[-2]))
    return times[1:]


@CLAIMS.claim(
    "proposition-1.at-one.unlimited-memory",
    "beside Proposition 1 (our own)",
    over=(25, 50, 100, 200, 400),
    kind="remark",
)
def _unlimited_memory(iteration: int) -> bool | str:
    """Without a memory limit latency at a load of exactly 1 can grow like the root of time.

    Checked: one system, arrivals as a constant flow, 25 to 400 iterations
    Ours: latency between 2.8 and 5.5 sqrt(T)
    Paper: section 3 opens under a memory constraint, the proof has none
    Note: Our own statement: l = l' = lambda = d0 = 1, d1 = 1/3, everybody in each batch. In
    iteration k all who came in the one before are prefilled and the others decode: tau_k + 2/3
    tau_(k-1) = k for every k, so that tau_k <= k while t_k >= 3k(k+1)/10. The queue grows linearly
    in iterations only."""
    times = _recursion(400)
    before = [Fraction(0), *times]
    if any(
        now + Fraction(2, 3) * then != k
        for k, (now, then) in enumerate(zip(times, before, strict=False), start=1)
    ):
        raise ArithmeticError("the recursion is not linear in the number of the iteration")
    clock: Any = sum(times[:iteration])
    latency = sum(times[iteration - 3 : iteration])
    # 3 (3/5 k) and 3 k^2 / 10 in the limit: 10.8
    return 8 * clock <= latency**2 <= 30 * clock or f"{float(latency):.0f} by {float(clock):.0f}"


@CLAIMS.claim("proposition-1.balanced-batch", "proof of Proposition 1")
def _balanced_batch() -> Finding:
    """In a balanced batch of any size at least lambda d0 more arrive than complete.

    Checked: all values
    Paper: gap >= lambda d0 > 0
    Note: For batches with n prompts at every stage. A batch of other stages may complete more than
    arrive: l = l' = lambda = d0 = 1, d1 = 1/3, four decodes take 11/3."""
    # lambda (d0 + d1 n c) - n = lambda d0 + n (rho - 1).
    names = sympy.symbols("lambda d0 n c epsilon", positive=True)
    rate, base, n, cost, above = names
    per_token = (1 + above) / (rate * cost)  # a load of 1 + epsilon
    gap = sympy.expand(rate * (base + per_token * n * cost) - n)
    least = sympy.simplify(gap - rate * base)
    return Finding(
        least == sympy.expand(n * above) or f"gap {gap}",
        f"lambda d0 + {least} for a load of 1 + epsilon",
    )
