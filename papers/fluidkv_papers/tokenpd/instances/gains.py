"""What pooling and pricing bring, from the runs on record: paired differences over seeds.

A price has a step; of those tried, each comparison takes the one whose mean is best in hindsight,
which favours the price. So does reading the pool's mass at another use off the chord between two
budgets, since mass is concave in the budget but for noise.

    python -m fluidkv_papers.tokenpd.instances.gains

prints tables, two of which docs/price.md shows.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from fluidkv_papers.tokenpd.instances import compared as bench

HARD, NETTED, HEAP = "token-pd-hard", "token-pd", "token-pd-heap"
UNIFORM, POOLED = "return", "return-pooled"
H2O, WINDOWS = "h2o", ("fifo", "streaming-llm")
"""What a price is held against, in uniform budgets; FIFO is a window without sinks."""


class Place(NamedTuple):
    """A generator under a load."""

    generator: str
    at_once: int
    share: float


class Interval(NamedTuple):
    """A mean over seeds, and half of its 95 % confidence interval (Student's t)."""

    mean: float
    half: float

    @property
    def above(self) -> bool:
        """Whether all of it is above 0."""
        return self.mean > self.half

    @property
    def below(self) -> bool:
        """Whether all of it is below 0."""
        return self.mean < -self.half

    def __str__(self) -> str:
        """In points of mass."""
        return f"{100 * self.mean:+.1f} ± {100 * self.half:.1f}".replace("-", "−")


def interval(values: np.ndarray) -> Interval:
    """Of differences, one for each seed."""
    from scipy.stats import t  # half a second, which listing the ledger need not wait for

    spread = values.std(ddof=1) / len(values) ** 0.5
    return Interval(float(values.mean()), float(t.ppf(0.975, len(values) - 1) * spread))


def places(at_once: int = bench.AT_ONCE[0]) -> list[Place]:
    """Every generator under every budget that was run under a load."""
    shares = bench.shares_at(at_once)
    return [Place(generator, at_once, share) for generator in bench.GENERATORS for share in shares]


def job_of(place: Place, policy: str, told: str = "") -> bench.Job:
    """The runs of a policy; of one with a price, those with its best step in hindsight."""
    if policy not in (HARD, NETTED, HEAP):
        return bench.Job(*place, policy, told)
    steps = bench.STEPS[1:2] if policy == HEAP else bench.steps_of(told)
    return max(
        (bench.Job(*place, policy, told, x) for x in steps), key=lambda job: bench.of(job).mean()
    )


def mass(place: Place, policy: str, told: str = "", measure: str = "mass") -> np.ndarray:
    """A measure under all seeds; see `job_of`."""
    return bench.of(job_of(place, policy, told), measure)


def gain(
    place: Place, policy: str, told: str, other: str, of_other: str = "", measure: str = "mass"
) -> Interval:
    """By how much a policy keeps more than another."""
    return interval(mass(place, policy, told, measure) - mass(place, other, of_other, measure))


def over_pool(place: Place, told: str, use: str) -> Interval:
    """By how much a netted price keeps more than the pool with the same returns does at the same
    mean or peak use, as `use` says: "mean_use" or "peak_use"; the best step in hindsight."""
    return interval(over_pool_by_seed(place, told, use))


def over_pool_by_seed(place: Place, told: str, use: str) -> np.ndarray:
    """See `over_pool`."""
    return max((_over_pool(place, told, step, use) for step in bench.STEPS), key=np.mean)


def _over_pool(place: Place, told: str, step: float, use: str) -> np.ndarray:
    netted = bench.Job(*place, NETTED, told, step)
    grid = [bench.Job(*place[:2], share, POOLED, told) for share in bench.grid_at(place.at_once)]
    spent, kept = (np.array([bench.of(job, name) for job in grid]) for name in (use, "mass"))
    pooled = [
        np.interp(bench.of(netted, use)[seed], spent[:, seed], kept[:, seed])
        for seed in range(kept.shape[1])
    ]
    return bench.of(netted) - np.array(pooled)


def memory_saved(place: Place, told: str, other: str) -> Interval:
    """How much less memory one pool takes to keep what another policy keeps, as a share of what
    that has; at most what the least budget of the grid is less."""
    grid = [bench.Job(*place[:2], share, POOLED, told) for share in bench.grid_at(place.at_once)]
    kept = np.array([bench.of(job) for job in grid])
    needed = [
        np.interp(target, kept[:, seed], bench.grid_at(place.at_once))
        for seed, target in enumerate(mass(place, other))
    ]
    return interval(1 - np.array(needed) / place.share)


def window(place: Place) -> str:
    """The better of the two windows."""
    return max(WINDOWS, key=lambda name: mass(place, name).mean())


def compared(place: Place, told: str) -> dict[str, Interval]:
    """What a row of the table says, in order."""
    return {
        "pool over uniform": gain(place, POOLED, told, UNIFORM, told),
        "price over pool": gain(place, HARD, told, POOLED, told),
        "price over uniform": gain(place, HARD, told, UNIFORM, told),
        "price over H2O": gain(place, HARD, told, H2O),
        "price over window": gain(place, HARD, told, window(place)),
    }


# -------------------------------------------------------------------------------- over generators


def over_generators(
    policy: str, told: str, other: str, of_other: str, share: float, at_once: int = bench.AT_ONCE[0]
) -> Interval:
    """The mean over generators of what a policy keeps more than another."""
    differences = [
        mass(place, policy, told) - mass(place, other or window(place), of_other)
        for place in places(at_once)
        if place.share == share
    ]
    return interval(np.mean(differences, axis=0))


def ahead_and_behind(
    told: str, other: str, of_other: str = "", shares: Sequence[float] = bench.SHARES
) -> tuple[int, int]:
    """In how many settings the price keeps more, and in how many less; "" is the better window."""
    at = [place for place in places() if place.share in shares]
    found = _gains(HARD, told, other, of_other, at=at)
    return sum(one.above for one in found), sum(one.below for one in found)


# ------------------------------------------------------------------------------------------ tables


def row(*cells: object) -> str:
    """A line of a table."""
    return f"| {' | '.join(map(str, cells))} |"


def head(*names: str) -> Iterator[str]:
    """Names of columns, after one for what the rows are."""
    yield row("", *names)
    yield f"|---|{'---:|' * len(names)}"


def by_generator(told: str = "average", share: float = bench.MIDDLE) -> Iterator[str]:
    """Points of mass at one budget."""
    at = [Place(generator, bench.AT_ONCE[0], share) for generator in bench.GENERATORS]
    yield from head("uniform keeps", *compared(at[0], told), "% of memory less than H2O")
    for place in at:
        kept = f"{100 * mass(place, UNIFORM, told).mean():.1f} %"
        saved = memory_saved(place, told, H2O)
        yield row(place.generator, kept, *compared(place, told).values(), saved)


def netted_by_generator(told: str = "average", share: float = bench.MIDDLE) -> Iterator[str]:
    """A netted price at one budget: what it uses, and what it keeps at equal use."""
    uses = ("mean_use", "peak_use")
    yield from head("mean use / M", "peak use / M", "over pool, same mean", "over pool, same peak")
    for generator in bench.GENERATORS:
        place = Place(generator, bench.AT_ONCE[0], share)
        spent = (f"{mass(place, NETTED, told, use).mean() / share:.2f}" for use in uses)
        yield row(generator, *spent, *(over_pool(place, told, use) for use in uses))


def by_load(told: str = "average") -> Iterator[str]:
    """Means over the generators, over budgets and requests at once."""
    kinds = {
        "pool over uniform": (POOLED, told, UNIFORM, told),
        "price over pool": (HARD, told, POOLED, told),
        "price over H2O": (HARD, told, H2O, ""),
        "price over window": (HARD, told, "", ""),
    }
    yield from head(*kinds)
    for at_once in bench.AT_ONCE:
        for share in bench.shares_at(at_once):
            name = f"1/{1 / share:.0f}, {at_once} at once"
            yield row(name, *(over_generators(*kind, share, at_once) for kind in kinds.values()))


def by_predictor(share: float = bench.MIDDLE) -> Iterator[str]:
    """Means over the generators at one budget; in how many settings the price is ahead of H2O and
    of the window, and behind: at that budget, and at all that were run."""
    policies = {"uniform": UNIFORM, "pool": POOLED, "price": HARD}
    counted = ("H2O", "window", "H2O, all budgets", "window, all budgets")
    yield from head(*(f"{name} keeps" for name in policies), "price over pool", *counted)
    at = [place for place in places() if place.share == share]
    for told in bench.PREDICTORS:
        kept = (
            f"{100 * np.mean([mass(place, policy, told) for place in at]):.1f} %"
            for policy in policies.values()
        )
        pool = over_generators(HARD, told, POOLED, told, share)
        shares = [[share], [share] if told in bench.NETWORKS else bench.SHARES]
        sides = [ahead_and_behind(told, x, shares=among) for among in shares for x in (H2O, "")]
        yield row(told, *kept, pool, *(f"{ahead}/{behind}" for ahead, behind in sides))


def over_settings(told: str = "average") -> Iterator[str]:
    """Of all settings, or those at one budget where a network was run: in how many the first keeps
    more, in how many less, and the means that are least and most."""
    network, once = bench.NETWORKS
    quarter = [place for place in places() if place.share == bench.MIDDLE]
    kinds = {
        "pool over uniform": _gains(POOLED, told, UNIFORM, told),
        "price over uniform": _gains(HARD, told, UNIFORM, told),
        "price over pool": _gains(HARD, told, POOLED, told),
        "price over pool, oracle": _gains(HARD, "oracle", POOLED, "oracle"),
        "price over H2O": _gains(HARD, told, H2O),
        "uniform over H2O": _gains(UNIFORM, told, H2O),
        "price over window": _gains(HARD, told, ""),
        "netted price over pool, same mean": [over_pool(at, told, "mean_use") for at in places()],
        "netted price over pool, same peak": [over_pool(at, told, "peak_use") for at in places()],
        "heap over pool": _gains(HEAP, told, POOLED, told),
        "heap over pool, oracle": _gains(HEAP, "oracle", POOLED, "oracle"),
        "price over H2O, network, 1/4": _gains(HARD, network, H2O, at=quarter),
        "price over H2O, network once, 1/4": _gains(HARD, once, H2O, at=quarter),
        "network once over each round, 1/4": _gains(HARD, once, HARD, network, at=quarter),
    }
    yield from head("settings", "ahead", "behind", "least", "most")
    for name, found in kinds.items():
        ahead, behind = sum(one.above for one in found), sum(one.below for one in found)
        ends = (pick(found, key=lambda one: one.mean) for pick in (min, max))
        yield row(name, len(found), ahead, behind, *ends)


def _gains(
    policy: str, told: str, other: str, of_other: str = "", *, at: Sequence[Place] | None = None
) -> list[Interval]:
    """At all places, or at some; "" is the better window."""
    return [gain(x, policy, told, other or window(x), of_other) for x in at or places()]


def main() -> None:
    tables = (by_generator(), netted_by_generator(), by_load(), by_predictor(), over_settings())
    for table in tables:
        print("\n".join(table), end="\n\n")


if __name__ == "__main__":
    main()
