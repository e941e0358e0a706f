"""WAIT, Proposition 1: a load of 1 or more.

Each prompt that completes took part in l' + 1 iterations and cost d1 c of their time, whatever the
policy, and a batch of at most M tokens took d0 besides: with m token-iterations done by T,

    T >= d1 m + d0 m / M,    c (completions by T) <= m.

So what completes by T is at most T / (c (d1 + d0 / M)), or T / (c d1) without a limit of memory.
Both are below lambda T where the load d1 lambda c is above 1; the first is at 1 too.
"""

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Any

from fluidkv.ledger.claim import Claim, Kind, Outcome
from fluidkv.ledger.outcomes import holds_for, sampled
from fluidkv.papers.wait.paper import wait
from fluidkv.verdict import Evidence

if TYPE_CHECKING:
    from xarray import Dataset

    from fluidkv.wait.model import WaitSystem

_MEMORY = 28  # l = 2, l' = 3: c = 14, two prompts a stage
_HORIZON = 400
_POLICIES = ("WAIT, n = 1", "WAIT, n = 2", "FCFS, new first", "FCFS, running first")
_ROUNDING = 1e-9  # of a clock of 400 units, whose sums round at 1e-13 each


def _system(load: Fraction) -> "WaitSystem":
    from fluidkv.wait.model import PromptType, WaitSystem

    return WaitSystem((PromptType(1, 2, 3),), 1, load / 14)


@cache
def _runs(load: Fraction) -> "dict[str, Dataset]":
    """Each policy on one prompt a unit of time, up to the horizon."""
    import numpy as np

    from fluidkv.runs.requests import Requests
    from fluidkv.serving.limits import Limits
    from fluidkv.serving.run import serve
    from fluidkv.wait.policy import Wait
    from fluidkv.wait.runs.run import run_policy
    from fluidkv.wait.runs.stages import engine_requests, fcfs

    system, size = _system(load), _HORIZON
    table = Requests(
        [2] * size, [3] * size, arrival=np.arange(1.0, size + 1), class_index=[0] * size
    )
    found = {}
    for name in _POLICIES:
        if name.startswith("WAIT"):
            policy = Wait((int(name[-1]),))
            found[name] = run_policy(
                table,
                policy,
                clock=system.clock,
                capacity=_MEMORY,
                horizon=_HORIZON,
                backend="reference",
            )
        else:
            found[name] = serve(
                engine_requests(table),
                fcfs(new_first="new" in name),
                Limits(_MEMORY),
                clock=system.clock,
                iterations=_HORIZON,
                backend="reference",
            )
    return found


def _growth(load: Fraction) -> Outcome:
    """Completions at each iteration; the mean time in the system at half time and at the end."""
    import numpy as np

    system = _system(load)
    most = 1 / (14 * (system.per_kv_token + system.base / _MEMORY))  # completions a unit of time
    share = (1 - most) / 2  # of T, that prompts spend in the system by T on average, at least
    bad, seen = None, []
    for name, run in _runs(load).items():
        done, time = run.completed.values[0].cumsum(), run.time.values[0]
        wrong = done > float(most) * time + _ROUNDING
        if wrong.any():
            bad = bad or f"{name}: {done[wrong][0]} by {time[wrong][0]:.4g}"
        ends = np.where(run.finished.values[0], run.last_token.values[0], np.inf)
        arrival = run.arrival.values[0]
        means = []
        for until in (_HORIZON / 2, _HORIZON):
            came = arrival <= until
            means.append(float((np.minimum(ends, until) - arrival)[came].mean()))
            if means[-1] < float(share) * until - 1:  # the last prompt has only just come
                bad = bad or f"{name}: {means[-1]:.4g} on average by {until:g}"
        seen.append(f"{means[0]:.0f}, {means[1]:.0f}")
    return sampled(
        bad,
        f"by T = {_HORIZON // 2}, {_HORIZON}: " + "; ".join(seen),
        "at least of order T",
        f"Mean time in the system of {', '.join(_POLICIES)}. For every policy: at least "
        f"T (1 - 1 / (lambda c (d1 + d0 / M))) / 2 = {share} T, less one arrival.",
    )


def _balanced_batch() -> Outcome:
    """lambda (d0 + d1 n c) - n = lambda d0 + n (rho - 1)."""
    import sympy

    names = sympy.symbols("lambda d0 n c epsilon", positive=True)
    rate, base, n, cost, above = names
    per_token = (1 + above) / (rate * cost)  # a load of 1 + epsilon
    gap = sympy.expand(rate * (base + per_token * n * cost) - n)
    least = sympy.simplify(gap - rate * base)
    return holds_for(
        None if least == sympy.expand(n * above) else f"gap {gap}",
        ours=f"lambda d0 + {least} for a load of 1 + epsilon",
        paper="gap >= lambda d0 > 0",
        note="For batches with n prompts at every stage. A batch of other stages may complete more "
        "than arrive: l = l' = lambda = d0 = 1, d1 = 1/3, four decodes take 11/3.",
    )


def _recursion(iterations: int) -> list[Fraction]:
    """Durations where everybody is served at once: l = l' = lambda = d0 = 1, d1 = 1/3."""
    times = [Fraction(0), Fraction(1)]
    for _ in range(iterations):
        times.append(1 + Fraction(1, 3) * (times[-1] + 2 * times[-2]))
    return times[1:]


def _unlimited_memory() -> Outcome:
    """tau_k + 2/3 tau_(k-1) = k, so tau_k <= k and t_k >= 3 k (k + 1) / 10: latency <= 3 tau."""
    times = _recursion(400)
    before = [Fraction(0), *times]
    linear = all(
        now + Fraction(2, 3) * then == k
        for k, (now, then) in enumerate(zip(times, before, strict=False), start=1)
    )
    if not linear:
        raise ArithmeticError("the recursion is not linear in the number of the iteration")
    bad, seen = None, []
    for iteration in (25, 50, 100, 200, 400):
        clock: Any = sum(times[:iteration])
        latency = sum(times[iteration - 3 : iteration])
        seen.append(f"{float(latency):.0f} by T = {float(clock):.0f}")
        # 3 (3/5 k) and 3 k^2 / 10 in the limit: 10.8
        if not 8 * clock <= latency**2 <= 30 * clock:
            bad = bad or seen[-1]
    return holds_for(
        bad,
        ours=f"at most {', '.join(seen)}; latency <= 5.5 sqrt(T)",
        paper="section 3 opens under a memory constraint, the proof has none",
        note="Our own statement: l = l' = lambda = d0 = 1, d1 = 1/3, everybody in each batch. In "
        "iteration k all who came in the one before are prefilled and the others decode: "
        "tau_k + 2/3 tau_(k-1) = k for every k, so that tau_k <= k while t_k >= 3k(k+1)/10. The "
        "queue grows linearly in iterations only.",
        evidence=Evidence.SAMPLED,
    )


def _proposition(
    id: str,
    statement: str,
    place: str,
    check: Callable[[], Outcome],
    checked: str,
    *,
    kind: Kind = "proposition",
) -> Claim:
    return wait(f"proposition-1.{id}", statement, place, check, kind=kind, checked=checked)


_RANGE = f"four policies, one prompt a unit of time to T = {_HORIZON}, l = 2, l' = 3, M = {_MEMORY}"

CLAIMS: tuple[Claim, ...] = (
    _proposition(
        "above-one",
        "With a load of 5/4 mean latency grows linearly with time.",
        "Proposition 1",
        lambda: _growth(Fraction(5, 4)),
        _RANGE,
    ),
    _proposition(
        "at-one",
        "With a load of exactly 1 and a limit of memory mean latency grows linearly with time.",
        "Proposition 1",
        lambda: _growth(Fraction(1)),
        _RANGE,
    ),
    _proposition(
        "at-one.unlimited-memory",
        "Without a memory limit latency at a load of exactly 1 can grow like the root of time.",
        "beside Proposition 1 (our own)",
        _unlimited_memory,
        "one system, arrivals as a constant flow, 25 to 400 iterations",
        kind="remark",
    ),
    _proposition(
        "balanced-batch",
        "In a balanced batch of any size at least lambda d0 more arrive than complete.",
        "proof of Proposition 1",
        _balanced_batch,
        "all values",
    ),
)
