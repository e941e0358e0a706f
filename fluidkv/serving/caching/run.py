"""Runs of an engine with its prefix cache, as `serve` returns them."""

from collections.abc import Sequence

import numpy as np
import xarray as xr

from fluidkv.errors import InputError
from fluidkv.prefix.prompts import Prompts
from fluidkv.runs.batch import Progress, Watch, filled_up
from fluidkv.runs.dataset import as_dataset, labelled
from fluidkv.runs.records import Outcome, in_windows
from fluidkv.runs.requests import Requests
from fluidkv.runs.values import one_each
from fluidkv.serving.caching.fast import FastEngine
from fluidkv.serving.caching.names import BlockNames
from fluidkv.serving.caching.table import check_modelled, checked_prompts
from fluidkv.serving.caching.vllm import COUNTS, VllmEngine
from fluidkv.serving.checks import check_horizon, check_runs
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.engines import engine as named
from fluidkv.serving.limits import Limits
from fluidkv.serving.literal import played
from fluidkv.serving.rules import EngineRules

_FOUND = {
    "hit_tokens": "tokens found in the cache, at all admissions",
    "first_hit_tokens": "tokens found in the cache at the first admission",
}


def serve_caching(
    requests: Requests | Sequence[Requests],
    engine: str | EngineRules,
    limits: Limits | Sequence[Limits],
    clock: IterationClock | Sequence[IterationClock] | None = None,
    prompts: Prompts | Sequence[Prompts | None] | None = None,
    *,
    clients: int | Sequence[int | None] | None = None,
    iterations: int | None = None,
    every: int = 1,
    keep_requests: bool = True,
    backend: str = "auto",
    on_progress: Progress | None = None,
) -> xr.Dataset:
    """Serve requests by an engine with vLLM's prefix cache, until all are done or to a horizon.

    As `serve`, for rules instead of a name with "+cache". "auto" takes the fast engine,
    "reference" the literal one; they agree.

    Raises:
        InputError: as `serve`.
    """
    rules = named(engine)
    if backend not in ("auto", "reference"):
        raise InputError("backend", backend, "'auto' or 'reference', with a cache")
    tables, all_limits, given_clocks, populations, said = one_each(
        {
            "requests": requests,
            "limits": limits,
            "clock": clock,
            "clients": clients,
            "prompts": prompts,
        }
    ).values()
    clocks = [each or IterationClock.iterations() for each in given_clocks]
    check_runs(tables, rules, all_limits, clocks, populations)
    horizon = check_horizon(iterations, every, rules)
    for each in all_limits:
        check_modelled(rules, each)
    texts = _texts(tables, said)
    watch, names = Watch(on_progress), _Names()
    found: list[np.ndarray] = []

    def outcome(run: int) -> Outcome:
        memory = all_limits[run]
        given = (tables[run], texts[run], rules, memory, clocks[run], populations[run])
        if backend == "reference":
            engine = VllmEngine(*given)
        else:
            engine = FastEngine(*given, names=names.of(texts[run], memory.block_size))
        ended = played(engine, horizon, watch, COUNTS)
        found.append(np.array([[getattr(r, name) for name in _FOUND] for r in engine.all]).T)
        return ended if keep_requests else ended._replace(requests=None)

    size = max(map(len, tables))
    records = in_windows((outcome(run) for run in range(len(tables))), every, requests=size)
    dataset = as_dataset(
        records,
        COUNTS,
        tables,
        blocks=[each.blocks for each in all_limits],
        block_size=[each.block_size for each in all_limits],
        every=every,
        label=rules.label,
        unit=clocks[0].unit,
    )
    return dataset.assign(_found(found, size)) if keep_requests else dataset


def _texts(tables: list[Requests], prompts: list[Prompts | None]) -> list[Prompts]:
    """What each run's requests say; looked at once where runs have them in common."""
    known: dict[tuple[int, int], Prompts] = {}
    for table, said in zip(tables, prompts, strict=True):
        key = (id(table), id(said))
        if key not in known:
            known[key] = checked_prompts(table, said)
    return [known[id(table), id(said)] for table, said in zip(tables, prompts, strict=True)]


class _Names:
    """The block names of the last prompts: runs one after the other often have them in common."""

    def __init__(self) -> None:
        self._last: tuple[Prompts, BlockNames] | None = None

    def of(self, prompts: Prompts, block_size: int) -> BlockNames:
        if self._last is not None:
            known, names = self._last
            if known is prompts and names.block_size == block_size:
                return names
        self._last = (prompts, BlockNames(prompts, block_size))
        return self._last[1]


def _found(found: list[np.ndarray], size: int) -> dict[str, tuple]:
    columns = np.stack([filled_up(each, 1, size, 0) for each in found])
    return labelled(
        ("run", "request"),
        {
            name: (columns[:, place], title, "token")
            for place, (name, title) in enumerate(_FOUND.items())
        },
    )
