"""WAIT, Proposition 2: what no policy exceeds.

At M tokens a batch does at most M / (d0 + d1 M) token-iterations per unit of time, which at M = M*
is just what comes, sum of lambda c. Below M* less is done than comes, whatever a policy foresees.
"""

from fractions import Fraction

from fluidkv import wait
from fluidkv.ledger import Evidence, Finding, Origin, np
from fluidkv_papers.wait.instances.served import FCFS, outputs
from fluidkv_papers.wait.instances.statistics import margin
from fluidkv_papers.wait.instances.systems import RANDOM, proposition_3, random_systems
from fluidkv_papers.wait.instances.three import HORIZON, RUNS, three_runs
from fluidkv_papers.wait.paper import statements

CLAIMS = statements(evidence=Evidence.SAMPLED)

_ROUNDING = 1e-9  # of clocks below 1000, whose sums round at 1e-12


@CLAIMS.claim(
    "proposition-2",
    "Proposition 2",
    checked=f"WAIT and FCFS on the instance of Proposition 3, {RUNS} runs to T = {HORIZON}",
)
def _proposition_2() -> Finding:
    """No policy has a mean throughput above sum of lambda l'."""
    bad, looked, seen, best = None, 0, [], 3
    for policy in ("WAIT", *FCFS):
        rate = outputs(three_runs(policy), HORIZON)[0] / HORIZON
        mean, wide = float(rate.mean()), margin(rate)
        seen.append(f"{policy} {mean:.2f} ± {wide:.2f}")
        if mean - wide > best:
            bad = bad or seen[-1]
        for until in range(10, HORIZON + 1, 10):
            done, came = outputs(three_runs(policy), until)
            looked += len(done)
            if (done > came).any():
                bad = bad or f"{policy} by {until}: {done.max()}"
    return Finding(
        bad,
        f"completed per unit of time: {', '.join(seen)}; completed <= arrived, {looked} times",
        paper=f"at most sum of lambda l' = {best}",
        note=f"{RUNS} runs, ± what chance exceeds one time in a million (Student). Path by path a "
        "count of a part of the same prompts, whatever the policy and the memory.",
    )


def _work_allowed() -> tuple[str | None, int]:
    """M / (d0 + d1 M) against sum of lambda c, at and below M*; in rationals."""
    bad, tried = None, 0
    for system in random_systems():
        least = wait.fluid_equilibrium(system).memory
        for memory in (least, least * Fraction(99, 100), least / 2):
            tried += 1
            done = memory / (system.base + system.per_kv_token * memory)
            if (done < system.token_rate) != (memory < least):
                bad = bad or f"{system}, M = {memory}"
    return bad, tried


def _work_done(memory: int) -> str | None:
    """A run in which completed prompts cost more than T M / (d0 + d1 M)."""
    system = proposition_3()
    most = float(memory / (system.base + system.per_kv_token * memory))
    costs = [float(each.lifetime_cost) for each in system.types]
    for policy in FCFS:
        run = three_runs(policy, memory)
        done = (run.finished & (run.last_token <= HORIZON)).values
        kinds = run.class_index.values
        of_type = [cost * (done & (kinds == j)).sum(axis=1) for j, cost in enumerate(costs)]
        work = np.sum(of_type, axis=0)
        if (work > most * HORIZON + _ROUNDING).any():
            return f"{policy}, M = {memory}: {work.max()}"
    return None


@CLAIMS.claim(
    "proposition-2.less-memory",
    "section 4, first paragraph",
    origin=Origin.READING,
    checked=f"{RANDOM.words}; FCFS at M = 8 on the instance of Proposition 3",
    kind="proposition",
)
def _less_memory() -> Finding:
    """With less memory than M* no policy comes near the throughput sum of lambda l'.

    Paper: the throughput can never approach the optimal fluid throughput
    Note: Ours: by the work that a batch can do. Proposition 2 itself says nothing of memory."""
    # Exactly, and in runs: work done by T is at most T M / (d0 + d1 M).
    bad, tried = _work_allowed()
    return Finding(
        bad or _work_done(8), f"M / (d0 + d1 M) < sum of lambda c exactly if M < M*, {tried} cases"
    )
