"""Objectives and who meets them, by hand and against plain counting over requests."""

from dataclasses import replace

import numpy as np
import pytest

from fluidkv.errors import InputError
from fluidkv.preempt.slo import (
    assigned,
    attainment,
    mean_times,
    normalised_latency,
    tails,
)
from fluidkv.runs.measuring import Span
from fluidkv.runs.precision import random_key
from fluidkv.runs.requests import Requests
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.engines import VLLM
from fluidkv.serving.limits import Limits
from fluidkv.serving.run import serve
from fluidkv.serving.server import Server
from fluidkv.serving.stepped import Engine

CLOCK = IterationClock(1.0, 2.0**-10, 2.0**-6)
TIGHT = Limits(60, max_num_batched_tokens=16)


def _table(seed: int, size: int = 40) -> Requests:
    draw = np.random.default_rng(seed)
    arrival = np.cumsum(draw.exponential(2.0, size))
    return Requests(draw.integers(1, 20, size), draw.integers(1, 30, size), arrival=arrival)


def test_objectives_are_mean_times_by_a_scale_and_the_chunks_of_the_prompt():
    table = Requests([100, 512, 513, 1024, 1025], [4] * 5)
    found = assigned(table, 2.0, 0.1, random_key(0), chunk=512)
    scale = found.tbt_slo / 0.1
    assert ((scale >= 0.5) & (scale <= 2.5)).all()
    assert found.ttft_slo == pytest.approx(2.0 * scale * [1, 1, 2, 2, 3], rel=1e-15)
    assert (found.input_length == table.input_length).all()
    again = assigned(table, 2.0, 0.1, random_key(0), chunk=512)
    other = assigned(table, 2.0, 0.1, random_key(1), chunk=512)
    assert (found.ttft_slo == again.ttft_slo).all()
    assert (found.ttft_slo != other.ttft_slo).all()


def test_scales_fill_their_range_evenly():
    table = Requests(np.ones(20_000, int), np.ones(20_000, int))
    drawn = assigned(table, 1.0, 1.0, random_key(3)).ttft_slo
    # The greatest distance of 20,000 uniform draws from their law exceeds 0.014 once in 1,000.
    grid = np.linspace(0.5, 2.5, 101)
    share = np.searchsorted(np.sort(drawn), grid) / drawn.size
    assert np.abs(share - (grid - 0.5) / 2).max() < 0.014
    assert (assigned(table, 1.0, 1.0, random_key(3), scale=(2, 2)).ttft_slo == 2.0).all()


def test_attainment_is_what_counting_over_requests_finds():
    tables = [assigned(_table(seed), 12.0, 1.2, random_key(seed)) for seed in range(4)]
    tables[1] = replace(tables[1], tbt_slo=np.inf)
    run = serve(tables, Server("vllm", TIGHT, clock=CLOCK, backend="reference"), iterations=150)
    found = attainment(run, tables)
    unfinished = 0
    for place, table in enumerate(tables):
        engine = Engine(table, Server(VLLM, TIGHT, CLOCK))
        for _ in range(150):
            engine.step()
        met = np.zeros((len(table), 2), bool)
        for row, each in enumerate(engine.all):
            first = each.first_token_at
            met[row, 0] = first is not None and first - each.arrival <= table.ttft_slo[row]
            done = each.outputs == table.output_length[row]
            gap = each.longest_gap
            met[row, 1] = done and (gap is None or gap <= table.tbt_slo[row])
            unfinished += not done
        assert found.ttft.values[place] == met[:, 0].mean()
        assert found.tbt.values[place] == met[:, 1].mean()
        assert found.both.values[place] == met.all(axis=1).mean()
    assert unfinished
    assert 0 < found.both.values.min() < found.ttft.values.max() < 1
    assert found.tbt.values[1] == run.finished.values[1].mean()


def test_attainment_in_a_span_and_of_tables_of_several_sizes():
    short, long = _table(5, 10), _table(6, 25)
    run = serve([short, long], Server("vllm", TIGHT, clock=CLOCK))
    kind = [assigned(each, 5.0, 1.0, random_key(0)) for each in (short, long)]
    both = attainment(run, kind)
    for place, (table, alone) in enumerate(zip((short, long), kind, strict=True)):
        single = attainment(serve(table, Server("vllm", TIGHT, clock=CLOCK)), alone)
        assert both.both.values[place] == single.both.item()
    middle = float(long.arrival[12])
    early = attainment(run.isel(run=[1]), kind[1], span=Span(-np.inf, middle))
    late = attainment(run.isel(run=[1]), kind[1], span=Span(middle, np.inf))
    whole = 12 * early.ttft.item() + 13 * late.ttft.item()
    assert whole == pytest.approx(25 * both.ttft.values[1], rel=1e-14)


def test_nobody_has_objectives_that_nobody_was_given():
    run = serve(_table(1), Server("vllm", TIGHT, clock=CLOCK))
    assert attainment(run, _table(1)).both.item() == 1


def test_mean_times_and_normalised_latency_by_hand():
    clock = IterationClock(1.0)
    fast = serve(Requests([4, 4], [3, 1]), Server("vllm", Limits(100), clock=clock))
    slow = serve(Requests([4, 4], [3, 1]), Server("vllm", Limits(100, max_num_seqs=1), clock=clock))
    # First tokens at 1 and 1, or at 1 and 4; all gaps last 1.
    assert (mean_times([fast]).ttft, mean_times([fast]).tbt) == (1.0, 1.0)
    assert mean_times([fast, slow]).ttft == (1.0 + 2.5) / 2
    assert normalised_latency(slow).values.tolist() == [[3 / 3, 4 / 1]]
    assert tails(slow).ttft_p50.item() == 2.5
    assert tails(slow).normalised_latency_mean.item() == 2.5
    assert tails(slow).longest_gap_p99.item() == 1.0


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("ttft", 0.0),
        ("tbt", -1),
        ("tbt", np.nan),
        ("scale", (2.5, 0.5)),
        ("scale", (0, 1)),
        ("scale", (1, np.inf)),
        ("scale", 1.5),
        ("chunk", 0),
    ],
)
def test_wrong_objectives_are_one_line(argument, value):
    given = {"ttft": 1.0, "tbt": 1.0, argument: value}
    with pytest.raises(InputError, match=f"^{argument}: got [^\n]*; allowed: [^\n]*$"):
        assigned(_table(0), key=random_key(0), **given)


def test_runs_without_requests_and_tables_of_others_are_refused():
    run = serve(_table(0), Server("vllm", TIGHT, clock=CLOCK))
    bare = serve(_table(0), Server("vllm", TIGHT, clock=CLOCK), keep_requests=False)
    with pytest.raises(InputError, match="requests kept"):
        attainment(bare, _table(0))
    with pytest.raises(InputError, match="those of the 1 runs"):
        attainment(run, _table(0, 7))
    with pytest.raises(InputError, match="at least one dataset"):
        mean_times([])
