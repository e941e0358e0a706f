"""The clock of an answer as plain values: its numbers, its name, and how far off it may be."""

from typing import Any

from fluidkv.answers.served.clock_from import log_behind
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.machines.against import caveat_of
from fluidkv.serving.machines.named import known


def clock_values(clock: IterationClock) -> dict[str, Any]:
    """For JSON; `name`, `kind` and `caveat` are None of a clock without a name from here."""
    named, found = known(clock), log_behind(clock)
    if found is not None:
        name, kind, caveat = clock.name, "measured", found.caveat
    else:
        name, kind = (None, None) if named is None else (named.name, named.kind)
        caveat = (named and caveat_of(named)) or None
    return {
        "unit": clock.unit,
        "base": clock.base,
        "per_kv_token": clock.per_kv_token,
        "per_prefill_token": clock.per_prefill_token,
        "per_prefill_pair": clock.per_prefill_pair,
        "per_request": clock.per_request,
        "experts": clock.experts,
        "expert_share": clock.expert_share,
        "name": name,
        "kind": kind,
        "caveat": caveat,
    }
