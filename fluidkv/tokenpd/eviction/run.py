"""Runs of policies over attention weights: many budgets, prices, steps and seeds at once."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from math import floor
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from fluidkv.errors import InputError
from fluidkv.record import Record
from fluidkv.runs.batch import Progress, power_of_two
from fluidkv.runs.checks import count, instance
from fluidkv.runs.precision import in_float64, random_key
from fluidkv.runs.values import one_each
from fluidkv.tokenpd.attention.weights import Attention
from fluidkv.tokenpd.eviction.optimum import attainable_mass
from fluidkv.tokenpd.eviction.policy import EvictionPolicy
from fluidkv.tokenpd.eviction.prompts import after_prompts
from fluidkv.tokenpd.eviction.rounds import (
    Numbers,
    Outcome,
    Prompts,
    Rows,
    Setting,
    State,
    begin,
    one_round,
)
from fluidkv.tokenpd.knapsack.run import within_64_bits
from fluidkv.tokenpd.pricing import Budget, Demand, Pricing
from fluidkv.tokenpd.seen import Scorer

CALL = 64
"""Rounds of a compiled call: between two of them a run can be interrupted."""
_SEVERAL = (list, tuple, np.ndarray, range)
_LEAST = 16
"""Rounds of a call, and rows of prompts, are so many or a multiple: few sizes are compiled."""


@dataclass(frozen=True)
class EvictionRun(Record):
    """What a policy kept, and what that lost; a leading axis of runs where several were asked for.

    A row is measured where it is computed over what was kept: of tokens that are generated. A
    prompt's rows lose nothing under any policy, and are not counted.

    Fields:
        rows: how many rows were measured in the round; the same in all runs.
        used: keys there while rows were computed: carried over, and written in the round.
        wanted: tokens that rule (4) wanted, or, without a price, that could have stayed.
        kept: tokens carried over to the next round.
        recomputed: of these, those that had been evicted.
        price: mu when the policy chose; NaN without one.
        imbalance: S, the sum of what (5) saw minus M, after the round; 0 without a price.
        mass: share of its true weights that each measured row gives to what was there
            (`mass_kept`); 0 where none is measured.
        error: of its attention output, relative (`output_error`); 0 where none is measured.
        optimum: most that the round's rows can give to M tokens written before and their own: each
            of them back for free, so that no policy within the budget can have more.
        masks: what was kept, where recorded.

    Examples:
        >>> from fluidkv.tokenpd import evict, generated, generators, policy
        >>> attention = generated(generators()["sinks"], 0, requests=2, prompt=4, length=12)
        >>> run = evict(attention, 12, policy("h2o"))
        >>> run.kept.tolist()  # 12 of both streams together, until they end
        [8, 10, 12, 12, 12, 12, 12, 12, 0]
        >>> round(float(run.mean_mass), 2), round(float(run.mean_optimum), 2)
        (0.84, 0.95)
    """

    rows: Int[np.ndarray, "*run round"]
    used: Int[np.ndarray, "*run round"]
    wanted: Int[np.ndarray, "*run round"]
    kept: Int[np.ndarray, "*run round"]
    recomputed: Int[np.ndarray, "*run round"]
    price: Float[np.ndarray, "*run round"]
    imbalance: Int[np.ndarray, "*run round"]
    mass: Float[np.ndarray, "*run round stream"]
    error: Float[np.ndarray, "*run round stream"]
    optimum: Float[np.ndarray, "*run round"]
    masks: Bool[np.ndarray, "*run round stream key"] | None = None

    @property
    def mean_mass(self) -> Float[np.ndarray, "*run"]:
        """Share of attention that was kept, mean over all rows that were measured; NaN of none."""
        return self._mean(self.mass.sum((-2, -1)))

    @property
    def mean_optimum(self) -> Float[np.ndarray, "*run"]:
        """Its bound within the budget."""
        return self._mean(self.optimum.sum(-1))

    @property
    def mean_error(self) -> Float[np.ndarray, "*run"]:
        """Relative error of the attention output, mean over all rows that were measured."""
        return self._mean(self.error.sum((-2, -1)))

    def _mean(self, total: Float[np.ndarray, "*run"]) -> Float[np.ndarray, "*run"]:
        with np.errstate(invalid="ignore"):
            return total / self.rows.sum(-1)


def evict(
    attention: Attention,
    budget: int | Sequence[int],
    policy: EvictionPolicy | Sequence[EvictionPolicy],
    *,
    delay: int = 0,
    comes_back: bool = False,
    key: PRNGKeyArray | Sequence[PRNGKeyArray] | None = None,
    record: bool = False,
    on_progress: Progress | None = None,
) -> EvictionRun:
    """Run a policy over attention weights: what it keeps, and what that loses.

    A round: streams that start compute their prompt; the others write one token each and compute
    its row over what was kept and the token itself. Policies see the row, shared out over what was
    there. Streams that end free their keys, and of the others at most M tokens are carried over to
    the next round (more where a policy prices a netted budget): new tokens of a round are in the
    workspace that the paper reserves.

    Policies that differ in the numbers of their pricing or in arrays alone are computed together.

    Args:
        budget: M, tokens; one, or one for each run.
        policy: one, or one for each run.
        delay: rounds until a row is seen; a prompt's rows are seen at once.
        comes_back: what was evicted may be wanted again, and is recomputed then; otherwise it is
            gone.
        key: of what policies and predictors draw; one, or one for each run (an array of keys, or
            a sequence). None: seed 0.
        record: `masks` too.
        on_progress: told rounds of all runs that are done, and runs that are done.

    Raises:
        InputError: a budget below one token, no stream, or what is of another kind than said here.

    Examples:
        >>> from fluidkv.tokenpd import evict, generated, generators, policy
        >>> attention = generated(generators()["sinks"], 0, requests=2, prompt=4, length=12)
        >>> runs = [evict(attention, budget, policy("h2o")) for budget in (8, 12, 24)]
        >>> [round(float(run.mean_mass), 2) for run in runs]  # nothing is lost with 2 * 12 tokens
        [0.63, 0.84, 1.0]
    """
    if not len(attention.prompt):
        raise InputError("attention", "no stream", "at least one")
    # Rows that are seen after the last round are never seen.
    delay = min(count("delay", delay, least=0), attention.rounds)
    keys = _keys(key)
    asked = one_each({"budget": budget, "policy": policy, "key": keys})
    runs = [_Asked(*row) for row in zip(*asked.values(), strict=True)]
    for run in runs:
        within_64_bits("budget", count("budget", run.budget), attention.rounds)
        of = instance("policy", run.policy, EvictionPolicy, "an EvictionPolicy")
        instance(f"score of {of.name}", of.score, Scorer, "a Scorer")
    told = _Told(on_progress, len(runs), attention.rounds)
    with in_float64():
        parts = [_Part.of(run, at, delay, comes_back, record) for at, run in enumerate(runs)]
        rows = Rows(
            weights=jnp.asarray(attention.weights),
            prompt=jnp.asarray(attention.prompt, jnp.int64),
            length=jnp.asarray(attention.length, jnp.int64),
            start=jnp.asarray(attention.start, jnp.int64),
        )
        longest = power_of_two(int(attention.prompt.max()), _LEAST)
        found = [_together(rows, group, longest, told) for group in _groups(parts)]
    outcome = _in_order(found, [part.at for group in _groups(parts) for part in group])
    run = _run_of(attention, outcome, np.array([run.budget for run in runs]))
    single = not any(isinstance(given, _SEVERAL) for given in (budget, policy, keys))
    return _first(run) if single else run


def _keys(key: Any) -> Any:
    """One key, or a list of them.

    Raises:
        InputError: no keys of JAX's newer kind; of the older one, a pair of integers, nobody can
            tell whether it is one or two.
    """
    if key is None:
        return random_key(0)
    several = isinstance(key, _SEVERAL) or getattr(key, "ndim", 0) > 0
    keys = list(key) if several else [key]
    for one in keys:
        if not (isinstance(one, jax.Array) and jnp.issubdtype(one.dtype, jax.dtypes.prng_key)):
            raise InputError("key", one, "keys of jax.random.key")
    return keys if several else key


class _Asked(NamedTuple):
    budget: int
    policy: EvictionPolicy
    key: PRNGKeyArray


class _Told:
    """Rounds and runs that are done."""

    def __init__(self, tell: Progress | None, runs: int, rounds: int) -> None:
        self.tell, self.runs, self.rounds, self.done, self.ended = tell, runs, rounds, 0, 0

    def add(self, rounds: int, ended: int) -> None:
        """So many more."""
        self.done, self.ended = self.done + rounds, self.ended + ended
        if self.tell is not None:
            self.tell(self.done, self.ended)


@dataclass(frozen=True)
class _Part:
    """One run: what is compiled in, and what may differ between runs computed together."""

    at: int
    setting: Setting
    arrays: Any
    static: Any
    numbers: Numbers

    @staticmethod
    def of(asked: _Asked, at: int, delay: int, comes_back: bool, record: bool) -> "_Part":
        policy, scorer = asked.policy, asked.policy.score
        if hasattr(scorer, "with_key"):
            scorer = scorer.with_key(asked.key)
        arrays, static = eqx.partition(scorer, _is_array)
        priced = policy.pricing or Pricing(1.0)
        setting = Setting(policy.scope, policy.choice, priced.objective, delay, record)
        numbers = Numbers(
            budget=jnp.int64(asked.budget),
            comes_back=jnp.bool_(comes_back),
            sinks=jnp.int64(policy.sinks),
            window=jnp.int64(policy.window),
            shared_window=jnp.int64(floor(policy.window_share * asked.budget)),
            step=jnp.float64(priced.step),
            start=jnp.float64(priced.start),
            risk_aversion=jnp.float64(priced.risk_aversion),
            penalty=jnp.float64(priced.penalty),
            hard=jnp.bool_(priced.budget is Budget.HARD),
            sees_kept=jnp.bool_(priced.demand is Demand.KEPT),
        )
        return _Part(at, setting, arrays, static, numbers)

    def goes_with(self, other: "_Part") -> bool:
        """Whether both are computed together."""
        if self.setting != other.setting:
            return False
        same = jax.tree.structure((self.arrays, self.static)) == jax.tree.structure(
            (other.arrays, other.static)
        )
        return bool(same and eqx.tree_equal(self.static, other.static)) and _shapes(
            self.arrays
        ) == _shapes(other.arrays)


def _is_array(leaf: Any) -> bool:
    return isinstance(leaf, jax.Array | np.ndarray)


def _shapes(arrays: Any) -> list[tuple[tuple[int, ...], Any]]:
    return [(leaf.shape, leaf.dtype) for leaf in jax.tree.leaves(arrays)]


def _groups(parts: list[_Part]) -> list[list[_Part]]:
    groups: list[list[_Part]] = []
    for part in parts:
        fit = [group for group in groups if part.goes_with(group[0])]
        if fit:
            fit[0].append(part)
        else:
            groups.append([part])
    return groups


def _together(rows: Rows, group: list[_Part], longest: int, told: _Told) -> Outcome:
    """All rounds of runs that share what is compiled; axes (round, run, ...)."""
    numbers = jax.tree.map(lambda *one: jnp.stack(one), *(part.numbers for part in group))
    setting, static = group[0].setting, group[0].static
    leaves = [jax.tree.leaves(part.arrays) for part in group]
    each_its_own = any(a is not b for own in leaves for a, b in zip(own, leaves[0], strict=True))
    arrays = jax.tree.map(jnp.asarray, group[0].arrays)
    if each_its_own:
        arrays = jax.tree.map(lambda *one: jnp.stack(one), *(part.arrays for part in group))
    delay = setting.delay  # and nothing else of it: settings that differ otherwise share a program
    prompts, states = _begin(rows, delay, arrays, static, len(group), each_its_own, longest)
    done: list[Outcome] = []
    for first in range(0, told.rounds, call := min(CALL, power_of_two(told.rounds, _LEAST))):
        states, outcome = _rounds(
            rows, prompts, setting, arrays, static, numbers, states, jnp.int64(first), call,
            each_its_own,
        )  # fmt: skip
        done.append(jax.tree.map(np.asarray, outcome))
        rounds = min(call, told.rounds - first)
        told.add(rounds * len(group), len(group) * (first + call >= told.rounds))
    return jax.tree.map(lambda *part: np.concatenate(part)[: told.rounds], *done)


@eqx.filter_jit
def _begin(
    rows: Rows,
    delay: int,
    arrays: Any,
    static: Any,
    runs: int,
    each_its_own: bool,
    longest: int,
) -> tuple[Prompts, State]:
    """After the prompts, and before the first round, of each run."""

    def one(arrays: Any) -> tuple[Prompts, State]:
        scorer = eqx.combine(arrays, static)
        prompts = after_prompts(rows, scorer, longest)
        return prompts, begin(rows, scorer, prompts, delay)

    if each_its_own:
        return jax.vmap(one)(arrays)
    prompts, state = one(arrays)
    return prompts, jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (runs, *leaf.shape)), state)


@eqx.filter_jit
def _rounds(
    rows: Rows,
    prompts: Prompts,
    setting: Setting,
    arrays: Any,
    static: Any,
    numbers: Numbers,
    states: State,
    first: Int[Array, ""],
    call: int,
    each_its_own: bool,
) -> tuple[State, Outcome]:
    """Some rounds of all runs."""

    def one(
        arrays: Any, prompts: Prompts, numbers: Numbers, state: State, round_: Int[Array, ""]
    ) -> tuple[State, Outcome]:
        scorer = eqx.combine(arrays, static)
        return one_round(rows, prompts, setting, scorer, numbers, state, round_)

    own = 0 if each_its_own else None
    step = jax.vmap(one, in_axes=(own, own, 0, 0, None))
    return lax.scan(
        lambda states, round_: step(arrays, prompts, numbers, states, round_),
        states,
        first + jnp.arange(call),
    )


def _in_order(found: list[Outcome], places: list[int]) -> Outcome:
    """Runs as they were asked for; axes (run, round, ...)."""
    order = np.argsort(places)
    return jax.tree.map(
        lambda *part: np.concatenate([np.moveaxis(one, 1, 0) for one in part])[order], *found
    )


def _run_of(attention: Attention, outcome: Outcome, budgets: np.ndarray) -> EvictionRun:
    rows, optimum = attainable_mass(attention, budgets)
    return EvictionRun(
        rows=np.broadcast_to(rows, (len(budgets), len(rows))), optimum=optimum, **outcome._asdict()
    )


def _first(run: EvictionRun) -> EvictionRun:
    each = {one.name: getattr(run, one.name) for one in fields(run)}
    return replace(run, **{name: one[0] for name, one in each.items() if one is not None})
