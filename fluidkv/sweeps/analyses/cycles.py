"""Cycles at many points, exact: between which throughputs one class is, and the pulse of a mix."""

from typing import Any

from fluidkv.errors import InputError
from fluidkv.sweeps.analyses.systems import SYSTEM, system_of
from fluidkv.sweeps.analysis import Analysis, Row, Variable, one_by_one
from fluidkv.workload import System

_RATE = "request / iteration"
OF_ONE_CLASS = (
    Variable("best", "throughput of the fixed point", _RATE),
    Variable("worst", "throughput of the maximal-eviction cycle", _RATE),
    Variable("worst_case_ratio", "worst over best"),
)
OF_PULSE = (
    Variable("throughput", "requests completed on the pulse cycle", _RATE),
    Variable("share_of_best", "the same over that of the equilibrium"),
    Variable("period", "of the pulse cycle", "iteration", "int"),
)


def _one_class(row: Row) -> System:
    system = system_of(row)
    if len(system.workload.classes) != 1:
        raise InputError("input_length", f"{len(system.workload.classes)} classes", "one class")
    return system


def _equilibria(system: System) -> dict[str, Any]:
    from fluidkv.exact.one_class.equilibria import equilibria

    found = equilibria(system, level=0)
    return {each.name: float(getattr(found, each.name)) for each in OF_ONE_CLASS}


def _divided(row: Row) -> System:
    system = system_of(row)
    if system.workload.decode_gcd == 1:
        raise InputError("decode_length", row.get("decode_length"), "lengths with a common divisor")
    return system


def _pulse(system: System) -> dict[str, Any]:
    from fluidkv.exact.mixed.cycles.pulse import pulse_cycle

    found = pulse_cycle(system)
    return {each.name: float(getattr(found, each.name)) for each in OF_PULSE}


EQUILIBRIA = Analysis(
    name="equilibria",
    title="Between which throughputs does one class stay?",
    call="fluidkv.equilibria",
    settings=SYSTEM,
    variables=OF_ONE_CLASS,
    admit=_one_class,
    compute=one_by_one(OF_ONE_CLASS, _one_class, _equilibria),
    chunk=1024,
)
PULSE = Analysis(
    name="pulse",
    title="What does a mix achieve on its pulse cycle?",
    call="fluidkv.pulse_cycle",
    settings=SYSTEM,
    variables=OF_PULSE,
    admit=_divided,
    compute=one_by_one(OF_PULSE, _divided, _pulse),
    chunk=1024,
)
