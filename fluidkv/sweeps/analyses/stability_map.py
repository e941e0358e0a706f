"""`stability_map` at many points: the certified verdict alone, at the cost of a few systems.

How a verdict was certified depends on what is asked together, so it is not among the variables; the
verdict and the numbers of modes do not.
"""

from fluidkv.errors import InputError
from fluidkv.sweeps.analyses.systems import SYSTEM, system_of
from fluidkv.sweeps.analysis import Analysis, Arrays, Points, Sheet, Variable
from fluidkv.verdict import Stability
from fluidkv.workload import System

VARIABLES = (
    Variable(
        "verdict", "stability of the equilibrium", kind="flag", words=tuple(map(str, Stability))
    ),
    Variable("growing_modes", "roots outside the unit circle", kind="int"),
    Variable("neutral_modes", "roots on the unit circle", kind="int"),
)


def _compute(points: Points) -> Arrays:
    from fluidkv.exact.mixed.thresholds.many import stability_map

    sheet = Sheet(points.size, VARIABLES, {})
    places: list[int] = []
    systems: list[System] = []
    for place, row in enumerate(points.rows()):
        try:
            systems.append(system_of(row))
        except InputError:
            continue
        places.append(place)
    if systems:
        found = stability_map(systems)
        columns = (found.verdict, found.growing_modes, found.neutral_modes)
        for place, verdict, growing, neutral in zip(places, *columns, strict=True):
            said = {"verdict": verdict, "growing_modes": growing, "neutral_modes": neutral}
            sheet.put(place, said)
    return sheet.arrays


STABILITY_MAP = Analysis(
    name="stability_map",
    title="Which of many systems are stable?",
    call="fluidkv.stability_map",
    settings=SYSTEM,
    variables=VARIABLES,
    admit=system_of,
    compute=_compute,
    chunk=8192,
)
