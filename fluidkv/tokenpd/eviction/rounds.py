"""One round of a policy over attention weights, in JAX; `literal` says what it means.

write      streams that start compute their prompt; those that run write one token each
measure    what the row of each would have given to what is no longer there
observe    scorers see the row, shared out over what was there
choose     streams that ended free theirs; of the others the policy keeps what it keeps
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from fluidkv.tokenpd.attention.oracle import Remaining, after_row, mean_and_variance
from fluidkv.tokenpd.attention.quality import mass_kept, relative_error, renormalised
from fluidkv.tokenpd.eviction.choosing import Word, best, newer, number, shares
from fluidkv.tokenpd.eviction.policy import Choice, Scope
from fluidkv.tokenpd.eviction.scorers import Return
from fluidkv.tokenpd.knapsack.price import compiled_price
from fluidkv.tokenpd.objective import Objective, worth_of
from fluidkv.tokenpd.seen import Scorer, Seen


class Rows(NamedTuple):
    """Attention weights on the device; see `Attention`."""

    weights: Float[Array, "stream query key"]
    prompt: Int[Array, " stream"]
    length: Int[Array, " stream"]
    start: Int[Array, " stream"]


class Numbers(NamedTuple):
    """What may differ between runs that are computed together.

    Fields:
        shared_window: `EvictionPolicy.window_share` of the budget, for all streams together.
        hard, sees_kept: of `Pricing.budget` and `Pricing.demand`.
    """

    budget: Int[Array, ""]
    comes_back: Bool[Array, ""]
    sinks: Int[Array, ""]
    window: Int[Array, ""]
    shared_window: Int[Array, ""]
    step: Float[Array, ""]
    start: Float[Array, ""]
    risk_aversion: Float[Array, ""]
    penalty: Float[Array, ""]
    hard: Bool[Array, ""]
    sees_kept: Bool[Array, ""]


@dataclass(frozen=True)
class Setting:
    """What all runs that are computed together share, besides the structure of the scorer."""

    scope: Scope
    choice: Choice
    objective: Objective
    delay: int
    record: bool


class Observed(NamedTuple):
    """Streams' rows of a round, as observers see them: `delay` rounds later."""

    weights: Float[Array, "stream key"]
    there: Bool[Array, "stream key"]
    query: Int[Array, " stream"]
    ran: Bool[Array, " stream"]


class State(NamedTuple):
    """Between rounds.

    Fields:
        kept: what is carried over. scorer: its state. shown: the last row that it has seen.
        late: the rows of the last `delay` rounds, oldest first.
        imbalance: S of (5). recorded: excess values when written, of a heap.
    """

    kept: Bool[Array, "stream key"]
    scorer: Any
    shown: Float[Array, "stream key"]
    late: tuple[Observed, ...]
    to_come: Remaining
    imbalance: Int[Array, ""]
    recorded: Float[Array, "stream key"]


class Prompts(NamedTuple):
    """After each stream's prompt: the scorer's state, the last row, what is to come."""

    scorer: Any
    shown: Float[Array, "stream key"]
    to_come: Remaining


class Outcome(NamedTuple):
    """Of a round; see `EvictionRun`."""

    kept: Int[Array, ""]
    wanted: Int[Array, ""]
    used: Int[Array, ""]
    recomputed: Int[Array, ""]
    price: Float[Array, ""]
    imbalance: Int[Array, ""]
    mass: Float[Array, " stream"]
    error: Float[Array, " stream"]
    masks: Bool[Array, "stream key"] | None


class _Turn(NamedTuple):
    """Who does what in a round."""

    round: Int[Array, ""]
    starts: Bool[Array, " stream"]
    runs: Bool[Array, " stream"]
    goes_on: Bool[Array, " stream"]
    query: Int[Array, " stream"]
    written: Bool[Array, "stream key"]


def begin(rows: Rows, scorer: Scorer, prompts: Prompts, delay: int) -> State:
    """Before the first round."""
    streams, _, keys = rows.weights.shape
    nothing, zeros = jnp.zeros((streams, keys), bool), jnp.zeros((streams, keys), jnp.float64)
    nobody = Observed(zeros, nothing, jnp.zeros(streams, jnp.int64), jnp.zeros(streams, bool))
    return State(
        nothing,
        scorer.begin(streams, keys),
        zeros,
        (nobody,) * delay,
        prompts.to_come,
        jnp.int64(0),
        zeros,
    )


def one_round(
    rows: Rows,
    prompts: Prompts,
    setting: Setting,
    scorer: Scorer,
    numbers: Numbers,
    state: State,
    round_: Int[Array, ""],
) -> tuple[State, Outcome]:
    """Write, measure, observe, choose."""
    turn = _turn(rows, round_)
    row = rows.weights[jnp.arange(len(turn.query)), turn.query].astype(jnp.float64)

    new = turn.written & (
        turn.starts[:, None] | (jnp.arange(row.shape[1])[None, :] == turn.query[:, None])
    )
    there = (state.kept & turn.runs[:, None]) | new
    shared = renormalised(row, there)
    mass, error = mass_kept(row, there), relative_error(row, shared)

    now = Observed(shared, there & turn.runs[:, None], turn.query, turn.runs)
    state = _observed(rows, prompts, setting.delay, scorer, state, turn, row, now)
    seen = _seen(rows, turn, state, there)

    stay, wanted, price, state = _chosen(setting, scorer, numbers, state, turn, seen, new)
    outcome = Outcome(
        kept=stay.sum(dtype=jnp.int64),
        wanted=wanted,
        used=there.sum(dtype=jnp.int64),
        recomputed=(stay & ~there).sum(dtype=jnp.int64),
        price=price,
        imbalance=state.imbalance,
        mass=jnp.where(turn.runs, mass, 0.0),
        error=jnp.where(turn.runs, error, 0.0),
        masks=stay if setting.record else None,
    )
    return state._replace(kept=stay), outcome


def _turn(rows: Rows, round_: Int[Array, ""]) -> _Turn:
    age = round_ - rows.start
    last = rows.length - rows.prompt
    query = rows.prompt - 1 + jnp.clip(age, 0, last)
    active = (age >= 0) & (age <= last)
    position = jnp.arange(rows.weights.shape[2])[None, :]
    return _Turn(
        round_,
        starts=age == 0,
        runs=active & (age > 0),
        goes_on=active & (age < last),
        query=query,
        written=active[:, None] & (position <= query[:, None]),
    )


# ------------------------------------------------------------------------------------------ observe


def _observed(
    rows: Rows,
    prompts: Prompts,
    delay: int,
    scorer: Scorer,
    state: State,
    turn: _Turn,
    row: Float[Array, "stream key"],
    now: Observed,
) -> State:
    """Prompts that were computed in this round are known at once; other rows after the delay."""
    to_come = after_row(state.to_come, row, turn.runs)
    late = (*state.late, now)
    seen, late = late[0], late[1:]
    mean, spread = mean_and_variance(to_come)
    shows = Seen(
        weights=jnp.where(seen.ran[:, None], seen.weights, 0.0),
        there=seen.there,
        query=seen.query,
        round=jnp.broadcast_to(turn.round - delay, seen.query.shape),
        prompt=rows.prompt,
        future=mean,
        spread=spread,
    )
    known = only(seen.ran, scorer.observe(state.scorer, shows), state.scorer)
    shown = jnp.where(seen.ran[:, None], shows.weights, state.shown)
    return state._replace(
        scorer=only(turn.starts, prompts.scorer, known),
        shown=jnp.where(turn.starts[:, None], prompts.shown, shown),
        late=late,
        to_come=to_come,
    )


def only(which: Bool[Array, " stream"], new: Any, old: Any) -> Any:
    """The new state of some streams, the old one of the others."""

    def one(new: Array, old: Array) -> Array:
        return jnp.where(which.reshape(-1, *(1,) * (old.ndim - 1)), new, old)

    return jax.tree.map(one, new, old)


def _seen(rows: Rows, turn: _Turn, state: State, there: Bool[Array, "stream key"]) -> Seen:
    """When policies choose: what is there is known at once, and of weights the last row shown."""
    mean, spread = mean_and_variance(state.to_come)
    round_ = jnp.broadcast_to(turn.round, turn.query.shape)
    return Seen(state.shown, there, turn.query, round_, rows.prompt, mean, spread)


# ------------------------------------------------------------------------------------------- choose


def _chosen(
    setting: Setting,
    scorer: Scorer,
    numbers: Numbers,
    state: State,
    turn: _Turn,
    seen: Seen,
    new: Bool[Array, "stream key"],
) -> tuple[Bool[Array, "stream key"], Int[Array, ""], Float[Array, ""], State]:
    """Who stays, how many were wanted, at what price, and the state with the next one."""
    may = (seen.there | (turn.written & numbers.comes_back)) & turn.goes_on[:, None]
    no_price = jnp.float64(jnp.nan)
    if setting.choice is Choice.ALL:
        return may, may.sum(dtype=jnp.int64), no_price, state
    tier = _tier(numbers, turn)
    if setting.choice is Choice.BEST:
        order = scorer.score(state.scorer, seen)
        stay = _within(setting, numbers.budget, turn, tier, order, may)
        return stay, may.sum(dtype=jnp.int64), no_price, state

    worth = _worth(setting, scorer, numbers, state.scorer, seen)
    price = compiled_price(numbers.start, numbers.step, numbers.budget, state.imbalance)
    if setting.choice is Choice.PRICE:
        wants = may & ((worth >= price) | (tier > 0))
        fits = _within(setting, numbers.budget, turn, tier, worth, wants)
        stay = jnp.where(numbers.hard, fits, wants)
    else:
        recorded = jnp.where(new, worth - price, state.recorded)
        state = state._replace(recorded=recorded)
        wants = may
        stay = _within(setting, numbers.budget, turn, tier, recorded, may)
    demand = jnp.where(numbers.sees_kept, stay, wants)
    used = demand.sum(dtype=jnp.int64) - numbers.budget
    state = state._replace(imbalance=state.imbalance + used)
    return stay, wants.sum(dtype=jnp.int64), price, state


def _worth(
    setting: Setting, scorer: Scorer, numbers: Numbers, state: Any, seen: Seen
) -> Float[Array, "stream key"]:
    """Under a price: a predictor's R and sigma^2; another scorer's order is R, without risk."""
    if isinstance(scorer, Return):
        returns, risk = scorer.predict(state, seen)
    else:
        returns = scorer.score(state, seen)
        risk = jnp.zeros_like(returns)
    aversion, penalty = numbers.risk_aversion, numbers.penalty
    return worth_of(setting.objective, returns, risk, risk_aversion=aversion, penalty=penalty)


def _tier(numbers: Numbers, turn: _Turn) -> Int[Array, "stream key"]:
    """2 for sinks, 1 for the window, 0 for the others."""
    streams = jnp.maximum(turn.goes_on.sum(dtype=jnp.int64), 1)
    window = numbers.window + numbers.shared_window // streams
    position = jnp.arange(turn.written.shape[1])[None, :]
    recent = position > turn.query[:, None] - window
    return jnp.where(position < numbers.sinks, 2, recent.astype(jnp.int64))


def _within(
    setting: Setting,
    budget: Int[Array, ""],
    turn: _Turn,
    tier: Int[Array, "stream key"],
    order: Float[Array, "stream key"],
    among: Bool[Array, "stream key"],
) -> Bool[Array, "stream key"]:
    """The best that fit, of all streams together or of each in its share."""
    words = [Word(tier.astype(jnp.uint64), 2), number(order), newer(*among.shape)]
    if setting.scope is Scope.UNIFORM:
        return best(words, among, shares(budget, turn.goes_on))
    return best(words, among, jnp.minimum(budget, among.size).astype(jnp.int32)[None])
