"""Many systems in one call, beside a call for each.

Systems of one class, of unlike input and decode lengths and memories, 16 uniform starts each. The
36 are run both ways and their masses compared; of the many, some are.
"""

import numpy as np

from fluidkv.fluid import simulate, uniform_starts
from fluidkv.runs.precision import random_key
from fluidkv.suite.report import Rate, Ratio, Section, against, rate
from fluidkv.suite.settings import Effort, Told
from fluidkv.suite.timing import times
from fluidkv.systems import Systems

NAME = "systems"
_STARTS, _ITERATIONS = 16, 200
_LOOPED = 36  # systems that a call for each is made for
_CALLS = 3
_LEFT = 1e-9  # of capacity: what two orders of summation may differ by, as in `mass`


def measure(effort: Effort, tell: Told) -> Section:
    """Few systems both ways, then many at once."""
    rates: list[Rate] = []
    ratios: list[Ratio] = []
    for count in effort.systems:
        case = f"{count:,} systems"
        tell(case)
        systems = _systems(count)
        starts = uniform_starts(random_key(0), systems, count=_STARTS)
        some = range(0, count, max(1, count // _LOOPED))
        _compare(systems, starts, some)
        together = times(lambda s=systems, x=starts: _run(s, x), calls=_CALLS, warm_up=0)
        alone = times(
            lambda s=systems, x=starts, some=some: [_one(s, x, i) for i in some],
            calls=_CALLS,
            warm_up=0,
        )
        steps = _STARTS * _ITERATIONS
        ours = rate(case, "one call", count * steps, together)
        loop = rate(case, "a call for each", len(some) * steps, alone)
        rates += [loop, ours]
        ratios.append(against(case, ours, loop))
    return Section(
        NAME,
        "Many systems at once",
        f"One class each, of unlike lengths and memory, {_STARTS} uniform starts, {_ITERATIONS} "
        f"iterations, nothing recorded. A call for each is made for {_LOOPED} of the systems, and "
        "finds the same masses; what it compiles is compiled.",
        "trajectory-iterations",
        tuple(rates),
        tuple(ratios),
    )


def _systems(count: int) -> Systems:
    """Inputs of 16 to 4,096 tokens, outputs of 8 to 64, memory for 20 to 60 of the largest."""
    rng = np.random.default_rng(0)
    inputs = np.exp2(rng.uniform(4, 12, count)).astype(int)
    outputs = rng.integers(8, 65, count)
    capacity = (inputs + outputs) * rng.integers(20, 61, count)
    return Systems.listed(
        input_length=inputs.tolist(), decode_length=outputs.tolist(), capacity=capacity.tolist()
    )


def _run(systems: Systems, starts: np.ndarray) -> np.ndarray:
    return simulate(systems, starts, iterations=_ITERATIONS, record=()).final_state.to_numpy()


def _one(systems: Systems, starts: np.ndarray, place: int) -> np.ndarray:
    system = systems[place]
    own = starts[place, :, : system.workload.longest_decode]
    return simulate(system, own, iterations=_ITERATIONS, record=()).final_state.to_numpy()


def _compare(systems: Systems, starts: np.ndarray, some: range) -> None:
    found = _run(systems, starts)
    for place in some:
        alone = _one(systems, starts, place)
        off = np.abs(found[place, ..., : alone.shape[-1]] - alone).max()
        if not off <= _LEFT * float(systems[place].capacity):
            raise AssertionError(f"system {place} alone differs by {off:g} requests")
