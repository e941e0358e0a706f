"""`stability` at many points: the certified verdict on the eviction-free equilibrium."""

from typing import Any

from fluidkv.sweeps.analyses.systems import SYSTEM, system_of
from fluidkv.sweeps.analysis import Analysis, Variable, one_by_one
from fluidkv.verdict import Evidence, Stability
from fluidkv.workload import System

VARIABLES = (
    Variable(
        "verdict", "stability of the equilibrium", kind="flag", words=tuple(map(str, Stability))
    ),
    Variable("evidence", "how the verdict is known", kind="flag", words=tuple(map(str, Evidence))),
    Variable("radius_low", "spectral radius, at least", "1 / iteration"),
    Variable("radius_high", "spectral radius, at most", "1 / iteration"),
    Variable("unstable_modes", "roots outside the unit circle", kind="int"),
    Variable("leading_period", "one turn of the leading mode", "iteration"),
    Variable("admission_rate", "requests admitted at the equilibrium", "request / iteration"),
    Variable("in_flight", "requests running at the equilibrium", "request"),
)


def _find(system: System) -> dict[str, Any]:
    from fluidkv.exact.linear_stability import stability

    found = stability(system)
    low, high = found.spectral_radius
    return {
        "verdict": found.verdict,
        "evidence": found.evidence,
        "radius_low": low,
        "radius_high": high,
        "unstable_modes": found.unstable_modes,
        "leading_period": found.leading_period,
        "admission_rate": float(found.equilibrium.rate),
        "in_flight": float(found.equilibrium.in_flight),
    }


STABILITY = Analysis(
    name="stability",
    title="Is the eviction-free equilibrium stable?",
    call="fluidkv.stability",
    settings=SYSTEM,
    variables=VARIABLES,
    admit=system_of,
    compute=one_by_one(VARIABLES, system_of, _find),
    chunk=1024,
)
