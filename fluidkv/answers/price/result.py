"""What `fluidkv price` reports."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from fluidkv.questions.answer import Answer, Described

if TYPE_CHECKING:
    import numpy as np
    from jaxtyping import Bool, Float, Int

    from fluidkv.tokenpd.attention.summary import AttentionSummary
    from fluidkv.tokenpd.eviction.policy import EvictionPolicy
    from fluidkv.tokenpd.pricing import Pricing


@dataclass(frozen=True)
class Difference(Answer):
    """The mean mass that one policy keeps, less that of another; infinite ends where there is too
    little to say.

    Examples:
        >>> from fluidkv.answers.price.brought import generated_attention
        >>> small = generated_attention("uneven", requests=3, prompt=2, length=6, seeds=2)
        >>> answer = fk.price_tokens(small, 5, policies=["return", "return-pooled"])
        >>> found = answer.pick.brings[0].mass
        >>> round(found.mean, 3), found.over, found.known, found.told  # two seeds do not tell
        (0.028, 'seeds', True, False)
    """

    mean: Annotated[float, Described("in parts of all attention mass", kind="share")]
    low: Annotated[float, Described("the interval, from", kind="share")]
    high: Annotated[float, Described("to", kind="share")]
    over: Annotated[str, Described("what was drawn: seeds or requests")]
    told: Annotated[bool, Described("whether the interval is on one side of 0, rounding apart")]

    @property
    def known(self) -> bool:
        """Whether there is an interval."""
        return math.isfinite(self.low)


@dataclass(frozen=True)
class Brings(Answer):
    """What a change brings, all else alike.

    Examples:
        >>> from fluidkv.answers.price.brought import generated_attention
        >>> small = generated_attention("uneven", requests=3, prompt=2, length=6, seeds=2)
        >>> [found] = fk.price_tokens(small, 5, policies=["return", "return-pooled"]).pick.brings
        >>> found.what, found.without, found.with_it, round(found.mass.mean, 3)
        ('pooling', 'return', 'return-pooled', 0.028)
    """

    what: Annotated[str, Described("pooling or pricing")]
    without: Annotated[str, Described("name of the policy without it")]
    with_it: Annotated[str, Described("of the one with it", key="with")]
    mass: Annotated[Difference, Described("what the second keeps more")]


@dataclass(frozen=True)
class Pick(Answer):
    """What to take, of the policies that stay within the budget in every round and foresee nothing.

    Fields:
        brings: each pair of policies that differ in pooling or in pricing alone.
    """

    name: Annotated[str | None, Described("the one that keeps most; null: there is none")]
    close: Annotated[tuple[str, ...], Described("not told from it", dims="policy", kind="text")]
    behind: Annotated[Mapping[str, Difference], Described("what others keep less")]
    brings: Annotated[tuple[Brings, ...], Described("by pair of policies", dims="pair")]


@dataclass(frozen=True, eq=False)
class Kept(Answer):
    """What one policy kept; runs are of other requests each, the same for all policies.

    Fields:
        mean, worst, low: attention mass on the tokens that were there, of the rows computed after
            the prompt: the mean over runs of the mean over requests, the least of a request, the
            5th percentile of requests.
        output_error: of the attention output on random values, the norm of what is missing in parts
            of the norm of the whole; as `mean`.
        average: units used, the mean over rounds in which something is held.
        netted: the sum of what rounds use above and below the budget, if above 0.
        regret: mass below the best set of every round, a row of one token has 1; the best set may
            bring back what was evicted. `regret_held`: against the best schedule that brings
            nothing back; None: not computed.
        there: of the first run and the request shown, which keys were there after each round;
            `there_by_round` has their positions.
        error, used: of each run, `output_error` of each request and units kept after each round.

    Examples:
        >>> from fluidkv.answers.price.brought import generated_attention
        >>> small = generated_attention("uneven", requests=3, prompt=2, length=6, seeds=2)
        >>> [kept] = fk.price_tokens(small, 5, policies=["token-pd"]).kept
        >>> round(kept.mean, 2), kept.peak, kept.fits, kept.largest  # the netted price may use more
        (0.99, 9, False, 4)
        >>> kept.used[0]
        array([6, 9, 9, 5, 0])
    """

    name: Annotated[str, Described("the policy")]
    scope: Annotated[str, Described("whose tokens compete")]
    choice: Annotated[str, Described("how many stay")]
    foresees: Annotated[bool, Described("whether it is told weights to come")]
    mean: Annotated[
        float, Described("attention mass kept", key="mass.mean", kind="share", attribute=True)
    ]
    worst: Annotated[
        float, Described("of a request, least", key="mass.worst", kind="share", attribute=True)
    ]
    low: Annotated[float, Described("5th percentile", key="mass.p5", kind="share", attribute=True)]
    mass: Annotated[
        "Sequence[Float[np.ndarray, ' request']]",
        Described("by run and request", key="mass_of_requests", kind="share", lists=2),
    ]
    output_error: Annotated[float, Described("error of the output", kind="relative")]
    average: Annotated[float, Described("in a round", "token", key="used.average", attribute=True)]
    peak: Annotated[int, Described("in a round, most", "token", key="used.peak", attribute=True)]
    fits: Annotated[bool, Described("never above the budget", key="used.fits")]
    netted: Annotated[float, Described("above it, netted", "token", key="violation.netted")]
    positive: Annotated[float, Described("above it, summed", "token", key="violation.positive")]
    largest: Annotated[int, Described("above it, most", "token", key="violation.largest")]
    recomputed: Annotated[float, Described("tokens brought back", "token")]
    regret: Annotated[float, Described("below the best set of each round", kind="mass of rows")]
    regret_held: Annotated[
        float | None, Described("below what brings nothing back", kind="mass of rows")
    ]
    used_by_round: Annotated[tuple[int, ...], Described("of the first run", "token", lists=1)]
    price: Annotated[
        "Float[np.ndarray, ' round'] | None",
        Described("mu, of the first run", key="price_by_round", kind="price", lists=1),
    ]
    there_by_round: Annotated[
        "tuple[Int[np.ndarray, ' key'], ...]",
        Described("of the request shown", kind="positions", lists=2),
    ]
    there: "Bool[np.ndarray, 'round key']"
    policy: "EvictionPolicy"
    error: "Sequence[Float[np.ndarray, ' request']]"
    used: "tuple[Int[np.ndarray, ' round'], ...]"


@dataclass(frozen=True)
class Shown(Answer):
    """The request whose tokens `Kept.there` follows, of several streams the first."""

    request: Annotated[int, Described("of the first run", kind="from 0")]
    stream: Annotated[int, Described("of it", kind="from 0")]
    start: Annotated[int, Described("of its prompt, where `there_by_round` begins", kind="round")]
    prompt: Annotated[int, Described("of its prompt", "token")]
    length: Annotated[int, Described("at its end", "token")]


@dataclass(frozen=True, eq=False)
class PriceAnswer(Answer):
    """Policies on the same attention weights, under one budget.

    Fields:
        budget: units of memory, a token is `cost` of them.
        requests, streams, rounds: of the first run.
        rows: queries after the prompts, over all runs.
        pricing: of the policies with a price, budget reading aside.
        kept: of each policy, in the order asked for.

    Examples:
        >>> from fluidkv.answers.price.brought import generated_attention
        >>> small = generated_attention("uneven", requests=3, prompt=2, length=6, seeds=2)
        >>> answer = fk.price_tokens(small, 5, policies=["return-pooled", "token-pd"])
        >>> answer.demand, answer.budget, answer.pick.name
        (18, 5, 'return-pooled')
        >>> round(answer.of("token-pd").mean, 2), answer.of("token-pd").fits
        (0.99, False)
    """

    name: Annotated[str, Described("where the weights came from", key="source")]
    parameters: Annotated[
        Mapping[str, Any], Described("of the generator; empty of a file", key="generator")
    ]
    evidence: Annotated[str, Described("how it is known")]
    budget: Annotated[int, Described("that may be kept together", "token", attribute=True)]
    demand: Annotated[int, Described("held at most if nothing is evicted", "token")]
    kv_bytes: Annotated[int | None, Described("of one token", kind="bytes")]
    requests: Annotated[int, Described("of the first run")]
    streams: Annotated[int, Described("of keys")]
    rounds: Annotated[int, Described("of the first run")]
    runs: Annotated[int, Described("one for each seed")]
    attention: Annotated[
        Mapping[str, Any], Described("what weights are like, as `AttentionSummary`", kind="number")
    ]
    predictor: Annotated[str, Described("who says what tokens are still worth")]
    rule: Annotated[
        Mapping[str, Any],
        Described("of the policies with a price", key="pricing", kind="number or text"),
    ]
    delay: Annotated[int, Described("until a row is seen", kind="rounds")]
    comes_back: Annotated[bool, Described("whether an evicted token may")]
    confidence: Annotated[float, Described("of intervals", kind="share")]
    kept: Annotated[tuple[Kept, ...], Described("compared", dims="policy", key="policies")]
    pick: Annotated[Pick, Described("which to take")]
    shown: Annotated[Shown, Described("whom `there_by_round` follows")]
    unheld: Annotated[str | None, Described("why `regret_held` is not known", key="no_regret_held")]
    read: str
    rows: int
    summary: "AttentionSummary"
    pricing: "Pricing"

    def of(self, name: str) -> Kept | None:
        """What the policy of a name kept; None if it was not asked for."""
        return next((each for each in self.kept if each.name == name), None)
