"""A profile names the package that works, and gives it what it has others do.

It is read by a clock that counts its readings: another says as much of the machine's other work.
"""

from collections.abc import Callable
from itertools import count

from fluidkv.suite.profiling import where_time_goes
from tests.small_systems import one_class


def test_the_package_that_works_comes_first() -> None:
    from fluidkv.exact.roots.polynomial import characteristic_polynomial
    from fluidkv.exact.survival import survival_weights

    workload = one_class(20, 400, 10_000).workload

    def works() -> None:
        for _ in range(20):
            characteristic_polynomial(survival_weights(workload))

    shares = _shares(works)
    assert next(iter(shares)) == "fluidkv.exact"
    assert {"fluidkv", "fluidkv.exact.roots"} < set(shares)  # requests, and the polynomial
    assert 98 < sum(shares.values()) < 102


def test_what_is_built_in_counts_for_who_calls_it() -> None:
    assert _shares(lambda: sorted(range(300), key=str)) == {"Python": 100}  # of no package


def _shares(call: Callable[[], object]) -> dict[str, float]:
    said = where_time_goes(call, clock=count().__next__)
    return {name: float(share.rstrip("%")) for name, share in _pairs(said)}


def _pairs(said: str) -> list[list[str]]:
    return [part.rsplit(" ", 1) for part in said.split(", ")]
