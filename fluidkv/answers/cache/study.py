"""Hit rate by cache size, for every policy beside OPT, on one workload.

Requests come one after the other; each finds the longest cached beginning of its prompt, and then
all of it is cached. No engine runs and nothing is locked but the path of the request itself: what
an engine's own cache makes of the same prompts is `fluidkv route --workers 1`.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from math import isnan
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from fluidkv.answers.cache.sizes import sizes_between
from fluidkv.answers.prompted import Prompted
from fluidkv.errors import InputError
from fluidkv.labels import dataset
from fluidkv.prefix.on_trie.run import run_cache
from fluidkv.prefix.on_trie.trie import Trie, trie_of
from fluidkv.prefix.policies import Granularity, Policy
from fluidkv.record import Record
from fluidkv.runs.checks import count, instance

if TYPE_CHECKING:
    import xarray as xr

POLICIES = tuple(p for p in Policy if p not in (Policy.PRIORITY, Policy.RELEASED))
"""Those that differ where requests come one by one and all have one priority."""

CONFIDENCE = 0.95
"""Of the intervals over seeds."""


@dataclass(frozen=True, eq=False)
class Curve(Record):
    """What one policy finds, by cache size.

    Fields:
        policy: what goes when the cache is full.
        tokens: (capacity, seed), share of prompt tokens found; one seed where nothing is drawn.
        units: (capacity, seed), share of whole units (pages, blocks) of prompts found.

    Examples:
        >>> from fluidkv.prefix import Policy
        >>> loop = fk.prompted_generator("loop", parameters={"capacity": 6})
        >>> two = [Policy.LRU, Policy.OPT]
        >>> opt, lru = fk.cache_study(loop, [6, 7], policies=two, answers=False).curves
        >>> opt.hit_rate.round(2), lru.hit_rate.round(2), lru.margin
        (array([0.91, 0.99]), array([0.66, 0.99]), array([0., 0.]))
    """

    policy: Policy
    tokens: Float[np.ndarray, "capacity seed"]
    units: Float[np.ndarray, "capacity seed"]

    @property
    def hit_rate(self) -> Float[np.ndarray, " capacity"]:
        """Share of prompt tokens found, the mean over seeds."""
        return self.tokens.mean(axis=1)

    @property
    def margin(self) -> Float[np.ndarray, " capacity"]:
        """Half of the interval that holds the mean over all seeds, 95 % (Student).

        0 of a policy that draws nothing; NaN of one seed of a policy that draws.
        """
        return half_width(self.tokens) if self.policy.draws else np.zeros(len(self.tokens))


@dataclass(frozen=True, eq=False)
class CacheAnswer(Record):
    """What `fluidkv cache` reports.

    Fields:
        prompted: requests and prompts, and where they came from.
        granularity: what is evicted at once; OPT evicts single units also where others evict nodes.
            It loads the fewest units, prompts and answers. So none finds more units of prompts, but
            where an answer comes again behind the same prompt: OPT keeps it, and no prompt has it.
        answers: whether answers are cached behind their prompts.
        capacities: tokens, ascending.
        ceiling: share of prompt tokens that an infinite cache finds; `ceiling_units`: of units.
        whole: tokens of a cache that never evicts.
        longest: tokens of the smallest cache that holds every request.
        curves: of the policies, in the order asked for; OPT is first if it was asked for.

    Examples:
        >>> blocks = {"prefix_blocks": ((0,), (0, 1), (0, 2), (0,)), "prefix_block_size": 4}
        >>> trace = fk.Trace((4, 8, 8, 4), (1, 1, 1, 1), (0.0, 1.0, 2.0, 3.0), **blocks)
        >>> found = fk.cache_study(fk.prompted_trace(trace))
        >>> found.longest, found.whole, found.ceiling  # an infinite cache finds 12 of 24 tokens
        (8, 12, 0.5)
        >>> found.capacities, dict(found.to_xarray().hit_rate.sizes)
        ((8, 9, 10, 11, 12), {'policy': 9, 'capacity': 5})
    """

    prompted: Prompted
    granularity: Granularity
    answers: bool
    capacities: tuple[int, ...]
    ceiling: float
    ceiling_units: float
    whole: int
    longest: int
    curves: tuple[Curve, ...]

    def curve(self, policy: Policy) -> Curve | None:
        """That of a policy; None if it was not asked for."""
        return next((curve for curve in self.curves if curve.policy is policy), None)

    def to_xarray(self) -> "xr.Dataset":
        """Shares found [policy, capacity]: `hit_rate` of tokens, `hit_rate_units`, `margin`."""
        dims = ("policy", "capacity")
        found = {
            "hit_rate": [curve.hit_rate for curve in self.curves],
            "hit_rate_units": [curve.units.mean(axis=1) for curve in self.curves],
            "margin": [curve.margin for curve in self.curves],
        }
        titles = {
            "hit_rate": "share of prompt tokens found, mean over seeds",
            "hit_rate_units": "share of whole units of prompts found, mean over seeds",
            "margin": "half of the interval around hit_rate, 95 %",
        }
        names = [curve.policy.value for curve in self.curves]
        return dataset(
            {name: (dims, np.stack(found[name]), "1", title) for name, title in titles.items()},
            {
                "policy": ("policy", names, "1", "what goes when the cache is full"),
                "capacity": ("capacity", list(self.capacities), "token", "size of the cache"),
            },
            ceiling=self.ceiling,
            page=self.granularity.page,
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; docs/json.md lists the keys."""
        granularity = self.granularity
        return {
            "source": self.prompted.name,
            "generator": self.prompted.parameters,
            "requests": len(self.prompted.requests),
            "prompt_tokens": int(self.prompted.requests.input_length.sum()),
            "page": granularity.page,
            "nodes": granularity.nodes,
            "answers_cached": self.answers,
            "ceiling": self.ceiling,
            "ceiling_units": self.ceiling_units,
            "longest_request": self.longest,
            "never_evicts": self.whole,
            "capacities": list(self.capacities),
            "confidence": CONFIDENCE,
            "policies": [
                {
                    "name": curve.policy.value,
                    "seeds": curve.tokens.shape[1],
                    "hit_rate": curve.hit_rate.tolist(),
                    "margin": [None if isnan(each) else each for each in curve.margin.tolist()],
                    "hit_rate_units": curve.units.mean(axis=1).tolist(),
                }
                for curve in self.curves
            ],
        }


def cache_study(
    prompted: Prompted,
    capacities: Sequence[int] | None = None,
    *,
    policies: Iterable[Policy] | None = None,
    granularity: Granularity | None = None,
    answers: bool | None = None,
    seeds: int = 5,
    on_progress: Callable[[int, int, str], None] | None = None,
) -> CacheAnswer:
    """Every policy at every size, on the same requests.

    Args:
        prompted: requests that say what their prompts share.
        capacities: tokens; None: ten sizes from the longest request to a cache that never evicts.
        policies: None: all that differ here (`POLICIES`).
        granularity: None: the blocks that the prompts are known by, or single tokens.
        answers: whether answers are cached behind their prompts; None: unless the prompts are known
            by blocks alone, which say nothing of answers.
        seeds: runs of a policy that draws.
        on_progress: told before each policy how many are done, of how many, and its name.

    Raises:
        InputError: a request longer than a cache, fewer than 1 seed, no capacity or policy, answers
            where blocks are counted, pages that no prompt fills, values of other types.

    Examples:
        >>> from fluidkv.prefix import Policy
        >>> said = {"groups": 6, "queries": 8, "lengths": (10, 20)}
        >>> requests = fk.prompted_generator("gsp", parameters=said)
        >>> found = fk.cache_study(requests, [40, 90, 200], policies=[Policy.LRU])
        >>> found.curve(Policy.LRU).hit_rate.round(2), round(found.ceiling, 2)
        (array([0.16, 0.29, 0.44]), 0.44)
    """
    chosen = _granularity(prompted, granularity)
    counted = chosen.last == "counted"
    if answers and counted:
        raise InputError("answers", answers, "False: blocks of prompts say nothing of answers")
    keeps = not counted and prompted.block is None if answers is None else answers
    seeds = count("seeds", seeds)
    trie = trie_of(prompted.prompts, chosen, answers=keeps)
    single = replace(trie, granularity=replace(chosen, nodes=False))
    longest, whole = trie.longest * chosen.page, trie.total * chosen.page
    if not any(trie.asked_units):
        raise InputError("page", chosen.page, "at most the longest prompt: none fills a page")
    sizes = _capacities(capacities, longest, whole)
    order = _policies(policies)
    ceiling = run_cache(single, whole, Policy.LRU)
    curves = []
    for policy in sorted(order, key=lambda each: each is not Policy.OPT):
        if on_progress is not None:
            on_progress(len(curves), len(order), f"policies; now {policy.value}")
        played = single if policy is Policy.OPT else trie
        curves.append(_curve(played, sizes, policy, range(seeds if policy.draws else 1)))
    return CacheAnswer(
        prompted,
        chosen,
        keeps,
        sizes,
        ceiling.hit_rate(),
        ceiling.hit_rate("units"),
        whole,
        longest,
        tuple(curves),
    )


def half_width(values: Float[np.ndarray, "... seed"]) -> Float[np.ndarray, "..."]:
    """Half of the interval of the mean over the last axis, 95 % (Student); NaN of one value."""
    from scipy.stats import t

    seeds = values.shape[-1]
    if seeds == 1:
        return np.full(values.shape[:-1], np.nan)
    quantile = float(t.ppf((1 + CONFIDENCE) / 2, seeds - 1))
    return quantile * values.std(axis=-1, ddof=1) / np.sqrt(seeds)


def _curve(trie: Trie, sizes: Sequence[int], policy: Policy, seeds: Sequence[int]) -> Curve:
    runs = [[run_cache(trie, size, policy, seed=seed) for seed in seeds] for size in sizes]
    return Curve(
        policy,
        np.array([[run.hit_rate() for run in row] for row in runs]),
        np.array([[run.hit_rate("units") for run in row] for row in runs]),
    )


def _granularity(prompted: Prompted, given: Granularity | None) -> Granularity:
    if given is not None:
        return instance("granularity", given, Granularity, "a fluidkv.prefix.Granularity")
    if prompted.block is None:
        return Granularity()
    return Granularity(prompted.block, "counted")


def _policies(given: Iterable[Policy] | None) -> tuple[Policy, ...]:
    if given is None:
        return POLICIES
    found = tuple(dict.fromkeys(given))
    for each in found:
        instance("policies", each, Policy, "members of fluidkv.prefix.Policy")
    if not found:
        raise InputError("policies", found, "at least one")
    return found


def _capacities(given: Sequence[int] | None, longest: int, whole: int) -> tuple[int, ...]:
    if given is None:
        return sizes_between(longest, whole)
    found = sorted({count("capacity", size) for size in given})
    if not found:
        raise InputError("capacities", given, "at least one size in tokens")
    if found[0] < longest:
        raise InputError("capacity", found[0], f"at least {longest} tokens: the longest request")
    return tuple(found)
