"""Table 1 of CacheOPT, and what sections 2.1 and 2.2 print beside it; numbers are text, as printed.

Workloads with these lengths are the presets of `fluidkv.traces`, which have the printed mean, least
and greatest length exactly, and a shape and independence that are assumed.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np

from fluidkv.runs.requests import Requests
from fluidkv.traces.presets import preset
from fluidkv.workload import Workload


@dataclass(frozen=True)
class Lengths:
    """Mean, least and greatest, tokens; "K" stands for thousands."""

    mean: str
    least: str
    most: str


@dataclass(frozen=True)
class Trace:
    """One row.

    Fields:
        requests: "52K".
        rate: requests a second, the mean of a Poisson process.
    """

    input: Lengths
    output: Lengths
    requests: str
    rate: str


TABLE_1: dict[str, Trace] = {
    "alpaca": Trace(Lengths("19.31", "9", "2.47K"), Lengths("58.41", "13", "292"), "52K", "32"),
    "sharegpt": Trace(Lengths("161.31", "16", "3.2K"), Lengths("337.99", "19", "991"), "90K", "28"),
    "bookcorpus": Trace(
        Lengths("1952.11", "18", "461K"), Lengths("681.2", "32", "1041"), "11K", "1.2"
    ),
}

HOURS = {"OPT-13B": 3, "OPT-175B": 1}
"""Of the traces of each model (sections 2.1 and 5)."""

PROMPT_PIECE = 2048
"""Tokens that prompts of BookCorpus are divided into."""

PADDING, BUCKET = {"rlp": 100}, {"s3": 50}
"""Section 2.1: what each adds to a prediction, and how wide its buckets are."""

SWEET_SPOT = 4000
"""Section 2.5: tokens above which swapping is faster than computing again."""


def number(text: str) -> float:
    """Of "2.47K" 2470."""
    return round(float(text[:-1]) * 1000, 6) if text.endswith("K") else float(text)


@cache
def workload(trace: str) -> Workload:
    """Lengths of a row."""
    return preset(trace)


def requests_of(trace: str, rate: float, count: int, seed: int) -> Requests:
    """Poisson arrivals with lengths of a row; prompts of BookCorpus in pieces.

    A piece is a request with an output of its own.
    """
    rng = np.random.default_rng(seed)
    classes = workload(trace).classes
    shares = np.array([float(each.share) for each in classes])
    drawn = rng.choice(len(classes), (2, count), p=shares / shares.sum())
    inputs = np.array([each.input_length for each in classes])[drawn[0]]
    outputs = np.array([each.decode_length for each in classes])[drawn[1]]
    if trace == "bookcorpus":
        inputs = pieces(inputs)[:count]
    arrival = np.cumsum(rng.standard_exponential(count)) / rate
    return Requests(inputs, outputs, arrival=arrival)


def pieces(prompts: np.ndarray) -> np.ndarray:
    """Each prompt as whole pieces and a rest, in their order."""
    whole, rest = np.divmod(prompts, PROMPT_PIECE)
    count = whole + (rest > 0)
    of = np.repeat(np.arange(prompts.size), count)
    last = np.cumsum(count) - 1
    found = np.full(of.size, PROMPT_PIECE)
    found[last[rest > 0]] = rest[rest > 0]
    return found
