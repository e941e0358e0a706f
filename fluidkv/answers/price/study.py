"""Every eviction policy on the same attention weights, under one budget."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np

from fluidkv.answers.price.brought import Brought
from fluidkv.answers.price.forecasts import predictor_of
from fluidkv.answers.price.optimum import held_optimum
from fluidkv.answers.price.pick import picked
from fluidkv.answers.price.result import PriceAnswer, Shown
from fluidkv.answers.price.rule import at_most, usual_pricing
from fluidkv.answers.price.tally import Tally
from fluidkv.errors import InputError
from fluidkv.processes import cores
from fluidkv.runs.checks import count
from fluidkv.runs.precision import random_key
from fluidkv.text import nearest
from fluidkv.tokenpd.attention.summary import describe
from fluidkv.tokenpd.attention.weights import Attention
from fluidkv.tokenpd.eviction.named import policies as named_policies
from fluidkv.tokenpd.eviction.policy import Choice, EvictionPolicy
from fluidkv.tokenpd.eviction.run import evict
from fluidkv.tokenpd.pricing import Pricing
from fluidkv.tokenpd.seen import Predictor

PREDICTOR = "average"
"""Who predicts returns where nobody is named: an engine can do it, and nothing is trained."""


def price_tokens(
    attention: Attention | Brought | Iterable[Attention],
    budget: int,
    *,
    policies: Iterable[str | EvictionPolicy] | None = None,
    predictor: str | Predictor = PREDICTOR,
    pricing: Pricing | None = None,
    delay: int = 0,
    comes_back: bool = False,
    kv_bytes: int | None = None,
    seed: int = 0,
    on_progress: Callable[[int, int, str], None] | None = None,
) -> PriceAnswer:
    """What each policy keeps, what the price does, and how much pooling and pricing bring.

    Args:
        attention: weights; or those of several runs, with other requests each, as of
            `generated_attention`.
        budget: tokens that all running streams may keep together after a round.
        policies: names out of `fluidkv.tokenpd.policies`, or policies; None: all but "full".
        predictor: of returns, for the policies that look at them; by name (`predictor_of`) or one.
        pricing: of the policies with a price, which set its budget reading; None: `usual_pricing`
            of the first run.
        delay: rounds until a row is seen by who decides.
        comes_back: whether an evicted token may come back.
        kv_bytes: bytes of the KV of a token of a stream, for who reads the answer.
        seed: of what policies and predictors draw, in the first run; the others follow.
        on_progress: told how many runs are done, of how many as far as is known, and what.

    Raises:
        InputError: a budget below one token; an unknown name; a policy named twice or none; no
            attention, or no row after a prompt; what `evict` refuses.

    Examples:
        >>> from fluidkv.answers import generated_attention
        >>> small = generated_attention("uneven", requests=3, prompt=2, length=6, seeds=2)
        >>> found = fk.price_tokens(small, 5, policies=["return", "token-pd-hard"])
        >>> {each.name: round(each.mean, 2) for each in found.kept}
        {'return': 0.91, 'token-pd-hard': 0.93}
    """
    count("budget", budget)
    given, name, parameters, read = _brought(attention)
    first = next(given, None)
    if first is None:
        raise InputError("attention", "none", "at least one run")
    known = predictor_of(predictor) if isinstance(predictor, str) else predictor
    rule = pricing or usual_pricing(first)
    chosen = _chosen(policies, known, rule)
    tell = on_progress or (lambda *_: None)
    ahead = len(attention.runs) if isinstance(attention, Brought) else 1
    runs = _Runs(budget, delay, comes_back, seed, _shown(first), tell, ahead)
    tallies = [Tally(policy) for policy in chosen]
    for weights in chain([first], given):
        runs.add(weights, tallies)
    kept = tuple(tally.kept(budget, runs.held) for tally in tallies)
    return PriceAnswer(
        name=name,
        read=read,
        parameters=dict(parameters),
        budget=budget,
        requests=len(np.unique(first.request)),
        streams=len(first.request),
        rounds=first.rounds,
        rows=runs.rows,
        demand=at_most(first)[1],
        summary=describe(first),
        pricing=rule,
        predictor=predictor if isinstance(predictor, str) else type(predictor).__name__,
        delay=delay,
        comes_back=comes_back,
        kept=kept,
        pick=picked(
            chosen,
            {each.name: each.mass for each in kept},
            {each.name: each.fits and not each.foresees for each in kept},
        ),
        shown=runs.shown,
        unheld=runs.unheld,
        kv_bytes=kv_bytes,
    )


@dataclass
class _Runs:
    """Runs that are done, one set of requests after the other."""

    budget: int
    delay: int
    comes_back: bool
    seed: int
    shown: Shown
    tell: Callable[[int, int, str], None]
    ahead: int
    told: int = 0
    done: int = 0
    rows: int = 0
    optima: list[float | str] = field(default_factory=list)

    def add(self, weights: Attention, tallies: Sequence[Tally]) -> None:
        """All policies on these weights."""
        new = weights.length - weights.prompt
        if not new.any():
            raise InputError("length", int(weights.length.max()), "more than the prompt's tokens")
        key, place = random_key(self.seed + self.done), self.done + 1

        each = len(tallies) + 1  # and the best of all

        def say(what: str) -> None:
            self.tell(self.told, each * max(self.ahead, place), f"done; now {what}")
            self.told += 1

        def one(tally: Tally) -> None:
            say(f"{tally.policy.name}, run {place}")
            options: dict[str, Any] = {"delay": self.delay, "comes_back": self.comes_back}
            # One program for all runs: recorded or not would be two, and compiling is what takes.
            run = evict(weights, self.budget, tally.policy, key=key, record=True, **options)
            tally.add(run, weights, self.shown)

        def in_turn(alike: list[Tally]) -> None:
            for tally in alike:
                one(tally)

        with ThreadPoolExecutor(cores()) as threads:
            best = threads.submit(held_optimum, weights, self.budget)
            list(threads.map(in_turn, _alike(tallies)))
            say(f"the best that brings nothing back, run {place}")
            self.optima.append(best.result())
        self.done += 1
        self.rows += int(new.sum())

    @property
    def unheld(self) -> str:
        """Why the best that brings nothing back is not known; "" where it is."""
        return next((each for each in self.optima if isinstance(each, str)), "")

    @property
    def held(self) -> list[float] | None:
        """What it keeps, of each run."""
        return None if self.unheld else [float(each) for each in self.optima]


def _alike(tallies: Iterable[Tally]) -> list[list[Tally]]:
    """Policies by kind of scorer: a thread that takes one after the other compiles less."""
    found: dict[type, list[Tally]] = {}
    for tally in tallies:
        found.setdefault(type(tally.policy.score), []).append(tally)
    return sorted(found.values(), key=len, reverse=True)


def _brought(
    given: Attention | Brought | Iterable[Attention],
) -> tuple[Iterator[Attention], str, Mapping[str, Any], str]:
    """Runs in turn; a name, the parameters of a generator, and what a reader found."""
    if isinstance(given, Attention):
        return iter([given]), "attention", {}, ""
    if isinstance(given, Brought):
        return iter(given), given.name, given.parameters, given.read
    return iter(given), "attention", {}, ""


def _chosen(
    asked: Iterable[str | EvictionPolicy] | None, predictor: Predictor, pricing: Pricing
) -> tuple[EvictionPolicy, ...]:
    known = named_policies(predictor, pricing)
    usual = [name for name, each in known.items() if each.choice is not Choice.ALL]
    found = []
    for each in usual if asked is None else asked:
        if isinstance(each, str) and each not in known:
            raise InputError("policy", each, nearest(each, known))
        found.append(known[each] if isinstance(each, str) else each)
    names = [each.name for each in found]
    twice = [name for name in names if names.count(name) > 1]
    if twice or not found:
        raise InputError("policy", twice[0] if twice else "none", "at least one, each once")
    return tuple(found)


def _shown(attention: Attention) -> Shown:
    """The first stream of the request that lives longest."""
    at = int((attention.length - attention.prompt).argmax())
    return Shown(
        request=int(attention.request[at]),
        stream=at,
        start=int(attention.start[at]),
        prompt=int(attention.prompt[at]),
        length=int(attention.length[at]),
    )
