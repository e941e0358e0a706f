"""The chains that are asked for: one, or one for each of several systems, checked."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from fluidkv.errors import InputError
from fluidkv.runs.checks import above_0
from fluidkv.runs.values import one_each
from fluidkv.serving.clock import IterationClock
from fluidkv.wait.chain.checks import thresholds_of
from fluidkv.wait.model import Exact, WaitSystem, exact, several
from fluidkv.wait.segments import Segments


class AskedChain(NamedTuple):
    """One chain; `horizon` and `memory` are infinite where nobody asked."""

    model: Segments | WaitSystem
    thresholds: tuple[int, ...]
    clock: IterationClock
    horizon: float
    memory: float


class Asked(NamedTuple):
    """All of them.

    Fields:
        chains: at least one.
        several: whether they are of several systems, so that results have that dimension.
        watched: whether a memory was given.
    """

    chains: tuple[AskedChain, ...]
    several: bool
    watched: bool


def asked_of(
    model: Any,
    thresholds: Any,
    base: Any,
    per_kv_token: Any,
    per_prefill_token: Any,
    horizon: Any,
    memory: Any,
) -> Asked:
    """One chain for each system.

    Raises:
        InputError: as `simulate_chain`.
    """
    rows, of_systems = _rows(thresholds)
    given = {
        "model": model,
        "thresholds": rows,
        "base": base,
        "per_kv_token": per_kv_token,
        "per_prefill_token": per_prefill_token,
        "horizon": horizon,
        "memory": memory,
    }
    several_of = [name for name in given if name != "thresholds" and _is_several(given[name])]
    for name in (*several_of, "thresholds"):
        if not len(given[name]):
            raise InputError(name, given[name], "at least one")
    columns = one_each(given)
    chains = tuple(_chain(*each) for each in zip(*columns.values(), strict=True))
    kinds = {type(chain.model).__name__ for chain in chains}
    if len(kinds) > 1:
        raise InputError("model", ", ".join(sorted(kinds)), "systems of one kind")
    return Asked(chains, of_systems or bool(several_of), memory is not None)


def _chain(
    model: Any,
    thresholds: tuple[Any, ...],
    base: Any,
    per_kv_token: Any,
    per_prefill_token: Any,
    horizon: Any,
    memory: Any,
) -> AskedChain:
    clock = _clock(model, base, per_kv_token, per_prefill_token)
    return AskedChain(
        model,
        thresholds_of(model, thresholds),
        clock,
        np.inf if horizon is None else above_0("horizon", horizon),
        np.inf if memory is None else above_0("memory", memory),
    )


def _rows(thresholds: Any) -> tuple[list[tuple[Any, ...]], bool]:
    """One row, or one for each system (then True); zeros at its end stand for no segment."""
    rows = several("thresholds", thresholds, "one for each segment or type")
    if not rows or not isinstance(rows[0], Iterable):
        return [rows], False
    found = []
    for row in rows:
        values = list(several("thresholds", row, "one for each segment or type"))
        while len(values) > 1 and values[-1] == 0:
            values.pop()
        found.append(tuple(values))
    return found, True


def _is_several(value: Any) -> bool:
    return isinstance(value, Sequence | np.ndarray) and not isinstance(value, str)


def _clock(
    model: Segments | WaitSystem,
    base: Exact | None,
    per_kv_token: Exact | None,
    per_prefill_token: Exact | None,
) -> IterationClock:
    needed = (("base", base), ("per_kv_token", per_kv_token))
    if isinstance(model, WaitSystem):
        for name, value in (*needed, ("per_prefill_token", per_prefill_token)):
            if value is not None:
                raise InputError(name, value, "None: the system has its own")
        return model.clock
    if not isinstance(model, Segments):
        raise InputError("model", model, "Segments or a WaitSystem")
    for name, value in needed:
        if value is None:
            raise InputError(name, value, "a number, with Segments")
    d2 = 0 if per_prefill_token is None else per_prefill_token
    return IterationClock(
        float(exact("base", base, above=0)),
        float(exact("per_kv_token", per_kv_token, least=0)),
        float(exact("per_prefill_token", d2, least=0)),
    )
