"""What an engine with a prefix cache asks of its requests, prompts and rules."""

from collections.abc import Sequence

import numpy as np

from fluidkv.errors import InputError
from fluidkv.prefix.prompts import Prompts, private
from fluidkv.runs.requests import Requests
from fluidkv.serving.limits import Limits
from fluidkv.serving.rules import (
    Allocation,
    EngineRules,
    Gate,
    Growth,
    Guard,
    Keeps,
    Requeue,
    Restore,
    Victim,
)


def checked_prompts(requests: Requests, prompts: Prompts | None) -> Prompts:
    """The prompts of a table; None: nobody shares anything.

    Raises:
        InputError: not one for each request, or of another length.
    """
    if prompts is None:
        return private(requests)
    if not isinstance(prompts, Prompts):
        raise InputError("prompts", prompts, "a Prompts object")
    if len(prompts) != len(requests):
        raise InputError("prompts", f"{len(prompts)} prompts", f"the {len(requests)} requests")
    for name in ("input_length", "output_length"):
        said, wanted = getattr(prompts, name), getattr(requests, name)
        if (said != wanted).any():
            row = int(np.argmax(said != wanted))
            found = f"{name} {said[row]} in request {row}"
            raise InputError("prompts", found, f"{wanted[row]}, as in the table of requests")
    return prompts


def texts_of(tables: Sequence[Requests], prompts: Sequence[Prompts | None]) -> list[Prompts]:
    """What each run's requests say; looked at once where runs have them in common."""
    known: dict[tuple[int, int], Prompts] = {}
    for table, text in zip(tables, prompts, strict=True):
        key = (id(table), id(text))
        if key not in known:
            known[key] = checked_prompts(table, text)
    return [known[id(table), id(text)] for table, text in zip(tables, prompts, strict=True)]


def check_modelled(rules: EngineRules, limits: Limits) -> None:
    """Refuse what vLLM's scheduler does not do, or what was not compared with it.

    Raises:
        InputError: rules in another order, or under which an evicted request loses its outputs, is
            swapped, or is given an estimate; an admission rate.
    """
    gates = (Gate.FULL_INPUT, Gate.FIRST_CHUNK)
    another_order = (
        rules.prefill_alone
        or rules.newcomers_first
        or rules.admits_after_eviction
        or rules.requeue is Requeue.TAIL
        or not (rules.in_turn or rules.victim is Victim.LAST_ADMITTED)
    )
    another_memory = (
        rules.keeps is not Keeps.OUTPUTS
        or rules.growth is not Growth.AS_NEEDED
        or rules.guard is not Guard.WHILE_RUNNING
        or rules.gate not in gates
        or rules.reserved_tokens != 0
        or rules.restore is not Restore.RECOMPUTE
        or rules.allocation is not Allocation.BY_BLOCK
    )
    if another_order or another_memory:
        raise InputError("engine", rules.label, "one of vLLM's rules, for a prefix cache")
    if limits.admission_rate is not None:
        raise InputError("admission_rate", limits.admission_rate, "None, with a cache")
