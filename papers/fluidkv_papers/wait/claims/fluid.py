"""WAIT, sections 2 and 3: iteration time, memory and throughput, the equilibrium, its instances.

Of most of these formulas our copy has only the words around them; they are given back from those.
"""

from fractions import Fraction
from typing import Any

from fluidkv import runs, symbolic, wait
from fluidkv.ledger import Finding, Origin, Outcome, Range, equals, np, sympy
from fluidkv.wait.runs.reference import WaitEngine
from fluidkv_papers.wait.instances import systems
from fluidkv_papers.wait.paper import statements

_SYMBOLIC = "all values"
CLAIMS = statements(origin=Origin.READING, checked=_SYMBOLIC)


def _symbols(names: str) -> "tuple[sympy.Symbol, ...]":
    return sympy.symbols(names, positive=True)


def _same(ours: Any, printed: Any, said: str) -> Finding:
    gap = sympy.simplify(ours - printed)
    return Finding(gap == 0 or f"difference {gap}", str(sympy.factor(ours)), paper=said)


# --- one batch ----------------------------------------------------------------------------------


@CLAIMS.claim("section-2-3.fuller-is-faster", "section 2.3", origin=Origin.PRINTED)
def _fuller_is_faster() -> Finding:
    """A batch that holds more tokens does more token-iterations per unit of time.

    Paper: use memory as fully as possible
    Note: Token-iterations done per unit of time by a batch of m tokens."""
    base, per_token, tokens = _symbols("d0 d1 m")
    slope = sympy.factor(sympy.diff(tokens / (base + per_token * tokens), tokens))
    return Finding(None if slope.is_positive else f"slope {slope}", f"slope {slope}")


def _engine(system: "wait.WaitSystem", capacity: int | None = None) -> WaitEngine:
    """WAIT with one prompt of each type at every stage; ten of each type come at 0."""
    kinds = np.tile(np.arange(len(system.types)), 10)
    prompts = runs.Requests(
        np.array([each.input_length for each in system.types])[kinds],
        np.array([each.output_length for each in system.types])[kinds],
        arrival=np.zeros(len(kinds)),
        class_index=kinds,
    )
    policy = wait.Wait((1,) * len(system.types))
    return WaitEngine(prompts, policy, system.clock, capacity)


_ENGINES = Range(
    f"{systems.RANDOM.words}, ten prompts of each type, n = 1",
    lambda: ((system,) for system in systems.random_systems()),
)


@CLAIMS.claim("equation-1", "equation (1)", over=_ENGINES)
def _equation_1(system: "wait.WaitSystem") -> bool | str:
    """An iteration lasts d0, and d1 for each unit of KV cache of the prompts in its batch.

    Paper: fixed overhead, and a time cost per unit of KV cache memory
    Note: A prompt in prefill counts its l, one that computes its k-th token l + k. Clocks are
    doubles, compared to 1e-12 of the time so far."""
    engine = _engine(system)
    while True:
        began, stages = engine.now, {prompt: prompt.stage for prompt in engine.all}
        if engine.step() is None:
            return True
        tokens = sum(p.input_length + k for p, k in stages.items() if p.stage > k)
        due = float(system.base + system.per_kv_token * tokens)
        if abs(engine.now - began - due) > 1e-12 * engine.now:
            return f"{system}: {tokens} tokens in {engine.now - began}, {due} due"


@CLAIMS.claim("equation-2", "equation (2)", over=_ENGINES)
def _equation_2(system: "wait.WaitSystem") -> bool | str:
    """In every iteration the caches of the batch and of paused prompts are within M, and who is
    evicted was admitted last.

    Ours: at M from the largest prompt up, counted prompt by prompt
    Paper: at most M at all times, eviction last in, first out
    Note: M is that of the largest prompt, and half again. A paused prompt at stage k holds l + k -
    1."""
    largest = max(each.input_length + each.output_length for each in system.types)
    for capacity in (largest, 3 * largest // 2):
        engine = _engine(system, capacity)
        for _ in range(100):  # with so little memory some of them evict one another for ever
            inside = list(engine.inside)
            lost = {prompt: prompt.evictions for prompt in inside}
            batch = engine.select()
            if batch is None:
                break
            gone = [prompt for prompt in inside if prompt.evictions > lost[prompt]]
            stays = [prompt for prompt in inside if prompt not in gone]
            if gone and inside != stays + gone:
                return f"{system}, M = {capacity}: another than the last admitted is evicted"
            paused = [prompt for prompt in stays if prompt not in batch]
            held = sum(p.input_length + p.stage for p in batch)
            held += sum(p.input_length + p.stage - 1 for p in paused)
            if held > capacity:
                return f"{system}, M = {capacity}: {held} held"
            engine.execute(batch)
    return True


@CLAIMS.claim(
    "equation-3",
    "equation (3); section 2.5",
    over=lambda: ((case, seed) for case in ("equality", "slack") for seed in range(3)),
)
def _equation_3(case: str, seed: int) -> bool | str:
    """What the throughput of (3) leaves out, tokens of prompts that are not complete, is at most
    sum of n l' (l' - 1) / 2 under WAIT, at any time.

    Checked: two types, n = 2, 2, in balance and with slack, 400 prompts (seeds 0 to 2)
    Ours: at most 2 tokens behind, in each iteration
    Paper: we count throughput only after prompt completion
    Note: So over a horizon T the two ways to count differ by O(1 / T)."""
    system, n = systems.two_types(case), (2, 2)
    most = sum(
        size * each.output_length * (each.output_length - 1) // 2
        for size, each in zip(n, system.types, strict=True)
    )
    table = wait.poisson_prompts(system, rng=seed, count=400)
    engine, behind = WaitEngine(table, wait.Wait(n), system.clock), 0
    while (step := engine.step()) is not None:
        behind += step["new_outputs"] - step["completed_outputs"]
        if not 0 <= behind <= most:
            return f"{case}, seed {seed}: {behind} tokens behind, {most} expected at most"
    return True


# --- the equilibrium ----------------------------------------------------------------------------


def _lifetime(length: "sympy.Symbol", output: "sympy.Symbol") -> Any:
    """c, summed over the stages and not from its closed form."""
    k = sympy.Symbol("k", integer=True)
    return sympy.summation(length + k, (k, 0, output))


@CLAIMS.claim("equation-4", "equation (4)")
def _equation_4() -> Finding:
    """In balance n prompts a stage hold n (l'+1)(l + l'/2) tokens."""
    n, length = _symbols("n l")
    output = sympy.Symbol("L", integer=True, positive=True)
    ours = n * _lifetime(length, output)
    return _same(ours, n * (output + 1) * (length + output / 2), "n (l' + 1) (l + l'/2)")


@CLAIMS.claim("equation-5", "equation (5)")
def _equation_5() -> Finding:
    """Arrivals equal completions at M* = d0 lambda c / (1 - d1 lambda c)."""
    rate, base, per_token, cost = _symbols("lambda d0 d1 c")
    printed = base * rate * cost / (1 - per_token * rate * cost)
    return _same(symbolic.wait_equilibrium().memory, printed, "d0 lambda c / (1 - d1 lambda c)")


@CLAIMS.claim("equation-5.unbounded", "below equation (5)", origin=Origin.PRINTED)
def _unbounded() -> Finding:
    """The batch of the equilibrium grows without bound as the load tends to 1.

    Ours: n* = lambda d0 / (1 - rho)
    Paper: grows unbounded"""
    rate, base, per_token, cost, room = _symbols("lambda d0 d1 c epsilon")
    batch = symbolic.wait_equilibrium().per_stage[0].subs(per_token, (1 - room) / (rate * cost))
    limit = sympy.limit(batch.subs({rate: 1, base: 1, cost: 1}), room, 0, "+")
    scales = sympy.simplify(batch * room - rate * base) == 0
    bad = None if limit == sympy.oo and scales else f"limit {limit}"
    return Finding(bad)


@CLAIMS.claim("equation-6", "equation (6)")
def _equation_6() -> Finding:
    """The throughput of the equilibrium is n* l' / tau* = lambda l'."""
    rate, output = _symbols("lambda L")
    one = symbolic.wait_equilibrium()
    ours = one.per_stage[0] * output / one.iteration_time
    return _same(ours, rate * output, "n* l' / tau* = lambda l'")


@CLAIMS.claim("equations-7-to-10", "equations (7) to (10)", over=systems.RANDOM)
def _equations_of_many(system: "wait.WaitSystem") -> bool | str:
    """With many types, memory, iteration time and throughput in balance are (8) to (10).

    Ours: in rationals, against the equations that define the balance
    Paper: n_j = lambda_j tau*, (8), (9), (10)"""
    found = wait.fluid_equilibrium(system)
    per_type = list(zip(found.per_stage, system.types, strict=True))
    tokens = sum(
        n * sum(each.input_length + k for k in range(each.output_length + 1))
        for n, each in per_type
    )
    time = system.base + system.per_kv_token * tokens
    balanced = all(n == each.arrival_rate * time for n, each in per_type)
    done = sum(n * each.output_length for n, each in per_type)
    load = system.per_kv_token * system.token_rate
    printed = (
        system.base * system.token_rate / (1 - load),  # (8)
        system.base / (1 - load),  # (9)
        sum(each.arrival_rate * each.output_length for each in system.types),  # (10)
    )
    ours = (found.memory, found.iteration_time, found.throughput)
    return (balanced and ours == printed == (tokens, time, done / time)) or str(system)


@CLAIMS.claim("table-1.active", "Table 1; section 3.1", over=systems.RANDOM)
def _active(system: "wait.WaitSystem") -> bool | str:
    """The active prompts of a type in equilibrium, all its stages together, are its rate times the
    l' + 1 iterations that it is there (Little).

    Ours: (l' + 1) lambda tau*, in rationals: n* is what each stage has of it
    Paper: equilibrium number of active prompts, distributed evenly across all stages
    Note: The symbols of Table 1 are lost. Sections 3.2 and 4 use n* for one stage."""
    found = wait.fluid_equilibrium(system)
    for n, each in zip(found.per_stage, system.types, strict=True):
        stages = [n for _ in range(each.output_length + 1)]
        stay = (each.output_length + 1) * found.iteration_time
        if sum(stages) != each.arrival_rate * stay:
            return str(system)
    return True


@CLAIMS.claim("proposition-3.equilibrium", "proof of Proposition 3")
def _instance_3() -> Outcome:
    """Two types with l = 1, l' = 1 and 2 at equal rates have n* = 1 and 1 at M* = 9.

    Checked: d0 = 1/2, 1/5, 1/10 of tau*"""
    found = {wait.fluid_equilibrium(systems.proposition_3(Fraction(1, d))) for d in (2, 5, 10)}
    (ours,) = {(*each.per_stage, each.memory) for each in found}
    return equals(ours, "1, 1, 9")


@CLAIMS.claim("example-2.equilibrium", "Example 2", origin=Origin.PRINTED)
def _instance_2() -> Outcome:
    """With l = l' = 1 and four arrivals per iteration the equilibrium holds 12 units.

    Checked: the printed case"""
    found = wait.fluid_equilibrium(systems.hello())
    return equals((*found.per_stage, found.memory), "4, 12")
