"""What is certain of a system, at many points: verdict, threshold, equilibria, pulse.

Each is a function of the library at one system, or at one mix of lengths; a variable is a value of
its result. `stability_map` gives the verdict alone, at the cost of a few systems: how it was
certified depends on what is asked together, so that is not among its variables; the verdict and the
numbers of modes do not.
"""

from collections.abc import Callable
from dataclasses import replace
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from fluidkv.errors import InputError
from fluidkv.sweeps.analyses.systems import (
    DECODE,
    SHARE,
    SYSTEM,
    one_class_of,
    shares_of,
    system_of,
    values_of,
)
from fluidkv.sweeps.analysis import Analysis, Row, Setting, Variable
from fluidkv.verdict import Evidence, Stability
from fluidkv.workload import System

if TYPE_CHECKING:
    from fluidkv.exact.mixed.mix import LengthMix

_RATE = "request / iteration"
_STATUS = ("found", "none", "beyond_bound", "bracketed", "undecided")
_VERDICT = Variable(
    "verdict", "stability of the equilibrium", kind="flag", words=tuple(map(str, Stability))
)


def _analysis(
    function: str,
    title: str,
    *variables: Variable,
    name: str = "",
    admit: Callable[[Row], Any] = system_of,
    settings: tuple[Setting, ...] = SYSTEM,
    chunk: int = 1024,
    **options: Any,
) -> Analysis:
    """A function of the library, with options, of what each point stands for."""
    return Analysis(
        name=name or function,
        title=title,
        call=f"fluidkv.{function}",
        settings=settings,
        variables=variables,
        admit=admit,
        find=lambda admitted: resolve_name(f"fluidkv:{function}")(admitted, **options),
        chunk=chunk,
    )


def _divided(row: Row) -> System:
    system = system_of(row)
    if system.workload.decode_gcd == 1:
        raise InputError("decode_length", row.get("decode_length"), "lengths with a common divisor")
    return system


def _mix(row: Row) -> "LengthMix":
    from fluidkv.exact.mixed.mix import LengthMix

    lengths = values_of(row, "decode_length")
    if len(lengths) < 2:
        raise InputError("decode_length", lengths, "at least two classes")
    return LengthMix(lengths, shares_of(row, len(lengths)))


STABILITY = _analysis(
    "stability",
    "Is the eviction-free equilibrium stable?",
    _VERDICT,
    Variable("evidence", "how the verdict is known", kind="flag", words=tuple(map(str, Evidence))),
    Variable(
        "radius_low",
        "spectral radius, at least",
        "1 / iteration",
        at=lambda result: result.spectral_radius[0],
    ),
    Variable(
        "radius_high",
        "spectral radius, at most",
        "1 / iteration",
        at=lambda result: result.spectral_radius[1],
    ),
    Variable("unstable_modes", "roots outside the unit circle", kind="int"),
    Variable("leading_period", "one turn of the leading mode", "iteration"),
    Variable(
        "admission_rate", "requests admitted at the equilibrium", _RATE, at="equilibrium.rate"
    ),
    Variable(
        "in_flight", "requests running at the equilibrium", "request", at="equilibrium.in_flight"
    ),
)
STABILITY_MAP = replace(
    _analysis(
        "stability_map",
        "Which of many systems are stable?",
        _VERDICT,
        Variable("growing_modes", "roots outside the unit circle", kind="int"),
        Variable("neutral_modes", "roots on the unit circle", kind="int"),
        chunk=8192,
    ),
    together=lambda system: None,
)
THRESHOLD = _analysis(
    "input_threshold",
    "From which input length on is a mix stable?",
    Variable("l0_min", "smallest stable input length", "token", "int", at="least"),
    Variable("at_most", "a stable length above an unstable one", "token", "int"),
    Variable(
        "known", "what is known of the threshold", kind="flag", words=_STATUS, at="status.name"
    ),
    Variable(
        "stable_windows",
        "stretches of stable input lengths",
        kind="int",
        at=lambda result: len(result.stable_windows),
    ),
    Variable(
        "common_divisor",
        "greatest common divisor of the decode lengths",
        "token",
        "int",
        at="mix.decode_gcd",
    ),
    name="threshold",
    admit=_mix,
    settings=(DECODE, SHARE),
    chunk=256,
)
EQUILIBRIA = _analysis(
    "equilibria",
    "Between which throughputs does one class stay?",
    Variable("best", "throughput of the fixed point", _RATE),
    Variable("worst", "throughput of the maximal-eviction cycle", _RATE),
    Variable("worst_case_ratio", "worst over best"),
    admit=one_class_of,
    level=0,
)
PULSE = _analysis(
    "pulse_cycle",
    "What does a mix achieve on its pulse cycle?",
    Variable("throughput", "requests completed on the pulse cycle", _RATE),
    Variable("share_of_best", "the same over that of the equilibrium"),
    Variable("period", "of the pulse cycle", "iteration", "int"),
    name="pulse",
    admit=_divided,
)
