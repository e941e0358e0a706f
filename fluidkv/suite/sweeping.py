"""A sweep beside a plain loop over the same points: what the store and the processes cost or save.

A map of stability over input lengths and shares of two output lengths. Verdicts are compared.
"""

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from fluidkv.exact.linear_stability import stability
from fluidkv.processes import cores
from fluidkv.suite.folders import in_a_folder
from fluidkv.suite.report import Section, against, rate
from fluidkv.suite.settings import Effort, Told
from fluidkv.suite.timing import alternating
from fluidkv.sweeps import sweep
from fluidkv.workload import RequestClass, System, Workload

NAME = "sweep"
_SHORT, _LONG, _CAPACITY = 20, 31, 100_000
_SHARES = 8
_CALLS = 3


def measure(effort: Effort, tell: Told) -> Section:
    """The same points by a loop, by one process, by as many as there are cores."""
    lengths = effort.swept // _SHARES
    points = lengths * _SHARES
    tell(f"{points:,} points")
    spec = {
        "analysis": "stability",
        "settings": {"decode_length": [_SHORT, _LONG], "capacity": _CAPACITY},
        "grid": {
            "input_length": list(range(1, lengths + 1)),
            "share": [f"{part}/{_SHARES + 1}" for part in range(1, _SHARES + 1)],
        },
        "chunk": max(1, points // 16),
    }
    with in_a_folder() as folder:
        number = iter(range(10**6))

        def swept(workers: int) -> Any:
            return sweep(spec, Path(folder) / str(next(number)), workers=workers)

        def loop() -> list[str]:
            return [_verdict(n, part) for n in range(1, lengths + 1) for part in _parts()]

        found = swept(1).verdict
        words = np.array(found.flag_meanings.split())
        if words[found.to_numpy().ravel()].tolist() != loop():
            raise AssertionError("a sweep and a loop over the same points find unlike verdicts")
        ways = {"loop": loop, "one": lambda: swept(1)}
        if cores() > 1:
            ways["all"] = lambda: swept(cores())
        taken = alternating(ways, calls=min(effort.calls, _CALLS), warm_up=0)
    names = {"loop": "loop in Python", "one": "sweep, 1 process", "all": f"{cores()} processes"}
    case = f"{points:,} points"
    rates = {way: rate(case, names[way], points, taken[way]) for way in ways}
    return Section(
        NAME,
        "Sweeps",
        f"Stability over {lengths} input lengths and {_SHARES} shares of outputs of {_SHORT} and "
        f"{_LONG} tokens, into a Zarr store; the store, and the start of the processes, are part "
        "of the time. Verdicts are those of the loop.",
        "points",
        tuple(rates.values()),
        tuple(against(case, rates[way], rates["loop"]) for way in ways if way != "loop"),
    )


def _parts() -> list[Fraction]:
    return [Fraction(part, _SHARES + 1) for part in range(1, _SHARES + 1)]


def _verdict(length: int, part: Fraction) -> str:
    classes = (RequestClass(length, _SHORT, part), RequestClass(length, _LONG, 1 - part))
    return str(stability(System(Workload(classes), Fraction(_CAPACITY))).verdict)
