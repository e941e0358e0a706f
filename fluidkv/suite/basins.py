"""Starts until each has settled, beside one trajectory after the other in plain Python.

Both run the same starts to the same end: one occupied stage, or the horizon. The loop runs some of
them, and says how many iterations they take, which the engine must agree with. A
trajectory-iteration counts for as long as the trajectory has not settled. What is done besides is
loss; the mass engine on the same starts, which does nothing but iterate, is the limit.
"""

from collections.abc import Callable
from fractions import Fraction

import numpy as np

from fluidkv.fluid import basins, simulate, uniform_starts
from fluidkv.fluid.model import class_model
from fluidkv.runs.precision import random_key
from fluidkv.suite.mass.plain import python_step
from fluidkv.suite.report import Section, against, rate
from fluidkv.suite.settings import Effort, Told
from fluidkv.suite.timing import alternating, times
from fluidkv.workload import RequestClass, System, Workload

NAME = "basins"
SYSTEM = System(Workload((RequestClass(20, 40),)), Fraction(3000))
HORIZON = 5000
_LOOPED = 50  # starts of the plain loop
_ITERATIONS = 400  # of the mass engine, about as long as the trajectories last
_AGREEING = 0.95
"""Where a mass is nearly emptied, two orders of summation may disagree, and a support loss moves by
a turn. One start in 20 is far more than is seen."""


def measure(effort: Effort, tell: Told) -> Section:
    """All starts at once, some of them one by one, and the limit."""
    tell(f"{effort.basin_starts:,} starts")
    masses = uniform_starts(random_key(0), SYSTEM, count=effort.basin_starts)
    found = basins(SYSTEM, masses, iterations=HORIZON)
    settled = found.settled.to_numpy()
    lasted = np.where(settled < 0, HORIZON, settled)
    some = masses[:_LOOPED].tolist()
    loop = _plain_loop(some)
    agreeing = float(np.mean(np.array(loop()) == lasted[: len(some)]))
    if agreeing < _AGREEING:
        raise AssertionError(f"basins and the plain loop agree on {agreeing:.0%} of the starts")
    taken = alternating(
        {
            "basins": lambda: basins(SYSTEM, masses, iterations=HORIZON),
            "limit": lambda: simulate(SYSTEM, masses[:, None], iterations=_ITERATIONS, record=()),
        },
        calls=effort.calls,
    )
    case, together = f"{len(masses):,} starts", int(lasted.sum())
    plain = rate(
        case,
        "Python loop, one by one",
        int(lasted[: len(some)].sum()),
        times(loop, calls=effort.calls, warm_up=0),
    )
    ours = rate(case, "basins", together, taken["basins"])
    limit = rate(case, "mass engine, same starts", len(masses) * _ITERATIONS, taken["limit"])
    return Section(
        NAME,
        "Basins",
        "One class, l0 = 20, l1 = 40, M = 3,000, uniform starts until one stage is occupied, at "
        f"most {HORIZON:,} iterations: {together:,} of all starts, the longest "
        f"{int(lasted.max()):,}. The loop runs {len(some)} of the starts, of which "
        f"{agreeing:.0%} settle in the same iteration.",
        "trajectory-iterations",
        (plain, ours, limit),
        (against(case, ours, plain), against(case, ours, limit)),
    )


def _plain_loop(starts: list[list[float]]) -> Callable[[], list[int]]:
    model = class_model(SYSTEM)
    by_stage, capacity = model.weights[0].tolist(), float(model.capacity)
    return lambda: [_settles(by_stage, capacity, start) for start in starts]


def _settles(weights: list[float], capacity: float, state: list[float]) -> int:
    """Iterations until one stage is occupied, or the horizon."""
    for n in range(HORIZON):
        if sum(mass > 0 for mass in state) == 1:
            return n
        state = python_step(weights, capacity, state)
    return HORIZON
