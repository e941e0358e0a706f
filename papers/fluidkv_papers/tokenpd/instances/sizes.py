"""What changes when four times as many requests, twice as long, share a cache: runs on record.

Both sizes take the same structures, budgets as shares of what is held, and steps. Their seeds draw
other requests, so a change between sizes has Welch's interval, not a paired one.

    python -m fluidkv_papers.tokenpd.instances.sizes

prints the table of which docs/price.md shows a part.
"""

from collections.abc import Iterator, Mapping

import numpy as np

from fluidkv_papers.tokenpd.instances import gains
from fluidkv_papers.tokenpd.instances.compared import (
    AT_ONCE,
    GENERATORS,
    LARGE,
    LARGE_SHARES,
    MAIN,
    MIDDLE,
)

SMALLER, LARGER = AT_ONCE[0], LARGE.at_once[0]
PEAK = "peak use / M"


def measures(place: gains.Place, told: str) -> Mapping[str, np.ndarray]:
    """Differences of mass under each seed; of a netted price also its peak use, in budgets."""
    price, pool = (gains.mass(place, policy, told) for policy in (gains.HARD, gains.POOLED))
    found = {
        "pool over uniform": pool - gains.mass(place, gains.UNIFORM, told),
        "price over pool": price - pool,
        "price over H2O": price - gains.mass(place, gains.H2O),
        "price over window": price - gains.mass(place, gains.window(place)),
    }
    if told != MAIN[1] or place.share != MIDDLE:
        return found
    return found | {
        PEAK: gains.mass(place, gains.NETTED, told, "peak_use") / place.share,
        "netted over pool, same mean": gains.over_pool_by_seed(place, told, "mean_use"),
        "netted over pool, same peak": gains.over_pool_by_seed(place, told, "peak_use"),
    }


def overall(at_once: int, share: float, told: str) -> Mapping[str, np.ndarray]:
    """Means over the generators under each seed."""
    each = [measures(gains.Place(generator, at_once, share), told) for generator in GENERATORS]
    return {name: np.mean([one[name] for one in each], axis=0) for name in each[0]}


def change(smaller: np.ndarray, larger: np.ndarray) -> gains.Interval:
    """By how much the second mean is higher, with half of Welch's 95 % confidence interval."""
    from scipy.stats import ttest_ind  # half a second, as in `gains.interval`

    bounds = ttest_ind(larger, smaller, equal_var=False).confidence_interval()
    return gains.Interval(
        float(larger.mean() - smaller.mean()), float(bounds.high - bounds.low) / 2
    )


def by_size() -> Iterator[str]:
    """Each generator at the larger size, and means over them at both sizes and their change."""
    average = MAIN[1]
    names = list(measures(gains.Place(GENERATORS[0], LARGER, MIDDLE), average))
    yield from gains.head(*names)
    for generator in GENERATORS:
        found = measures(gains.Place(generator, LARGER, MIDDLE), average)
        yield _line(
            f"{generator}, 1/4", {name: gains.interval(x) for name, x in found.items()}, names
        )
    for share, told in ((MIDDLE, average), (LARGE_SHARES[0], average), (MIDDLE, MAIN[0])):
        of = f"mean, 1/{1 / share:.0f}, {told}"
        both = {at_once: overall(at_once, share, told) for at_once in (SMALLER, LARGER)}
        for at_once, found in both.items():
            means = {name: gains.interval(found[name]) for name in both[LARGER]}
            yield _line(f"{of}, {at_once} at once", means, names)
        changed = {name: change(both[SMALLER][name], x) for name, x in both[LARGER].items()}
        yield _line(f"{of}, change", changed, names)


def _line(name: str, found: Mapping[str, gains.Interval], names: list[str]) -> str:
    return gains.row(name, *(_cell(column, found.get(column)) for column in names))


def _cell(name: str, found: gains.Interval | None) -> str:
    if found is None:
        return ""
    return f"{found.mean:.2f} ± {found.half:.2f}".replace("-", "−") if name == PEAK else str(found)


if __name__ == "__main__":
    print("\n".join(by_size()))
