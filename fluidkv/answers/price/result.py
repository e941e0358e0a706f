"""What `fluidkv price` reports."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from fluidkv.answers.price.pick import Pick
from fluidkv.answers.price.spread import Masses
from fluidkv.answers.served.paired import CONFIDENCE
from fluidkv.plain import finite
from fluidkv.record import Record
from fluidkv.tokenpd.attention.summary import AttentionSummary
from fluidkv.tokenpd.eviction.policy import EvictionPolicy
from fluidkv.tokenpd.pricing import Pricing


@dataclass(frozen=True, eq=False)
class Kept(Record):
    """What one policy kept; runs are of other requests each, the same for all policies.

    Fields:
        policy: the rule, by its name in tables.
        foresees: whether it was told weights to come, as no engine can be.
        mass: of each run and request, attention mass on the tokens that were there, the mean over
            the rows computed after the prompt.
        error: the same of the attention output on random values: the norm of what is missing, in
            parts of the norm of the whole.
        used: of each run, units of memory kept after each round.
        budget: units.
        recomputed: of each run, tokens brought back after they had been evicted.
        regret: of each run, mass below the best set of every round, a row of one token has 1; the
            best set may bring back what was evicted.
        regret_held: the same against the best schedule that brings nothing back; None: not
            computed.
        price: of the first run, mu in each round; None: the policy has none.
        there: of the first run and the request shown, which keys were there after each of its
            rounds.

    Examples:
        >>> from fluidkv.answers import generated_attention
        >>> small = generated_attention("uneven", requests=3, prompt=2, length=6, seeds=2)
        >>> [kept] = fk.price_tokens(small, 5, policies=["token-pd"]).kept
        >>> round(kept.mean, 2), kept.peak, kept.fits, kept.largest  # the netted price may use more
        (0.99, 9, False, 4)
        >>> kept.used[0]
        array([6, 9, 9, 5, 0])
    """

    policy: EvictionPolicy
    foresees: bool
    mass: Masses
    error: Masses
    used: tuple[Int[np.ndarray, " round"], ...]
    budget: int
    recomputed: Int[np.ndarray, " run"]
    regret: Float[np.ndarray, " run"]
    regret_held: Float[np.ndarray, " run"] | None
    price: Float[np.ndarray, " round"] | None
    there: Bool[np.ndarray, "round key"]

    @property
    def name(self) -> str:
        """As users write it."""
        return self.policy.name

    @property
    def mean(self) -> float:
        """Mass kept, the mean over runs of the mean over requests."""
        return float(np.mean([each.mean() for each in self.mass]))

    @property
    def worst(self) -> float:
        """The least mass that a request keeps."""
        return float(min(each.min() for each in self.mass))

    @property
    def low(self) -> float:
        """The 5th percentile of requests, of all runs together."""
        return float(np.quantile(np.concatenate(self.mass), 0.05))

    @property
    def output_error(self) -> float:
        """As `mean`."""
        return float(np.mean([each.mean() for each in self.error]))

    @property
    def average(self) -> float:
        """Units used, the mean over rounds in which something is held."""
        return float(np.mean([_held(each).mean() for each in self.used]))

    @property
    def peak(self) -> int:
        """The most units used in a round of any run."""
        return int(max(each.max() for each in self.used))

    @property
    def fits(self) -> bool:
        """Whether no round uses more than the budget."""
        return self.peak <= self.budget

    @property
    def netted(self) -> float:
        """Violation, netted: the sum of what rounds use above and below the budget, if above 0;
        the mean over runs."""
        return float(np.mean([max(0, int(each.sum())) for each in self._over]))

    @property
    def positive(self) -> float:
        """What rounds use above the budget, summed; the mean over runs."""
        return float(np.mean([np.maximum(each, 0).sum() for each in self._over]))

    @property
    def largest(self) -> int:
        """The most that a round uses above the budget; 0 if none does."""
        return max(0, self.peak - self.budget)

    @property
    def _over(self) -> list[Int[np.ndarray, " round"]]:
        return [each - self.budget for each in self.used]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; docs/json.md lists the keys."""
        held = self.regret_held
        return {
            "name": self.name,
            "scope": self.policy.scope.value,
            "choice": self.policy.choice.value,
            "foresees": self.foresees,
            "mass": {"mean": self.mean, "worst": self.worst, "p5": self.low},
            "mass_of_requests": [each.tolist() for each in self.mass],
            "output_error": self.output_error,
            "used": {"average": self.average, "peak": self.peak, "fits": self.fits},
            "violation": {
                "netted": self.netted,
                "positive": self.positive,
                "largest": self.largest,
            },
            "recomputed": float(self.recomputed.mean()),
            "regret": float(self.regret.mean()),
            "regret_held": None if held is None else float(held.mean()),
            "used_by_round": self.used[0].tolist(),
            "price_by_round": None if self.price is None else finite(self.price.tolist()),
            "there_by_round": [np.flatnonzero(row).tolist() for row in self.there],
        }


@dataclass(frozen=True)
class Shown(Record):
    """The request whose tokens `Kept.there` follows.

    Fields:
        request, stream: of the first run; of several streams the first.
        start: round of its prompt; its rows of `Kept.there` begin there.
        prompt, length: tokens, as in `Attention`.
    """

    request: int
    stream: int
    start: int
    prompt: int
    length: int


@dataclass(frozen=True, eq=False)
class PriceAnswer(Record):
    """Policies on the same attention weights, under one budget.

    Fields:
        name: where the weights came from.
        read: what a reader found, in words; "" of a generator.
        parameters: of the generator; empty of a file.
        budget: units of memory, a token is `cost` of them.
        requests, streams, rounds: of the first run.
        rows: queries after the prompts, over all runs.
        demand: the most that all running requests hold in a round if nothing is evicted, in units.
        summary: what the weights of the first run are like.
        pricing: of the policies with a price, budget reading aside.
        predictor: who says what tokens are still worth, as users write it.
        delay, comes_back: rounds until a row is seen; whether an evicted token may come back.
        kept: of each policy, in the order asked for.
        pick: which keeps most, and what pooling and pricing bring.
        shown: whose tokens are followed.
        unheld: why there is no regret against the best that brings nothing back; "": there is.
        kv_bytes: bytes of a token; None: not said.

    Examples:
        >>> from fluidkv.answers import generated_attention
        >>> small = generated_attention("uneven", requests=3, prompt=2, length=6, seeds=2)
        >>> found = fk.price_tokens(small, 5, policies=["return-pooled", "token-pd"])
        >>> found.demand, found.budget, found.pick.name
        (18, 5, 'return-pooled')
        >>> round(found.of("token-pd").mean, 2), found.of("token-pd").fits
        (0.99, False)
    """

    name: str
    read: str
    parameters: dict[str, Any]
    budget: int
    requests: int
    streams: int
    rounds: int
    rows: int
    demand: int
    summary: AttentionSummary
    pricing: Pricing
    predictor: str
    delay: int
    comes_back: bool
    kept: tuple[Kept, ...]
    pick: Pick
    shown: Shown
    unheld: str
    kv_bytes: int | None = None

    @property
    def runs(self) -> int:
        """One for each seed."""
        return len(self.kept[0].mass)

    def of(self, name: str) -> Kept | None:
        """What the policy of a name kept; None if it was not asked for."""
        return next((each for each in self.kept if each.name == name), None)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; docs/json.md lists the keys."""
        pricing = self.pricing
        return {
            "source": self.name,
            "generator": self.parameters,
            "evidence": "sampled",
            "budget": self.budget,
            "demand": self.demand,
            "kv_bytes": self.kv_bytes,
            "requests": self.requests,
            "streams": self.streams,
            "rounds": self.rounds,
            "runs": self.runs,
            "attention": finite(asdict(self.summary)),
            "predictor": self.predictor,
            "pricing": {
                "eta": pricing.step,
                "start": pricing.start,
                "objective": pricing.objective.value,
                "risk_aversion": pricing.risk_aversion,
                "penalty": pricing.penalty,
            },
            "delay": self.delay,
            "comes_back": self.comes_back,
            "confidence": CONFIDENCE,
            "policies": [each.to_dict() for each in self.kept],
            "pick": self.pick.to_dict(),
            "shown": asdict(self.shown),
            "no_regret_held": self.unheld or None,
        }


def _held(used: Int[np.ndarray, " round"]) -> Int[np.ndarray, " round"]:
    return used[used > 0] if (used > 0).any() else used
