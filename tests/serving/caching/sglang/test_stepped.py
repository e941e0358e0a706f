"""Compiled, the loop is what it is as plain Python, step by step, on drawn servers and requests."""

from collections import Counter
from typing import Any

import pytest

from fluidkv.errors import InputError
from fluidkv.serving.caching.sglang.kernel import loop
from fluidkv.serving.caching.sglang.stepped import SglangEngine
from tests.serving.caching.sglang.drawn import Run, drawn, seen

MOST_STEPS = 5_000


def both(run: Run) -> Counter[str]:
    """Both engines on one run; what happened in it."""
    literal, fast = (SglangEngine(*run.given(), compiled=each) for each in (False, True))
    happened: Counter[str] = Counter()
    while literal.done < len(run.requests) and not literal.stuck:
        assert happened["steps"] < MOST_STEPS
        _offer(run, literal, fast)
        counts = literal.step()
        assert fast.step() == counts
        assert fast.row == literal.row
        assert fast.now == literal.now
        for name in ("idle", "stuck", "done"):
            assert getattr(fast, name) == getattr(literal, name)
        happened.update(
            steps=1,
            retracted=literal.row.retracted,
            aborted=len(literal.row.aborted_ids),
            mixed=literal.row.mode == "mixed",
            chunked=literal.row.chunked >= 0,
            hits=literal.row.hit_tokens > 0,
            idle=literal.row.mode == "idle",
        )
        if happened["steps"] % 17 == 0:
            assert list(map(seen, fast.all)) == list(map(seen, literal.all))
            for name in ("running", "waiting"):
                inside = [[r.index for r in getattr(each, name)] for each in (fast, literal)]
                assert inside[0] == inside[1], name
            every = range(len(run.requests))
            assert list(map(fast.found, every)) == list(map(literal.found, every))
    assert list(map(seen, fast.all)) == list(map(seen, literal.all))
    if run.clock.jumps and not literal.stuck:
        _leaps(run, literal)
    happened["stuck"] += literal.stuck
    return happened


def _offer(run: Run, *engines: Any) -> None:
    """Who has come; on a clock that jumps, the next one where nothing goes on."""
    first = engines[0]
    while first.arrived < len(run.requests):
        index = first.arrived
        due = run.requests.arrival[index] <= first.now
        if not due and not (first.idle and run.clock.jumps):
            return
        for engine in engines:
            engine.offer(index)


def _leaps(run: Run, literal: SglangEngine) -> None:
    """From one arrival to the next in one go."""
    fast = SglangEngine(*run.given(), compiled=True)
    for index, arrival in enumerate(run.requests.arrival.tolist()):
        fast.advance(arrival)
        fast.offer(index)
    fast.advance(float("inf"))
    assert list(map(seen, fast.all)) == list(map(seen, literal.all))
    assert (fast.now, fast.new_token_ratio) == (literal.now, literal.new_token_ratio)
    assert fast.available == literal.available


def test_a_long_call_is_made_in_parts_between_which_it_can_be_interrupted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls, advance = [], loop.advance

    def counted(*given: Any) -> int:
        calls.append(given)
        return advance(*given)

    monkeypatch.setattr(loop, "advance", counted)
    monkeypatch.setattr("fluidkv.serving.caching.sglang.stepped.MOST_COST", 50)
    runs = [run for run in map(drawn, range(30)) if run.clock.jumps]
    for run in runs:
        literal = SglangEngine(*run.given())
        for index, arrival in enumerate(run.requests.arrival.tolist()):
            literal.advance(arrival)
            literal.offer(index)
        literal.advance(float("inf"))
        _leaps(run, literal)
    assert len(calls) > 2 * sum(len(run.requests) for run in runs)


@pytest.mark.parametrize("compiled", [False, True])
def test_requests_of_a_table_come_as_those_that_are_offered_at_their_times(compiled: bool) -> None:
    runs = [run for run in map(drawn, range(40)) if run.clock.jumps]
    assert len(runs) > 10
    for run in runs:
        server = SglangEngine(*run.given(), offered=False, compiled=compiled)
        offered = SglangEngine(*run.given(), compiled=compiled)
        while offered.done < len(run.requests) and not offered.stuck:
            _offer(run, offered)
            assert (server.step(), server.row, server.now) == (
                offered.step(),
                offered.row,
                offered.now,
            )
        assert list(map(seen, server.all)) == list(map(seen, offered.all))


def test_nobody_is_offered_to_a_server_whose_requests_come_by_their_table() -> None:
    with pytest.raises(InputError, match="index"):
        SglangEngine(*drawn(0).given(), offered=False).offer(0)


@pytest.mark.parametrize("seeds", [range(60, 100), range(180, 220)])  # who is aborted is rare
def test_compiled_is_literal(seeds: range) -> None:
    happened: Counter[str] = Counter()
    for seed in seeds:
        happened += both(drawn(seed))
    for what in ("retracted", "aborted", "mixed", "chunked", "hits", "idle"):
        assert happened[what] > 0, what


@pytest.mark.thorough  # minutes
@pytest.mark.parametrize("start", range(0, 10_000, 1_000))
def test_compiled_is_literal_on_10_000_drawn_runs(start: int) -> None:
    for seed in range(start, start + 1_000):
        both(drawn(seed))
