"""The clock of an answer as plain values: its numbers, its name, and how far off it may be."""

from typing import Any

from fluidkv.serving.clock import IterationClock
from fluidkv.serving.machines.against import modelled_caveat
from fluidkv.serving.machines.named import known


def clock_values(clock: IterationClock) -> dict[str, Any]:
    """For JSON; `name`, `kind` and `caveat` are None of a clock without a name from here."""
    named = known(clock)
    modelled = named is not None and named.kind == "modelled"
    return {
        "unit": clock.unit,
        "base": clock.base,
        "per_kv_token": clock.per_kv_token,
        "per_prefill_token": clock.per_prefill_token,
        "per_prefill_pair": clock.per_prefill_pair,
        "per_request": clock.per_request,
        "experts": clock.experts,
        "expert_share": clock.expert_share,
        "name": None if named is None else named.name,
        "kind": None if named is None else named.kind,
        "caveat": modelled_caveat() if modelled else None,
    }
