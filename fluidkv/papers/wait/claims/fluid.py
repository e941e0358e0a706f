"""WAIT, sections 2.3 and 3: the iteration time, the equilibrium and its instances."""

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from fluidkv.ledger.claim import Claim, Outcome
from fluidkv.ledger.outcomes import equals, holds_for, sampled
from fluidkv.papers.wait.claims._systems import RANDOM, hello, proposition_3, random_systems
from fluidkv.papers.wait.paper import wait

if TYPE_CHECKING:
    import sympy

_SYMBOLIC = "all values"


def _symbols(names: str) -> "tuple[sympy.Symbol, ...]":
    import sympy

    return sympy.symbols(names, positive=True)


def _same(ours: Any, printed: Any, said: str) -> Outcome:
    import sympy

    gap = sympy.simplify(ours - printed)
    return holds_for(
        None if gap == 0 else f"difference {gap}", ours=str(sympy.factor(ours)), paper=said
    )


def _lifetime(length: "sympy.Symbol", output: "sympy.Symbol") -> Any:
    """c, summed over the stages and not from its closed form."""
    import sympy

    k = sympy.Symbol("k", integer=True)
    return sympy.summation(length + k, (k, 0, output))


def _equation_4() -> Outcome:
    import sympy

    n, length = _symbols("n l")
    output = sympy.Symbol("L", integer=True, positive=True)
    ours = n * _lifetime(length, output)
    return _same(ours, n * (output + 1) * (length + output / 2), "n (l' + 1) (l + l'/2)")


def _equilibrium_of_one() -> "dict[str, Any]":
    """n that solves n = lambda (d0 + d1 n c), and what follows."""
    import sympy

    n, rate, base, per_token, cost = _symbols("n lambda d0 d1 c")
    (found,) = sympy.solve(sympy.Eq(n, rate * (base + per_token * n * cost)), n)
    return {"n": found, "M": found * cost, "tau": base + per_token * found * cost}


def _equation_5() -> Outcome:
    rate, base, per_token, cost = _symbols("lambda d0 d1 c")
    printed = base * rate * cost / (1 - per_token * rate * cost)
    return _same(_equilibrium_of_one()["M"], printed, "d0 lambda c / (1 - d1 lambda c)")


def _equation_6() -> Outcome:
    rate, output = _symbols("lambda L")
    one = _equilibrium_of_one()
    return _same(one["n"] * output / one["tau"], rate * output, "n* l' / tau* = lambda l'")


def _unbounded() -> Outcome:
    import sympy

    rate, base, per_token, cost, room = _symbols("lambda d0 d1 c epsilon")
    batch = _equilibrium_of_one()["n"].subs(per_token, (1 - room) / (rate * cost))
    limit = sympy.limit(batch.subs({rate: 1, base: 1, cost: 1}), room, 0, "+")
    scales = sympy.simplify(batch * room - rate * base) == 0
    bad = None if limit == sympy.oo and scales else f"limit {limit}"
    return holds_for(bad, ours="n* = lambda d0 / (1 - rho)", paper="grows unbounded")


def _equations_of_many() -> Outcome:
    """Our equilibrium against its defining equations, solved nowhere."""
    from fluidkv.wait.theory.fluid import fluid_equilibrium

    bad, tried = None, 0
    for system in random_systems():
        tried += 1
        found = fluid_equilibrium(system)
        tokens = sum(
            n * sum(each.input_length + k for k in range(each.output_length + 1))
            for n, each in zip(found.per_stage, system.types, strict=True)
        )
        time = system.base + system.per_kv_token * tokens
        balanced = all(
            n == each.arrival_rate * time
            for n, each in zip(found.per_stage, system.types, strict=True)
        )
        done = sum(
            n * each.output_length for n, each in zip(found.per_stage, system.types, strict=True)
        )
        load = system.per_kv_token * system.token_rate
        printed = (
            system.base * system.token_rate / (1 - load),  # (8)
            system.base / (1 - load),  # (9)
            sum(each.arrival_rate * each.output_length for each in system.types),  # (10)
        )
        ours = (found.memory, found.iteration_time, found.throughput)
        if not balanced or ours != printed or ours != (tokens, time, done / time):
            bad = bad or str(system)
    return sampled(bad, f"{tried} systems, in rationals", "n_j = lambda_j tau*, (8), (9), (10)")


def _fuller_is_faster() -> Outcome:
    import sympy

    base, per_token, tokens = _symbols("d0 d1 m")
    slope = sympy.factor(sympy.diff(tokens / (base + per_token * tokens), tokens))
    return holds_for(
        None if slope.is_positive else f"slope {slope}",
        ours=f"slope {slope}",
        paper="use memory as fully as possible",
        note="Token-iterations done per unit of time by a batch of m tokens.",
    )


def _instance_3() -> Outcome:
    from fluidkv.wait.theory.fluid import fluid_equilibrium

    found = {fluid_equilibrium(proposition_3(Fraction(1, d))) for d in (2, 5, 10)}
    values = {(*each.per_stage, each.memory) for each in found}
    (ours,) = values
    return equals(ours, "1, 1, 9")


def _instance_2() -> Outcome:
    from fluidkv.wait.theory.fluid import fluid_equilibrium

    found = fluid_equilibrium(hello())
    return equals((*found.per_stage, found.memory), "4, 12")


CLAIMS: tuple[Claim, ...] = (
    wait(
        "section-2-3.fuller-is-faster",
        "A batch that holds more tokens does more token-iterations per unit of time.",
        "section 2.3",
        _fuller_is_faster,
        kind="remark",
        checked=_SYMBOLIC,
    ),
    wait(
        "equation-4",
        "In balance n prompts a stage hold n (l'+1)(l + l'/2) tokens.",
        "equation (4)",
        _equation_4,
        kind="equation",
        checked=_SYMBOLIC,
    ),
    wait(
        "equation-5",
        "Arrivals equal completions at M* = d0 lambda c / (1 - d1 lambda c).",
        "equation (5)",
        _equation_5,
        kind="equation",
        checked=_SYMBOLIC,
    ),
    wait(
        "equation-5.unbounded",
        "The batch of the equilibrium grows without bound as the load tends to 1.",
        "below equation (5)",
        _unbounded,
        kind="equation",
        checked=_SYMBOLIC,
    ),
    wait(
        "equation-6",
        "The throughput of the equilibrium is n* l' / tau* = lambda l'.",
        "equation (6)",
        _equation_6,
        kind="equation",
        checked=_SYMBOLIC,
    ),
    wait(
        "equations-7-to-10",
        "With many types, memory, iteration time and throughput in balance are (8) to (10).",
        "equations (7) to (10)",
        _equations_of_many,
        kind="equation",
        checked=RANDOM,
    ),
    wait(
        "proposition-3.equilibrium",
        "Two types with l = 1, l' = 1 and 2 at equal rates have n* = 1 and 1 at M* = 9.",
        "proof of Proposition 3",
        _instance_3,
        kind="proposition",
        checked="d0 = 1/2, 1/5, 1/10 of tau*",
    ),
    wait(
        "example-2.equilibrium",
        "With l = l' = 1 and four arrivals an iteration the equilibrium holds 12 units.",
        "Example 2",
        _instance_2,
    ),
)
