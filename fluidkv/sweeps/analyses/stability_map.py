"""`stability_map` at many points: verdicts and numbers of modes alone, for maps of many systems.

Points of a chunk that differ in the input length alone share their certificate. So an axis of input
lengths comes last in a grid.
"""

from contextlib import suppress

from fluidkv.errors import InputError
from fluidkv.sweeps.analyses.systems import SYSTEM, system_of
from fluidkv.sweeps.analysis import Analysis, Arrays, Points, Sheet, Variable
from fluidkv.verdict import Stability
from fluidkv.workload import System

VARIABLES = (
    Variable(
        "verdict", "stability of the equilibrium", kind="flag", words=tuple(map(str, Stability))
    ),
    Variable("unstable_modes", "roots outside the unit circle", kind="int"),
    Variable("neutral_modes", "roots on the unit circle", kind="int"),
)


def _compute(points: Points) -> Arrays:
    from fluidkv.exact.mixed.thresholds.many import stability_map

    sheet = Sheet(points.size, VARIABLES, {})
    systems: dict[int, System] = {}
    for place, row in enumerate(points.rows()):
        with suppress(InputError):
            systems[place] = system_of(row)
    if systems:
        found = stability_map(systems.values())
        columns = (found.verdict, found.growing_modes, found.neutral_modes)
        for place, verdict, growing, neutral in zip(systems, *columns, strict=True):
            modes = {"unstable_modes": growing, "neutral_modes": neutral}
            sheet.put(place, {"verdict": verdict, **modes})
    return sheet.arrays


STABILITY_MAP = Analysis(
    name="stability_map",
    title="Which systems have a stable eviction-free equilibrium?",
    call="fluidkv.stability_map",
    settings=SYSTEM,
    variables=VARIABLES,
    admit=system_of,
    compute=_compute,
    chunk=8192,
)
