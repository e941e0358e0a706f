"""Rules of a user's own in the loop: by their functions in Python, by addresses in machine code."""

from collections.abc import Iterable
from functools import cache
from typing import Any

from fluidkv.serving.kernel.gates import Entering, Gate
from fluidkv.serving.kernel.layout import Record
from fluidkv.serving.kernel.open_rules import OpenRule
from fluidkv.serving.kernel.victims import Candidate, Victim
from fluidkv.serving.rules import EngineRules

_GIVEN: dict[type[OpenRule], type[tuple]] = {Victim: Candidate, Gate: Entering}


def compiles(rules: EngineRules) -> bool:
    """Whether all of them can be machine code; those that are here can."""
    return all(rule.own is None or _code(rule) is not None for rule in (rules.victim, rules.gate))


def give_own(rules: EngineRules, runs: Iterable[Record], *, literally: bool) -> None:
    """Where runs find functions that were added; 0 where none was."""
    for run in runs:
        for name, rule in (("own_victim", rules.victim), ("own_gate", rules.gate)):
            if rule.own is not None:
                code = None if literally else _code(rule)
                run[name] = rule.own if literally else (code.address if code else 0)


@cache
def _code(rule: OpenRule) -> Any:
    """Compiled once, and there as long as the process is; None: it cannot be."""
    from fluidkv.runs.kernels import at_address  # Numba takes half a second to load

    return None if rule.own is None else at_address(rule.own, _GIVEN[type(rule)])
