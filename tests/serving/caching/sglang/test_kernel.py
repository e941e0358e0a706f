"""SGLang's kernel gives the same dataset as its source run as plain Python, bit for bit."""

import sys
from dataclasses import replace
from random import Random
from typing import Any

import pytest
import xarray as xr

from fluidkv.runs.batch import Watch
from fluidkv.runs.requests import Requests
from fluidkv.serving.caching import run as sglang_run
from fluidkv.serving.caching.run import serve_sglang
from fluidkv.serving.caching.sglang.kernel import engine
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.sglang_settings import SglangSettings
from tests.serving.caching.sglang.drawn import Run, drawn

LOOP = "fluidkv.serving.caching.sglang.kernel.loop"


def both(seeds: range) -> xr.Dataset:
    """Drawn servers, those of one unit in a batch, some of them with clients."""
    runs = [drawn(seed) for seed in seeds]
    found = []
    for jumps in (False, True):
        of_unit = [run for run in runs if run.clock.jumps == jumps]
        chance = Random(seeds.start + jumps)
        how: dict[str, Any] = {
            "clients": [chance.choice((None, None, 1, 3, 8)) for _ in of_unit],
            "every": chance.choice((1, 3, 50)),
            "iterations": chance.choice((None, None, 40)),
        }
        kernel, literal = (_served(of_unit, backend, **how) for backend in ("kernel", "reference"))
        assert kernel.identical(literal), (seeds, jumps)
        found.append(literal[["preempt", "hit_tokens", "served", "recomputed_tokens"]].sum())
    return found[0] + found[1]


def _served(runs: list[Run], backend: str, **how: Any) -> xr.Dataset:
    return serve_sglang(
        [run.requests for run in runs],
        [run.settings for run in runs],
        [run.clock for run in runs],
        [run.prompts for run in runs],
        backend=backend,
        **how,
    )


def test_datasets_are_equal() -> None:
    found = [both(range(start, start + 40)) for start in range(10_000, 10_120, 40)]
    for name in found[0]:
        assert sum(part[name].item() for part in found) > 20, name


@pytest.mark.thorough  # minutes
@pytest.mark.parametrize("start", range(20_000, 30_000, 1_000))
def test_datasets_of_10_000_drawn_servers_are_equal(start: int) -> None:
    for first in range(start, start + 1_000, 50):
        both(range(first, first + 50))


def test_a_run_may_be_done_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nodes, rows and work run out in the middle of it: it goes on where it was."""
    runs = [run for run in map(drawn, range(60)) if run.clock.jumps and run.settings.radix]
    whole = _served(runs, "kernel", every=3)
    told: list[tuple[int, int]] = []
    grown: list[int] = []
    more = engine.grown

    def counted(state: Any) -> Any:
        grown.append(state.space.nodes.size)
        return more(state)

    for name, value in (("_NODES", 2), ("_ROWS", 7), ("MOST_COST", 100), ("grown", counted)):
        monkeypatch.setattr(engine, name, value)
    parts = _served(runs, "kernel", every=3, on_progress=lambda *done: told.append(done))
    assert parts.identical(whole)
    assert len(grown) > len(runs)
    assert len(told) > 5 * len(runs)
    aborted = sum(len(run.requests) for run in runs) - int(whole.served.sum())
    assert told[-1] == (whole.iterations.sum(), whole.served.sum() + aborted)


def test_a_run_ends_where_somebody_who_is_told_of_it_says_so() -> None:
    def stop(*_: int) -> None:
        raise KeyboardInterrupt

    run = drawn(1)
    with pytest.raises(KeyboardInterrupt):
        _served([run, run, run], "kernel", on_progress=stop)


def test_a_run_that_begins_after_another_was_stopped_has_no_windows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """On other threads: an error of its own would be raised in place of what stopped the first."""

    def stopped(*_: object) -> Watch:
        watch = Watch(None)
        watch.stop.set()
        return watch

    monkeypatch.setattr(engine, "Watch", stopped)
    run = drawn(1)
    server = engine.SglangServer(run.requests, run.prompts, run.settings, run.clock)
    records = engine.run_sglang([server], iterations=1000)
    assert [len(windows) for windows in records.counts] == [0]


def test_times_of_requests_may_be_left_out() -> None:
    run = drawn(2)
    without = _served([run], "kernel", keep_requests=False)
    assert "last_token" not in without
    assert without.preempt.identical(_served([run], "kernel").preempt)


def test_few_requests_are_served_before_the_kernel_is_loaded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """ "auto" in a new process: the compiler takes longer to load than these take."""
    calls: list[int] = []
    run_sglang = sglang_run.run_sglang

    def counted(servers: Any, *, literally: bool, **how: Any) -> Any:
        calls.extend([] if literally else [len(servers)])
        return run_sglang(servers, literally=literally, **how)

    monkeypatch.setattr(sglang_run, "run_sglang", counted)
    monkeypatch.delitem(sys.modules, LOOP, raising=False)
    few, many = Requests([4] * 3, [8] * 3), Requests([4] * 40, [400] * 40)
    late = Requests([4] * 3, [8] * 3, arrival=[0, 0, 30_000])
    long = Requests([3_900] * 3, [1] * 3)
    settings, ticks = SglangSettings(4_000), IterationClock.iterations()
    jumps, chunks = replace(ticks, unit="s"), replace(settings, chunked_prefill_size=1)
    for requests, options, clock in (
        (few, settings, ticks),
        (many, settings, ticks),
        (late, settings, ticks),
        (late, settings, jumps),
        (long, settings, ticks),
        (long, chunks, ticks),
    ):
        monkeypatch.delitem(sys.modules, LOOP, raising=False)
        serve_sglang(requests, options, clock)
    assert len(calls) == 3
    serve_sglang(few, settings, backend="kernel")
    serve_sglang(few, settings)  # it is loaded
    assert len(calls) == 5


def test_numbers_that_no_integer_of_the_machine_holds() -> None:
    """A chunk and clients beyond 64 bits; what is asked for, in all."""
    asked = Requests([4] * 8, [30] * 8, max_output=[2**62 - 1] * 8)
    options = SglangSettings(100, chunked_prefill_size=2**70, clip=5, conservativeness=0.01)
    given = (asked, options, IterationClock.iterations())
    kernel, literal = (
        serve_sglang(*given, clients=2**70, backend=backend) for backend in ("kernel", "reference")
    )
    assert kernel.identical(literal)
    assert literal.preempt.sum() > 1
