"""A profile names the package that works, and gives it what it has others do."""

from fractions import Fraction

from fluidkv.suite.profiling import where_time_goes
from fluidkv.workload import RequestClass, System, Workload


def test_the_package_that_works_comes_first_with_nearly_all() -> None:
    from fluidkv.exact.roots.polynomial import characteristic_polynomial
    from fluidkv.exact.survival import survival_weights

    workload = System(Workload((RequestClass(20, 400),)), Fraction(10_000)).workload

    def works() -> None:
        for _ in range(20):
            characteristic_polynomial(survival_weights(workload))

    said = where_time_goes(works)
    shares = {name: float(share.rstrip("%")) for name, share in _pairs(said)}
    assert next(iter(shares)).startswith("fluidkv.exact")
    assert sum(shares.values()) > 90


def test_what_is_built_in_counts_for_who_calls_it() -> None:
    shares = dict(_pairs(where_time_goes(lambda: sorted(range(300_000), key=str))))
    assert list(shares) == ["Python"]  # this file is of no package


def _pairs(said: str) -> list[list[str]]:
    return [part.rsplit(" ", 1) for part in said.split(", ")]
