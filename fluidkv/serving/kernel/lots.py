"""A number that looks random, for whatever is drawn in a run."""

import numpy as np

from fluidkv.runs.inlined import inlined


@inlined
def lot(seed: int, iteration: int, index: int) -> np.int64:
    """A number below 2^61: three rounds of the SplitMix64 generator's mixing.

    Unsigned integers of 64 bits wrap as it wants them to, of which NumPy warns in plain Python.

    Source: Steele, Lea and Flood, Fast splittable pseudorandom number generators, 2014.
    """
    mixed = _mixed(_mixed(np.uint64(seed)) ^ np.uint64(iteration))
    return np.int64(_mixed(mixed ^ np.uint64(index)) >> np.uint64(3))


@inlined
def _mixed(number: np.uint64) -> np.uint64:
    number = number + np.uint64(0x9E3779B97F4A7C15)
    number = (number ^ (number >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    number = (number ^ (number >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return number ^ (number >> np.uint64(31))
