"""Example 11, which Figures 13 to 15 draw: the system, P, and the trajectory with its energy."""

from fractions import Fraction
from functools import cache

import numpy as np

from fluidkv import exact
from fluidkv.workload import System

INPUT, LENGTHS, SHARE, CAPACITY = 10, (2, 3), Fraction(1, 2), 118
ITERATIONS = 20
PARAMETERS: dict[str, object] = {
    "input_length": INPUT,
    "decode_lengths": list(LENGTHS),
    "shares": [str(SHARE), str(SHARE)],
    "capacity": CAPACITY,
    "seed": None,
}
START = {"start": "y = (1, 0, 0)", "iterations": ITERATIONS}


@cache
def example() -> "exact.Neighbourhood":
    """P, delta and the levels of L."""
    return exact.neighbourhood(System(exact.two_lengths(*LENGTHS, SHARE).workload(INPUT), CAPACITY))


@cache
def trajectory() -> tuple[np.ndarray, np.ndarray]:
    """y^n by (n, age) and L(y^n), n = 0 ... ITERATIONS, computed in rationals.

    From (1, 0, 0), whose memory is V_0 above capacity. The oldest cohort does not enter the next
    state, so that from n = 1 on it is the trajectory of a state on the memory boundary as well.
    """
    found = example()
    y = (Fraction(1), Fraction(0), Fraction(0))
    states, energies = [], []
    for _ in range(ITERATIONS + 1):
        states.append([float(v) for v in y])
        energies.append(number(found.energy(y)))
        y = exact.transition(found.lyapunov.weights, y)
    return np.array(states), np.array(energies)


def number(level: "exact.Level | None") -> float:
    """A level that is there, as a float."""
    if level is None:
        raise ArithmeticError("decode lengths above 1 and a stable system were expected")
    return float(level)


def entry(energies: np.ndarray, level: float) -> int:
    """The first n with energy below the level."""
    return int(np.argmax(energies < level))
