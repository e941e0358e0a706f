"""Hit rate against cache size, policy by policy, beside what no cache can exceed."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fluidkv.errors import InputError
from fluidkv.labels import dataset
from fluidkv.prefix.on_trie.cache import capacity_units
from fluidkv.prefix.on_trie.run import Measure, checked_measure, places, run_cache
from fluidkv.prefix.on_trie.stacks import every_size
from fluidkv.prefix.on_trie.trie import Trie
from fluidkv.prefix.policies import Policy
from fluidkv.prefix.radix.values import POLICIES
from fluidkv.processes import cores, shared_out
from fluidkv.record import Record
from fluidkv.runs.checks import count

if TYPE_CHECKING:
    import xarray as xr


@dataclass(frozen=True, eq=False)
class HitCurves(Record):
    """Hit rates at some cache sizes.

    Fields:
        capacities: (capacity,), tokens, rising.
        rates: policy -> (seed, capacity), shares of 1; one row where nothing is drawn.
        ceiling: of a cache that never evicts.
        of: what the shares are of.

    Examples:
        >>> from fluidkv.prefix import Policy, loop, trie_of
        >>> from fluidkv.prefix.on_trie.curves import hit_curves
        >>> curves = hit_curves(trie_of(loop(0)[1]), [6, 7], [Policy.LRU])
        >>> curves.mean(Policy.LRU).round(2).tolist(), round(curves.ceiling, 2)
        ([0.66, 0.99], 0.99)
    """

    capacities: np.ndarray
    rates: Mapping[Policy, np.ndarray]
    ceiling: float
    of: Measure

    def to_xarray(self) -> "xr.Dataset":
        """`hit_rate` [policy, capacity], the mean over seeds."""
        policies = list(self.rates)
        rates = np.stack([self.mean(policy) for policy in policies])
        title = f"share of {self.of} of prompts found, mean over seeds"
        names = [policy.value for policy in policies]
        return dataset(
            {"hit_rate": (("policy", "capacity"), rates, "1", title)},
            {
                "policy": ("policy", names, "1", "what goes when the cache is full"),
                "capacity": ("capacity", self.capacities, "token", "size of the cache"),
            },
            ceiling=self.ceiling,
        )

    def mean(self, policy: Policy) -> np.ndarray:
        """(capacity,): over seeds."""
        return self.rates[policy].mean(axis=0)


def hit_curves(
    trie: Trie,
    capacities: Iterable[int],
    policies: Iterable[Policy] | None = None,
    *,
    of: Measure = "tokens",
    seeds: int = 1,
    order: Iterable[int] | None = None,
    priorities: Sequence[int] | None = None,
    workers: int = 1,
    on_progress: Callable[[int, int], None] | None = None,
) -> HitCurves:
    """A cache of each size, empty at first, asked by all requests.

    Args:
        trie: from `trie_of`.
        capacities: tokens, at least the longest request.
        policies: None: all that there are for this granularity.
        of: what a hit rate is a share of.
        seeds: runs of policies that draw.
        order, priorities: as in `run_cache`.
        workers: processes.
        on_progress: told how many policies (and seeds) are done, of how many.

    Raises:
        InputError: as `run_cache`; no capacity, no policy.

    Examples:
        >>> from fluidkv.prefix import Policy, loop, trie_of
        >>> from fluidkv.prefix.on_trie.curves import hit_curves
        >>> curves = hit_curves(trie_of(loop(0)[1]), [4, 5, 6, 7], [Policy.LRU, Policy.OPT])
        >>> {policy.name: rates[0].round(2).tolist() for policy, rates in curves.rates.items()}
        {'LRU': [0.66, 0.66, 0.66, 0.99], 'OPT': [0.74, 0.82, 0.91, 0.99]}
    """
    sizes = sorted({count("capacity", capacity) for capacity in capacities})
    every = (*POLICIES, Policy.RLT, Policy.RANDOM) if trie.granularity.nodes else tuple(Policy)
    chosen = tuple(dict.fromkeys(every if policies is None else policies))
    if not sizes or not chosen:
        raise InputError("capacities", sizes, "at least one, and at least one policy")
    capacity_units(trie, sizes[0])
    checked_measure(of)
    asked = None if order is None else tuple(places(order, len(trie)))
    rows = [
        _Row(trie, policy, seed, tuple(sizes), of, asked, priorities)
        for policy in chosen
        for seed in range(count("seeds", seeds) if policy.draws else 1)
    ]
    found: dict[Policy, list[np.ndarray]] = {policy: [] for policy in chosen}
    rates: list[np.ndarray | None] = [None] * len(rows)
    done = 0
    for place, rate in shared_out(_row, rows, min(workers, cores()), argument="workers"):
        rates[place], done = rate, done + 1
        if on_progress is not None:
            on_progress(done, len(rows))
    for row, rate in zip(rows, rates, strict=True):
        assert rate is not None
        found[row.policy].append(rate)
    return HitCurves(
        np.array(sizes, np.int64),
        {policy: np.stack(each) for policy, each in found.items()},
        ceiling(trie, of=of, order=asked),
        of,
    )


def ceiling(trie: Trie, *, of: Measure = "tokens", order: Sequence[int] | None = None) -> float:
    """The hit rate of a cache that never evicts; no policy has a higher one.

    Examples:
        >>> from fluidkv.prefix import loop, trie_of
        >>> from fluidkv.prefix.on_trie.curves import ceiling
        >>> trie = trie_of(loop(0, turns=2)[1])
        >>> sum(trie.asked_tokens), trie.total, ceiling(trie) == (30 - 7) / 30
        (30, 7, True)
    """
    checked_measure(of)
    seen = every_size(trie, Policy.LRU, order=order)
    units, tokens = seen.hits(max(trie.total, trie.longest))
    return _share(units, seen.asked_units) if of == "units" else _share(tokens, seen.asked_tokens)


def some_capacities(trie: Trie, number: int = 10) -> tuple[int, ...]:
    """Tokens, in whole pages: from the longest request to all prompts, each by one factor more.

    Fewer than asked for where the two are near each other.

    Examples:
        >>> from fluidkv.prefix import loop, trie_of
        >>> from fluidkv.prefix.on_trie.curves import some_capacities
        >>> some_capacities(trie_of(loop(0, capacity=100, length=10, turns=2)[1]), 3)
        (10, 32, 101)
    """
    number, page = count("number", number, least=2), trie.granularity.page
    units = np.geomspace(max(trie.longest, 1), max(trie.total, 1), number).round().astype(int)
    return tuple(sorted({int(each) * page for each in units}))


class _Row(NamedTuple):
    """One policy, one seed: a run at each size."""

    trie: Trie
    policy: Policy
    seed: int
    capacities: tuple[int, ...]
    of: Measure
    order: tuple[int, ...] | None
    priorities: Sequence[int] | None


def _row(row: _Row) -> np.ndarray:
    trie, policy = row.trie, row.policy
    if policy in (Policy.LRU, Policy.RELEASED) and not trie.granularity.nodes:
        seen = every_size(trie, policy, order=row.order)
        page = trie.granularity.page
        hits = [seen.hits(capacity // page) for capacity in row.capacities]
        asked, column = (seen.asked_units, 0) if row.of == "units" else (seen.asked_tokens, 1)
        return np.array([_share(each[column], asked) for each in hits])
    return np.array(
        [
            run_cache(
                trie,
                capacity,
                policy,
                seed=row.seed,
                order=row.order,
                priorities=row.priorities,
            ).hit_rate(row.of)
            for capacity in row.capacities
        ]
    )


def _share(hits: int, asked: int) -> float:
    if asked == 0:
        raise InputError("of", "units", "'tokens', where no prompt fills a page")
    return hits / asked
