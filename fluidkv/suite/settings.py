"""How much work the suite does: the whole of it, a quick look, or as little as a test needs."""

from collections.abc import Callable
from dataclasses import dataclass

Told = Callable[[str], None]
"""Told what is being measured."""


@dataclass(frozen=True)
class Effort:
    """Sizes of the problems.

    Fields:
        name: for the reader.
        calls: of each way, of which the best counts.
        starts, iterations: of the mass engine on a processor.
        device_starts: of it on an accelerator, which fewer do not fill.
        lengths: decode lengths of it.
        requests, seeds: of the request engine, one run and many.
        degrees: of certified polynomials.
        basin_starts: until each has settled.
        systems: of one call over many, each count a case.
        swept: points of a sweep.
        copied_bytes: to measure a memory's bandwidth by.
    """

    name: str
    calls: int
    starts: int
    iterations: int
    device_starts: int
    lengths: tuple[int, ...]
    requests: int
    seeds: int
    degrees: tuple[int, ...]
    basin_starts: int
    systems: tuple[int, ...]
    swept: int
    copied_bytes: int


WHOLE = Effort(
    name="whole",
    calls=5,
    starts=4096,
    iterations=1000,
    device_starts=1_000_000,
    lengths=(8, 40, 200),
    requests=20_000,
    seeds=64,
    degrees=(50, 100, 200, 400, 800, 1600),
    basin_starts=100_000,
    systems=(36, 100_000),
    swept=2000,
    copied_bytes=1 << 28,
)
QUICK = Effort(
    name="quick",
    calls=3,
    starts=4096,
    iterations=200,
    device_starts=100_000,
    lengths=(8, 40, 200),
    requests=20_000,
    seeds=16,
    degrees=(50, 100, 200),
    basin_starts=4096,
    systems=(36, 1000),
    swept=160,
    copied_bytes=1 << 26,
)
LEAST = Effort(
    name="least",
    calls=1,
    starts=16,
    iterations=30,
    device_starts=32,
    lengths=(8, 40),
    requests=60,
    seeds=2,
    degrees=(20, 40),
    basin_starts=64,
    systems=(3,),
    swept=16,
    copied_bytes=1 << 20,
)
