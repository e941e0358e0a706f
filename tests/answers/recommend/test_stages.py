"""What is run and what is not: nothing to gain, pairs of the best, what if, versions, in front."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from fluidkv.answers import recommend_settings
from fluidkv.answers.recommend import runs
from fluidkv.answers.recommend.runs import run_all
from fluidkv.answers.recommend.settings import at_hand, of_the_engine
from fluidkv.answers.served.demand import Demand
from fluidkv.answers.served.scaled import longer_prompts
from fluidkv.answers.served.setting import Setting
from fluidkv.answers.served.slo import Slo
from fluidkv.prefix import Prompts, content
from fluidkv.runs.arrivals import poisson
from fluidkv.runs.measuring import metrics
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.engines import VLLM
from fluidkv.serving.limits import Limits
from fluidkv.serving.run import serve
from fluidkv.serving.server import Server
from fluidkv.workload import RequestClass, Workload

HALF = Fraction(1, 2)
TIERS = Workload((RequestClass(8, 10, HALF), RequestClass(8, 20, HALF)))
CLOCK = IterationClock(0.01, 1e-5, 1e-4)
FEW = {"watermark": [0.05], "max_num_seqs": [12], "admission_rate": [Fraction(1, 2)]}


def small(**options):
    given = {"clock": CLOCK, "requests": 104, "runs": 2, "backend": "reference"}
    return recommend_settings(TIERS, 400, **(given | options))


def test_without_a_preemption_or_a_queue_nothing_else_is_run():
    found = small(demand=Demand(rate=10.0))
    assert found.ran.nothing_to_gain
    assert found.settings == (Setting(),)
    assert (found.choice.index, found.choice.candidate) == (0, 0)
    assert found.to_dict()["nothing_to_gain"] is True
    table = poisson(TIERS, 10.0, 104, rng=0, per_iteration=False)
    alone = metrics(serve(table, Server("vllm", Limits(400, 16), clock=CLOCK, backend="reference")))
    assert alone.preemptions.item() == 0
    for name in found.felt:  # sums, in the order of another engine
        assert found.table[name].values[0, 0] == pytest.approx(alone[name].item(), rel=1e-12)


@pytest.mark.daily(2)
@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"demand": Demand(rate=200.0)}, "it preempts"),
        ({"demand": Demand(rate=60.0), "now": Setting(max_num_seqs=6)}, "its cap binds"),
        ({"demand": Demand(rate=10.0), "objective": "tpot_p99"}, "a smaller batch is faster"),
        ({"demand": Demand(rate=10.0), "candidates": FEW}, "somebody asked for it"),
        ({"demand": Demand()}, "everybody waits from the start"),
    ],
)
def test_otherwise_it_is(options, why):
    assert not small(runs=1, **options).ran.nothing_to_gain, why


def test_a_cap_that_binds_is_raised():
    found = small(demand=Demand(rate=60.0), now=Setting(max_num_seqs=6))
    assert found.choice.index
    assert (found.settings[found.choice.index].max_num_seqs or 0) > 6
    assert found.gains.of(found.choice.index, "ttft_p99").counts


@pytest.mark.thorough
def test_pairs_are_those_of_the_best_alone_where_runs_are_many(monkeypatch):
    options = {"engine": "sglang+cache", "demand": Demand(clients=30), "runs": 1}
    whole = small(**options)
    monkeypatch.setattr(runs, "WORK", 0)
    found = small(**options)
    assert found.ran.left_out > 0
    assert len(found.settings) + found.ran.left_out == len(whole.settings)
    assert found.to_dict()["simulated"]["settings_left_out"] == found.ran.left_out
    alone = [s for s in whole.settings if len(s.changed(whole.settings[0])) < 2]
    assert found.settings[: len(alone)] == tuple(alone)
    for index, setting in enumerate(found.settings):
        same = whole.settings.index(setting)
        for name in found.felt:
            assert found.table[name].values[index] == whole.table[name].values[same]
    assert run_all(found.plan, "reference", None).settings == found.settings


def test_what_if_serves_the_same_requests_with_other_memory_lengths_and_rate():
    found = small(demand=Demand(rate=100.0), candidates=FEW)
    rows = {(each.of, float(each.factor)): each for each in found.what_if}
    assert set(rows) == {("", 1), ("capacity", 2), ("capacity", 0.5), ("inputs", 2), ("rate", 2)}
    same = rows["", 1.0].metrics
    assert same is not None
    for name in found.felt:
        assert same[name] == found.mean(0, name)
    twice = rows["capacity", 2.0]
    tables = [poisson(TIERS, 100.0, 104, rng=r, per_iteration=False) for r in range(2)]
    run = serve(tables, Server("vllm", Limits(800, 16), clock=CLOCK, backend="reference"))
    assert twice.capacity == 800
    assert twice.metrics is not None
    assert twice.metrics["ttft_p99"] == pytest.approx(float(metrics(run).ttft_p99.mean()))
    assert twice.metrics["preemptions"] < same["preemptions"]
    assert rows["capacity", 0.5].capacity == 12 * 16  # whole blocks


def test_prompts_twice_as_long_share_twice_as_much():
    said = Prompts([content([[0, 5], [1, 3]]), content([[0, 5], [2, 4]])], [content([[3, 2]])] * 2)
    longer = longer_prompts(said, 2)
    assert longer.prompts == (content([[0, 10], [1, 6]]), content([[0, 10], [2, 8]]))
    assert longer.outputs == said.outputs


def test_what_if_says_what_does_not_fit_and_doubles_clients():
    large = Workload((RequestClass(200, 60),))
    found = recommend_settings(
        large,
        400,
        demand=Demand(clients=3),
        clock=CLOCK,
        candidates=FEW,
        requests=40,
        runs=1,
        backend="reference",
    )
    rows = {(each.of, float(each.factor)): each for each in found.what_if}
    assert rows["capacity", 0.5].metrics is None
    assert "260 tokens, does not fit" in rows["capacity", 0.5].why
    assert rows["clients", 2.0].metrics is not None
    assert ("rate", 2.0) not in rows


@pytest.mark.thorough
def test_both_picks_are_computed_where_a_version_lacks_a_flag():
    found = small(demand=Demand(clients=40), version="0.19.0", requests=200)
    marks = [s.watermark for s in found.settings]
    hand = at_hand(VLLM, found.settings, "0.19.0")
    assert {marks[i] for i in hand} == {0.0}
    assert set(hand) < set(of_the_engine(found.settings))
    assert {marks[i] for i in of_the_engine(found.settings)} > {0.0}
    assert found.picks.at_hand.index in (None, *hand)
    same = small(demand=Demand(clients=40), version="0.33.0", requests=200)
    assert same.picks.at_hand == same.picks.of_engine


def test_what_no_engine_has_is_never_the_pick():
    found = small(demand=Demand(clients=25), slos=[Slo("preemptions", 0)], candidates=FEW)
    for index in {found.choice.index, found.choice.candidate} - {None}:
        assert found.settings[index or 0].admission_rate is None
    only = FEW | {"watermark": [], "max_num_seqs": [], "admission_rate": [Fraction(1, 4)]}
    limited = small(demand=Demand(clients=25), slos=[Slo("preemptions", 0)], candidates=only)
    assert limited.choice.index is None
    assert limited.pick_in_front is not None
    assert limited.settings[limited.pick_in_front].admission_rate == Fraction(1, 4)
    assert limited.to_take


def test_goodput_counts_requests_within_all_bounds():
    slos = [Slo("ttft_p99", 0.15), Slo("tpot_p50", 0.02)]
    found = small(demand=Demand(rate=100.0), objective="goodput", slos=slos, candidates=FEW, runs=1)
    assert found.felt[0] == "goodput"
    assert found.plan.asked == ()
    table = poisson(TIERS, 100.0, 104, rng=0, per_iteration=False)
    run = serve(table, Server("vllm", Limits(400, 16), clock=CLOCK, backend="reference")).isel(
        run=0
    )
    ttft = run.first_token - run.arrival
    tpot = (run.last_token - run.first_token) / (run.output_length - 1)
    good = int(((ttft <= 0.15) & (tpot <= 0.02)).sum())
    assert 0 < good < 104
    assert found.table.goodput.values[0, 0] == pytest.approx(good / float(run.time.max()))
    parts = found.ran.segments
    assert parts is not None
    assert np.mean(parts.goodput.values[0, 0]) == pytest.approx(good / 104)


@pytest.mark.thorough
def test_conservativeness_is_a_knob_of_sglang():
    options = {"engine": "sglang+cache", "demand": Demand(clients=40), "runs": 1}
    found = small(**options, block_size=1)
    values = {s.conservativeness for s in found.settings}
    assert {None, 0.3, 0.6, 1.3} == values
    index = found.settings.index(replace(found.settings[0], conservativeness=0.3))
    assert found.flags(index) == (("--schedule-conservativeness", "0.3"),)
    written = small(**options | {"engine": "sglang+cache:conservativeness=0.3"}, block_size=1)
    for name in found.felt:
        assert written.mean(0, name) == found.mean(index, name)
