"""WAIT, section 4: thresholds (11), a full batch (18), memory, scaling, what is said in passing."""

from fractions import Fraction
from random import Random

from fluidkv import runs, serving, wait
from fluidkv.ledger import Evidence, Finding, Origin, Range, np, xr
from fluidkv.wait import theory
from fluidkv.wait.policy import Policy
from fluidkv.wait.runs.reference import WaitEngine
from fluidkv.wait.theory.lindley import lindley_path
from fluidkv.wait.theory.thresholds import check_thresholds, iteration_time, minimal_thresholds
from fluidkv_papers.wait import instances
from fluidkv_papers.wait.instances import systems
from fluidkv_papers.wait.instances.served import FCFS, serve
from fluidkv_papers.wait.paper import statements

CLAIMS = statements(origin=Origin.READING, evidence=Evidence.SAMPLED)

_CASES = Range("two types, n = 2, 2, in balance and with slack", lambda: systems.TWO_TYPES)


# --- overload -----------------------------------------------------------------------------------

_UNTIL = 200  # of Example 2's server, in iterations of the equilibrium


def _completed(tables: "list[runs.Requests]", policy: Policy | str) -> list[float]:
    """Completions per unit of time in each run."""
    run = serve(tables, policy, systems.hello().clock, memory=12, horizon=_UNTIL)
    done = run.finished & (run.last_token <= _UNTIL)
    return [float(each) / _UNTIL for each in done.values.sum(axis=1)]


def _outperforms(tables: "list[runs.Requests]", note: str) -> Finding:
    """WAIT with n = 4 against FCFS, run by run on the same prompts."""
    ours = _completed(tables, wait.Wait((4,)))
    theirs = {name: _completed(tables, name) for name in FCFS}
    worse = (
        f"run {run}: WAIT {mine:.2f}, {name} {rates[run]:.2f}"
        for name, rates in theirs.items()
        for run, mine in enumerate(ours)
        if not mine > rates[run]
    )
    seen = ", ".join(f"{max(rates):.2f} {name}" for name, rates in theirs.items())
    return Finding(
        next(worse, None),
        f"WAIT {min(ours):.2f} at least; FCFS at most {seen}",
        paper="the eviction prevention mechanism still outperforms baselines",
        note=f"Completions per unit of time; M / c = 4 is the most that any policy has. {note}",
    )


@CLAIMS.claim(
    "remark-1",
    "Remark 1",
    origin=Origin.REPRODUCTION,
    checked=f"n = 4, M = 12; more prompts than can be served are there at 0; to T = {_UNTIL}",
)
def _remark_1() -> Finding:
    """With more load than can be served, WAIT outperforms FCFS on the server of Example 2."""
    size = 8 * _UNTIL
    table = runs.Requests([1] * size, [1] * size, arrival=np.zeros(size), class_index=[0] * size)
    return _outperforms([table], "Other instances are open.")


@CLAIMS.undecided(
    "remark-1.poisson",
    "Remark 1",
    origin=Origin.REPRODUCTION,
    checked=f"n = 4, M = 12, six prompts come per unit of time to T = {_UNTIL} (seeds 0 to 3)",
)
def _remark_1_poisson() -> Finding:
    """With Poisson arrivals above what can be served WAIT outperforms FCFS as well, from an empty
    server of Example 2."""
    tables = [wait.poisson_prompts(systems.hello(6), rng=seed, horizon=_UNTIL) for seed in range(4)]
    return _outperforms(
        tables,
        "The running first come to four prefills and four decodes in each batch, and stay: "
        "they do as well as WAIT. The remark's own experiments are those of section 6.",
    )


# --- (11) and (18) ------------------------------------------------------------------------------


@CLAIMS.claim(
    "equation-11.least",
    "equations (11) and (19)",
    over=lambda: ((system, Random(seed)) for seed, system in enumerate(systems.random_systems())),
    checked=f"{systems.RANDOM.words}, five vectors around the least for each",
)
def _least(system: "wait.WaitSystem", draw: Random) -> bool | str:
    """The least thresholds that satisfy (11) are the equilibrium, with equality and in M*.

    Ours: n* with equality in each system; whatever else satisfies (11) is above it
    Paper: the equilibrium policy is equality
    Note: Delta T >= d0 + rho Delta T for whatever satisfies (11), so Delta T >= tau*, n >= n*."""
    least = minimal_thresholds(system)
    at = check_thresholds(system, least, wait.fluid_equilibrium(system).memory)
    if any(at.slack):
        return f"{system}: slack {at.slack}"
    for _ in range(5):
        n = [x * Fraction(draw.randint(15, 40), 20) for x in least]
        time = iteration_time(system, n)
        feasible = all(
            each.arrival_rate * time <= x for each, x in zip(system.types, n, strict=True)
        )
        if feasible and any(x < low for x, low in zip(n, least, strict=True)):
            return f"{system}: {n}"
    return True


@CLAIMS.claim(
    "equation-11.below",
    "equation (11)",
    over=lambda: (
        (s, share)
        for s in systems.random_systems()
        if len(s.types) == 1
        for share in (Fraction(1, 10), Fraction(1, 2), Fraction(99, 100))
    ),
    checked=f"{systems.RANDOM.words}, those of one type; n = 1/10, 1/2, 99/100 of n*",
)
def _below(system: "wait.WaitSystem", share: Fraction) -> bool | str:
    """With one type, thresholds below the equilibrium take in fewer prompts than come.

    Paper: (11)"""
    n = share * wait.fluid_equilibrium(system).per_stage[0]
    return n / iteration_time(system, [n]) < system.arrival_rate or f"{system}: n = {n}"


@CLAIMS.undecided(
    "equation-11.whole",
    "section 4.4, first paragraph",
    over=lambda: (Fraction(1, 2), Fraction(2, 3), Fraction(3, 4)),
)
def _whole(load: Fraction) -> bool | str:
    """M >= M* is enough memory for whole thresholds that satisfy (11).

    Checked: l = l' = 1, lambda = 1/2; loads 1/2, 2/3, 3/4 of what n* = 1 serves
    Ours: more is needed, c for n = 1
    Paper: M >= M*; that thresholds are whole is not said, and (11) is lost
    Note: Equality, sums and bounds are right for real n (wait.equation-11.least); a batch takes
    whole prompts. With n* well below 1 the least memory is c, many times M*. Not an error: (11) has
    a line for the memory of its own."""
    system = systems.hello(1, base=1 - load, per_kv_token=load / 3)  # tau* = 1, n* = 1
    small = system.scaled(Fraction(1, 2))
    memory, own = wait.fluid_equilibrium(small).memory, wait.integer_thresholds(small).memory
    n = minimal_thresholds(small)[0]
    clock = f"d0 = {small.base}, d1 = {small.per_kv_token}"
    return own <= memory or (
        f"l = l' = 1, lambda = 1/2, {clock}: n* = {n}, M* = {memory}; n = 1 needs {own}"
    )


@CLAIMS.claim(
    "equation-18",
    "equation (18)",
    over=lambda: enumerate(systems.random_systems()),
    checked=f"{systems.RANDOM.words}, n up to 3, all prompts there at the start",
)
def _equation_18(seed: int, system: "wait.WaitSystem") -> bool | str:
    """A full batch, n_j prompts at each stage of every type, lasts Delta T, and no batch lasts
    longer.

    Ours: the longest iteration of the literal engine is Delta T = d0 + d1 sum of n c
    Paper: processing time for a full batch, constant across batches"""
    draw = Random(seed)
    n = tuple(draw.randint(1, 3) for _ in system.types)
    kinds = np.repeat(np.arange(len(n)), 24)
    prompts = runs.Requests(
        np.array([each.input_length for each in system.types])[kinds],
        np.array([each.output_length for each in system.types])[kinds],
        arrival=np.zeros(len(kinds)),
        class_index=kinds,
    )
    run = wait.run_policy(prompts, wait.Wait(n), clock=system.clock, backend="reference")
    lasted = float(np.diff(run.time.values[0], prepend=0).max())
    full = system.base + system.per_kv_token * sum(
        size * sum(each.input_length + k for k in range(each.output_length + 1))
        for size, each in zip(n, system.types, strict=True)
    )
    if iteration_time(system, n) != full:
        return f"{system}, n = {n}: {iteration_time(system, n)} is not {full}"
    # differences of clocks, which are doubles
    return abs(lasted / float(full) - 1) < 1e-9 or f"{system}, n = {n}: {lasted}, {full}"


# --- memory, scaling ----------------------------------------------------------------------------


@CLAIMS.claim("theorem-1.memory", "Theorem 1 and below it")
def _memory() -> Finding:
    """WAIT never holds more than sum of n c.

    Checked: 25 random systems, 150 prompts each
    Paper: no eviction with M >= sum of n c
    Note: At most n_j prompts are at each stage, in the batch or paused: a proof for every path."""
    # Runs with the least whole thresholds of random systems, in exactly their memory.
    bad, iterations, full, runs = None, 0, 0, 0
    for seed, system in enumerate(systems.random_systems()):
        if seed % 8:
            continue
        found = wait.integer_thresholds(system)
        table = wait.poisson_prompts(system, rng=seed, count=150)
        policy = wait.Wait(tuple(int(n) for n in found.thresholds))
        run = wait.run_policy(table, policy, clock=system.clock, backend="reference")
        peak = float(run.peak_tokens.max())
        runs, iterations = runs + 1, iterations + int(run.iterations.sum())
        full += peak == found.memory
        if peak > found.memory:
            bad = bad or f"{system}: {peak}"
    return Finding(
        bad, f"never above it in {iterations} iterations of {runs} runs, equal in {full} of them"
    )


@CLAIMS.claim(
    "section-4-3.scaling",
    "section 4.3",
    over=lambda: ((zeta, case) for zeta in (2, 8, 64) for case in systems.TWO_TYPES),
    origin=Origin.PRINTED,
    kind="remark",
)
def _scaling(zeta: int, case: str) -> bool | str:
    """Rates and speeds times zeta run the same iterations as a horizon times zeta.

    Checked: 9 runs of 300 prompts, zeta = 2, 8, 64
    Paper: equivalent"""
    system = systems.two_types(case)
    table, clock = wait.poisson_prompts(system, rng=zeta, count=300), system.clock
    faster = runs.Requests(
        table.input_length,
        table.output_length,
        arrival=table.arrival / zeta,
        class_index=table.class_index,
    )
    faster_clock = serving.IterationClock(clock.base / zeta, clock.per_kv_token / zeta)

    def run(prompts: "runs.Requests", own: "serving.IterationClock") -> "xr.Dataset":
        return wait.run_policy(prompts, wait.Wait((2, 2)), clock=own, backend="reference")

    slow, fast = run(table, clock), run(faster, faster_clock)
    counts = all(
        np.array_equal(slow[name].values, fast[name].values)
        for name in ("running", "completed", "used_blocks")
    )
    same = counts and np.array_equal(slow.time.values, zeta * fast.time.values)
    return same or f"zeta={zeta}, {case}"


# --- type by type -------------------------------------------------------------------------------


def _bounds_add_up(case: str) -> bool:
    """Each type's bound with all others replaced by the time that they take in a full batch."""
    system, n, alone = systems.two_types(case), (2, 2), []
    bound = theory.bounds.theorem_1_gap(system, n, 100)
    costs = [size * t.lifetime_cost for size, t in zip(n, system.types, strict=True)]
    for each, size, own in zip(system.types, n, costs, strict=True):
        base = system.base + system.per_kv_token * (sum(costs) - own)
        single = wait.WaitSystem((each,), base, system.per_kv_token)
        alone += theory.bounds.theorem_1_gap(single, (size,), 100).types
    total = sum(gap.throughput_gap for gap in alone)
    # sums of doubles, each rounded up
    return bound.types == tuple(alone) and abs(bound.throughput_gap - total) <= 1e-12 * total


def _paths_are_below(case: str) -> bool:
    """On paths, a batch that holds fewer types, or the same with fewer stages, lasts no longer."""
    n = (2, 2)
    paths = instances.coupled.type_paths(systems.two_types(case), n, runs=5, batches=200)
    for j, size in enumerate(n):
        queue = paths.queue[:, :, j]
        came = queue + size * paths.joined[:, :, j].cumsum(axis=1)
        own_chain = lindley_path(np.diff(came, axis=1, prepend=0) - size)
        if (queue > 2 * size - 1 + own_chain).any():
            return False
    return True


@CLAIMS.claim(
    "section-4-4.decoupled",
    "section 4.4; appendix B, Type Decoupling",
    over=_CASES,
    refuted=Evidence.FLOAT,
    kind="remark",
)
def _decoupled(case: str) -> bool:
    """Through Delta T each type has bounds of its own, as if alone, and the bounds add up.

    Ours: bounds to T = 100 are the same beside other types and alone in equal Delta T; queues below
    what their own arrivals allow in 5 runs of 200 batches each
    Paper: analyze each type separately and sum the resulting bounds
    Note: Paths are coupled (wait.section-4-4.coupled-paths). Delta T in (11) bounds them."""
    return _bounds_add_up(case) and _paths_are_below(case)


@CLAIMS.claim(
    "section-4-4.coupled-paths", "section 4.4 (our own)", evidence=Evidence.EXACT, kind="remark"
)
def _coupled() -> Finding:
    """Batches themselves are not decoupled: beside another type a batch lasts longer.

    Checked: n = 1, 1 and one prompt of each type of Proposition 3 at 0
    Paper: we can analyze each type independently, as if it were the only type in the system
    Note: The bounds are those of a type alone (wait.section-4-4.decoupled)."""
    system, ends = systems.proposition_3(), []
    for kinds in ([0], [0, 1]):
        prompts = runs.Requests(
            1, np.array(kinds) + 1, arrival=np.zeros(len(kinds)), class_index=np.array(kinds)
        )
        engine = WaitEngine(prompts, wait.Wait((1, 1)), system.clock)
        engine.step()
        ends.append(engine.now)
    return Finding(
        ends[0] < ends[1] or f"{ends[0]} and {ends[1]}",
        f"the first batch lasts {ends[1]:.3f}, with the first type alone {ends[0]:.3f}",
    )
