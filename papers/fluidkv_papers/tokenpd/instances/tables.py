"""Tables 1 and 2, as printed: numbers are text."""

from dataclasses import dataclass
from fractions import Fraction

METHODS = ("FIFO", "LRU", "H2O", "Token-PD")
OURS = METHODS[-1]
LOADS = (128, 256, 512)
"""Concurrent streams; 256 is Table 1."""
REQUESTS = 1000
"""Of a run, three of which are averaged (Table 1)."""
LARGEST_SD = Fraction(2, 100)
"""Of what is averaged (Table 2)."""


@dataclass(frozen=True)
class Row:
    """One method under one load.

    Fields:
        memory: peak, GB. throughput: requests a second. latency: 95th percentile, ms.
        perplexity: on ShareGPT-10k. matches: on Anthropic-HH, per cent.
    """

    memory: str
    throughput: str
    latency: str
    perplexity: str
    matches: str

    def number(self, name: str) -> Fraction:
        """A printed number."""
        return Fraction(getattr(self, name))


def _rows(*lines: str) -> dict[str, Row]:
    return {method: Row(*line.split()) for method, line in zip(METHODS, lines, strict=True)}


TABLES: dict[int, dict[str, Row]] = {
    128: _rows(
        "39.0 338 110 6.38 78.5",
        "34.7 359 106 6.39 78.5",
        "24.5 428 92 6.41 78.4",
        "18.8 451 87 6.40 78.4",
    ),
    256: _rows(
        "77.2 612 123 6.41 78.4",
        "68.1 639 118 6.42 78.3",
        "46.0 778 101 6.45 78.1",
        "31.6 811 94 6.44 78.2",
    ),
    512: _rows(
        "79.8 592 145 6.46 78.2",
        "79.5 621 137 6.46 78.2",
        "60.2 725 118 6.49 78.0",
        "46.1 744 112 6.48 78.1",
    ),
}

EVERY = tuple((load, method) for load in LOADS for method in METHODS)


def printed(load: int, method: str, name: str) -> Fraction:
    """One cell."""
    return TABLES[load][method].number(name)


def less(load: int, name: str, than: str, of: str = OURS) -> Fraction:
    """By which share the cell of a method is below that of another."""
    return 1 - printed(load, of, name) / printed(load, than, name)


def times(load: int, than: str, of: str = OURS) -> Fraction:
    """Throughput of a method over that of another."""
    return printed(load, of, "throughput") / printed(load, than, "throughput")
