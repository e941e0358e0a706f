"""Long runs of the price rule over drawn rounds, of which only sums are kept.

Tokens live for one round each, so that a round is a list of values. What a price wants of it are
the first ones of the sorted list, and what fits of that are the first of these: both readings of
the budget, and all fixed prices, come out of one pass.
"""

from collections.abc import Iterable
from collections.abc import Sequence as Several
from dataclasses import dataclass
from typing import overload

import numpy as np
from jaxtyping import Float, Int

from fluidkv.errors import InputError
from fluidkv.record import Record
from fluidkv.runs.batch import Progress
from fluidkv.runs.checks import count, floats, instance
from fluidkv.runs.values import one_each
from fluidkv.tokenpd.knapsack.run import tokens_that_fit
from fluidkv.tokenpd.knapsack.sequences.draws import Sequence, check_seed, check_sequence
from fluidkv.tokenpd.knapsack.sequences.engine import Lane, Plan, run_sums
from fluidkv.tokenpd.pricing import Pricing

MOST_ROUNDS = 2**31 - 1


@dataclass(frozen=True)
class PriceSums(Record):
    """Sums over the rounds of each seed.

    Fields:
        rounds: T.
        netted: worth of all that (4) wants. hard: worth of the best of it that fit.
        optimum: worth of the best M // c of each round, as far as it is positive.
        imbalance: S after the last round: what (5) saw minus M, summed; the violation, signed.
        above: the same of the rounds above M alone: violations that nothing makes up for.
        largest: the most by which a round was above M (below 0: by which all were below).
        highest, lowest: of S, before, between and after the rounds.
        price: mu after the last round.
        priced, priced_square: sums of mu g and of mu g^2, where g is what (5) saw minus M.
        prices: fixed ones, worth per unit of memory.
        fixed_netted, fixed_hard: as netted and hard, if a price had stood from the first round on.
        fixed_used, fixed_used_hard: memory of it, summed over rounds.

    With Demand.KEPT under a hard budget, (5) sees what stayed; else what was wanted, and then the
    price is the same under both readings of the budget.

    Examples:
        >>> from fluidkv.tokenpd import Pricing, price_sums
        >>> from fluidkv.tokenpd.knapsack.sequences.adversarial import Overload
        >>> sums = price_sums(Overload(few=0, many=2), 1, Pricing(step=0.01), rounds=100)
        >>> sums.netted.tolist(), sums.imbalance.tolist()  # idle rounds make up for busy ones
        ([100.0], [0])
        >>> sums.above.tolist(), sums.hard.tolist()
        ([50], [50.0])
    """

    rounds: int
    netted: Float[np.ndarray, " seed"]
    hard: Float[np.ndarray, " seed"]
    optimum: Float[np.ndarray, " seed"]
    imbalance: Int[np.ndarray, " seed"]
    above: Int[np.ndarray, " seed"]
    largest: Int[np.ndarray, " seed"]
    highest: Int[np.ndarray, " seed"]
    lowest: Int[np.ndarray, " seed"]
    price: Float[np.ndarray, " seed"]
    priced: Float[np.ndarray, " seed"]
    priced_square: Float[np.ndarray, " seed"]
    prices: Float[np.ndarray, " price"]
    fixed_netted: Float[np.ndarray, "price seed"]
    fixed_hard: Float[np.ndarray, "price seed"]
    fixed_used: Int[np.ndarray, "price seed"]
    fixed_used_hard: Int[np.ndarray, "price seed"]


@overload
def price_sums(
    sequence: Sequence,
    budget: int,
    pricing: Pricing,
    rounds: int,
    *,
    seeds: int = 1,
    seed: int = 0,
    cost: int = 1,
    prices: Iterable[float] = (),
    on_progress: Progress | None = None,
) -> PriceSums: ...
@overload
def price_sums(
    sequence: Sequence,
    budget: int | Several[int],
    pricing: Pricing | Several[Pricing],
    rounds: int,
    *,
    seeds: int = 1,
    seed: int = 0,
    cost: int = 1,
    prices: Iterable[float] = (),
    on_progress: Progress | None = None,
) -> PriceSums | list[PriceSums]: ...
def price_sums(
    sequence: Sequence,
    budget: int | Several[int],
    pricing: Pricing | Several[Pricing],
    rounds: int,
    *,
    seeds: int = 1,
    seed: int = 0,
    cost: int = 1,
    prices: Iterable[float] = (),
    on_progress: Progress | None = None,
) -> PriceSums | list[PriceSums]:
    """Run rule (4) with (5) over drawn rounds, for many seeds, and keep sums.

    Args:
        sequence: `Stochastic`, `Drifting`, `Alternating`, `Overload`, `Growing`, `Turning`, or any
            value with their functions. Returns have no risk here: lambda does not matter.
        budget: M; one, or one for each setting.
        pricing: one, or one for each setting, all of one objective.
        rounds: T. The step is what `pricing` says: no 1 / sqrt(T) is put in.
        seeds: how many; each setting runs all of them. Seed i depends on `seed` and i alone.
        cost: c of every token.
        prices: fixed prices to run beside, on the same rounds.
        on_progress: called now and then, maybe from another thread, with the rounds and the runs
            that are done.

    Returns:
        Sums; a list of them, one for each setting, where budget or pricing has several.

    Raises:
        InputError: a budget below one token, several objectives, prices below 0, counts below 1.

    Source: Token-PD, (4), (5); Appendix A.

    Examples:
        >>> from fluidkv.tokenpd import Pricing, price_sums
        >>> from fluidkv.tokenpd.knapsack.sequences.adversarial import Overload
        >>> sums = price_sums(Overload(few=0, many=2), 1, Pricing(step=0.01), rounds=100)
        >>> sums.netted.tolist(), sums.hard.tolist()  # all 100 tokens; one in each busy round
        ([100.0], [50.0])
    """
    columns = one_each({"budget": budget, "pricing": pricing})
    settings = list(zip(columns["budget"], columns["pricing"], strict=True))
    cost, seeds = count("cost", cost), count("seeds", seeds)
    objectives = {instance("pricing", each, Pricing, "a Pricing").objective for _, each in settings}
    if len(objectives) > 1:
        raise InputError("pricing", sorted(each.value for each in objectives), "one objective")
    check_sequence(sequence)
    rounds = count("rounds", rounds, most=MOST_ROUNDS)
    several = list(prices) if isinstance(prices, Iterable) else prices
    grid = floats("prices", several, "finite numbers of at least 0")
    if grid.ndim != 1 or not ((grid >= 0) & (grid < np.inf)).all():
        raise InputError("prices", grid, "finite numbers of at least 0")
    for each, _ in settings:
        tokens_that_fit(each, cost, rounds)
    plan = Plan(
        sequence,
        objectives.pop(),
        rounds,
        check_seed("seed", seed),
        tuple(grid.tolist()),
    )
    lanes = [Lane(at, each, price, cost) for each, price in settings for at in range(seeds)]
    found = run_sums(plan, lanes, on_progress)
    parts = [
        PriceSums(
            rounds=plan.rounds,
            prices=grid,
            **{name: values[..., first : first + seeds] for name, values in found.items()},
        )
        for first in range(0, len(lanes), seeds)
    ]
    single = not any(isinstance(value, Several | np.ndarray) for value in (budget, pricing))
    return parts[0] if single else parts
