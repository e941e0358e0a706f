"""Every eviction policy on the same attention weights, under one budget."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from itertools import chain
from typing import Any

import numpy as np

from fluidkv.answers.price.brought import Brought
from fluidkv.answers.price.forecasts import predictor_of
from fluidkv.answers.price.optimum import held_optimum
from fluidkv.answers.price.pick import picked
from fluidkv.answers.price.result import PriceAnswer, Shown
from fluidkv.answers.price.rule import at_most, tokens_of, usual_pricing
from fluidkv.answers.price.tally import Tally
from fluidkv.answers.served.paired import CONFIDENCE
from fluidkv.errors import InputError
from fluidkv.processes import cores
from fluidkv.runs.precision import random_key
from fluidkv.text import nearest
from fluidkv.tokenpd.attention.summary import describe
from fluidkv.tokenpd.attention.weights import Attention
from fluidkv.tokenpd.eviction.named import policies as named_policies
from fluidkv.tokenpd.eviction.policy import Choice, EvictionPolicy
from fluidkv.tokenpd.eviction.run import evict
from fluidkv.tokenpd.pricing import Pricing
from fluidkv.tokenpd.seen import Predictor


def kept_by_policies(
    attention: Attention | Brought | Iterable[Attention],
    budget: int | Fraction,
    *,
    policies: Iterable[str | EvictionPolicy] | None,
    predictor: str | Predictor,
    pricing: Pricing | Callable[[Attention], Pricing] | None,
    delay: int,
    comes_back: bool,
    kv_bytes: int | None,
    seed: int,
    on_progress: Callable[[int, int, str], None] | None,
) -> PriceAnswer:
    """Every policy on every run; arguments as of `price_tokens`."""
    given, name, parameters, read = _brought(attention)
    first = next(given, None)
    if first is None:
        raise InputError("attention", "none", "at least one run")
    budget = tokens_of(budget, first)
    known = predictor_of(predictor) if isinstance(predictor, str) else predictor
    rule = pricing(first) if callable(pricing) else pricing or usual_pricing(first)
    chosen = _chosen(policies, known, rule)
    tell = on_progress or (lambda *_: None)
    ahead = len(attention.runs) if isinstance(attention, Brought) else 1
    runs = _Runs(budget, delay, comes_back, seed, _shown(first), tell, ahead)
    tallies = [Tally(policy) for policy in chosen]
    for weights in chain([first], given):
        runs.add(weights, tallies)
    kept = tuple(tally.kept(budget, runs.held) for tally in tallies)
    rule_said = {
        "eta": rule.step,
        "start": rule.start,
        "objective": rule.objective.value,
        "risk_aversion": rule.risk_aversion,
        "penalty": rule.penalty,
    }
    return PriceAnswer(
        name=name,
        parameters=dict(parameters),
        evidence="sampled",
        budget=budget,
        demand=at_most(first)[1],
        kv_bytes=kv_bytes,
        requests=len(np.unique(first.request)),
        streams=len(first.request),
        rounds=first.rounds,
        runs=runs.done,
        attention=asdict(describe(first)),
        predictor=predictor if isinstance(predictor, str) else type(predictor).__name__,
        rule=rule_said,
        delay=delay,
        comes_back=comes_back,
        confidence=CONFIDENCE,
        kept=kept,
        pick=picked(
            chosen,
            {each.name: each.mass for each in kept},
            {each.name: each.fits and not each.foresees for each in kept},
        ),
        shown=runs.shown,
        unheld=runs.unheld or None,
        read=read,
        rows=runs.rows,
        summary=describe(first),
        pricing=rule,
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
