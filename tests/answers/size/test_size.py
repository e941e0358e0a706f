"""The size that is found meets the SLOs, the next one does not, and the requests are the same."""

import numpy as np
import pytest

import fluidkv as fk
from fluidkv.answers.served.slo import Slo
from fluidkv.answers.size.figures import size_figure
from fluidkv.answers.size.search import meets
from fluidkv.answers.size.sizes import Find, Size
from fluidkv.answers.size.trials import measured_sizes, replicas_of
from fluidkv.errors import InputError
from fluidkv.runs.arrivals import replayed
from fluidkv.runs.measuring import metrics
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.limits import Limits
from fluidkv.traces import Trace
from fluidkv.workload import RequestClass, Workload

CLOCK = IterationClock(0.01, 1e-6, 1e-5)
MIX = Workload.from_lengths([(40, 30), (120, 60), (300, 20), (80, 90)])
SLOS = (Slo("ttft_p99", 1.0), Slo("tpot_p99", 0.05))


def answer(find: Find = "kv", **options):
    given = {
        "engine": "vllm+cache",
        "clock": CLOCK,
        "rate": 8.0,
        "requests": 60,
        "runs": 2,
        "draws": 0,
    }
    return fk.size_server(MIX, SLOS, find=find, **{**given, **options})


@pytest.fixture(scope="module")
def pool():
    return answer(capacity=4096)


@pytest.fixture(scope="module")
def rates():
    return answer("rate", capacity=4096)


@pytest.fixture(scope="module")
def fleets():
    return answer("replicas", capacity=1024, rate=14.0)


@pytest.fixture(scope="module", params=["pool", "rates", "fleets"])
def found(request):
    return request.getfixturevalue(request.param)


def test_the_answer_and_every_easier_size_tried_meet_the_slos(found):
    order = list(found.along)  # hardest first
    place = order.index(found.answer)
    assert all(meets(found.along[size], SLOS) for size in order[place:])


def test_the_next_harder_size_misses_an_slo_and_is_near(found):
    order = list(found.along)
    blocker = order[order.index(found.answer) - 1]
    assert blocker == found.edge.blocker
    assert not meets(found.along[blocker], SLOS)
    axis = found.plan.axis
    low, high = sorted((axis.of(blocker), axis.of(found.answer)))
    assert high <= low * (1 + found.within) or high - low <= 1


def test_metrics_are_those_of_a_server_of_that_size_alone(pool):
    plan = pool.plan
    limits = Limits(pool.tokens(pool.answer), plan.limits.block_size)
    run = fk.serve(list(plan.tables), fk.Server("vllm+cache", limits, clock=CLOCK))
    alone = metrics(run)
    for name in ("ttft_p99", "tpot_p99", "preemptions", "output_throughput_per_time"):
        np.testing.assert_array_equal(pool.found(pool.answer)[name], alone[name].values)


def test_every_size_serves_all_requests(found):
    wanted = len(found.plan.tables[0])
    for values in found.along.values():
        assert (values["completions"] == wanted).all()


@pytest.mark.thorough
def test_requests_do_not_depend_on_capacity():
    small, large = (answer(capacity=tokens, requests=20, runs=1) for tokens in (2048, 8192))
    for one, other in zip(small.plan.tables, large.plan.tables, strict=True):
        np.testing.assert_array_equal(one.arrival, other.arrival)
        np.testing.assert_array_equal(one.input_length, other.input_length)
    assert small.answer == large.answer  # today's memory is shown, and decides nothing


def test_peak_fits_in_the_pool(found):
    for size, values in found.along.items():
        assert values["peak_kv"].max() <= found.tokens(size)
        assert values["peak_share"].max() <= 1


def test_load_falls_with_memory_and_grows_with_the_rate(pool):
    plan, at = pool.plan, pool.answer
    more = Size(2 * at.blocks)
    assert plan.load(more) < plan.load(at)
    assert plan.load(Size(at.blocks, 2.0)) == pytest.approx(2 * plan.load(at), rel=1e-12)
    assert plan.load(Size(at.blocks, 1.0, 2)) == pytest.approx(plan.load(at) / 2, rel=1e-12)


def test_the_cliff_is_among_the_sizes_tried_and_is_worse(found):
    cliff = found.cliff
    if cliff.worse is not None:
        assert found.worst(cliff.worse, cliff.metric) >= 2 * cliff.at
        order = list(found.along)
        assert order.index(cliff.worse) < order.index(found.answer)
    assert cliff.at == found.worst(found.answer, cliff.metric)


def test_what_binds_is_named(found):
    """Arrivals never exceed a bound by more than a run of few requests lets pass."""
    values = found.to_dict()["bounds"]
    rate = found.rate(found.answer) / found.answer.replicas
    least = min(found.bounds.memory, found.bounds.compute)
    assert values["memory"] == found.bounds.memory
    assert (values["binds"] == "target") == (rate < 0.95 * least)


def test_the_picture_has_every_size_tried(found):
    data = size_figure(found).data()
    ttft = [found.worst(size, "ttft_p99") for size in found.along]
    np.testing.assert_array_equal(data["ttft_p99"], ttft)
    assert data["answer"] in data["at"]
    assert data["met"].tolist() == [float(found.meets(size)) for size in found.along]


# --- against something independent --------------------------------------------------------------


@pytest.mark.thorough
def test_the_highest_rate_of_a_single_server_is_that_of_its_queue():
    """Memory for one request at a time: M/D/1, whose mean wait is rho S / (2 (1 - rho)).

    A bound on the mean TTFT is met up to the rho at which that wait and an iteration are the bound.
    """
    steps, load = 4, 0.5
    service = steps * 0.01
    wait = load * service / (2 * (1 - load))
    found = fk.size_server(
        Workload((RequestClass(5, steps),)),
        (Slo("ttft_mean", wait + 0.01),),
        find="rate",
        capacity=16,
        clock=IterationClock(0.01, 0.0, 1e-12),
        requests=1000,
        runs=1,
        seed=5,
        draws=0,
        within=0.02,
    )
    # The wait is of 1,000 requests: some percent off, half of which shows in the rate.
    assert found.rate(found.answer) * service == pytest.approx(load, rel=0.06)
    assert found.plan.load(found.answer) < 1


def test_the_smallest_pool_for_a_batch_at_once_is_known():
    """n requests at once, nobody to wait or be preempted: n times what one comes to, in blocks."""
    count, inputs, outputs, block = 7, 33, 20, 16
    # One that is gone when the others come, which is in the middle of its only iteration.
    times = (0.0, *(0.005 + place * 1e-6 for place in range(count)))
    trace = fk.Trace((1, *(inputs,) * count), (1, *(outputs,) * count), times)
    found = fk.size_server(
        trace,
        (Slo("preemptions", 0.0), Slo("ttft_p99", 0.03)),
        clock=CLOCK,
        engine="vllm+cache",
        block_size=block,
        draws=0,
    )
    assert found.answer.blocks == count * -(-(inputs + outputs - 1) // block)
    assert found.edge.blocker == Size(found.answer.blocks - 1)


# --- what is measured ---------------------------------------------------------------------------


def test_a_fleet_of_one_measures_what_its_run_does(pool):
    run = fk.serve(
        list(pool.plan.tables),
        fk.Server("vllm+cache", Limits(pool.tokens(pool.answer), 16), clock=CLOCK),
    )
    theirs, [ours] = metrics(run), measured_sizes(pool.plan, [pool.answer]).values()
    for name in set(ours) & {str(each) for each in theirs}:
        np.testing.assert_allclose(ours[name], theirs[name].values, rtol=1e-12, err_msg=name)
    assert {"ttft_p99", "recompute_tax", "throughput_per_time"} <= set(ours)


def test_a_fleet_is_measured_over_all_its_requests(fleets):
    [table], size = fleets.plan.tables[:1], Size(64, replicas=3)
    parts = [tables[0] for tables in replicas_of(size, [table])]
    assert sum(map(len, parts)) == len(table)
    np.testing.assert_array_equal(
        np.sort(np.concatenate([p.arrival for p in parts])), table.arrival
    )
    runs = [
        fk.serve(part, fk.Server("vllm+cache", Limits(1024, 16), clock=CLOCK)) for part in parts
    ]
    ttft = np.concatenate([(r.first_token - r.arrival).values[0] for r in runs])
    values = measured_sizes(fleets.plan, [size])[size]
    assert values["ttft_p99"][0] == pytest.approx(np.quantile(ttft, 0.99), rel=1e-12)
    assert values["preemptions"][0] == sum(float(metrics(r).preemptions[0]) for r in runs)
    assert not fleets.plan.one_by_one


def test_a_faster_trace_is_the_same_requests_sooner():
    table = replayed((5, 6, 7), (2, 3, 4), (0.0, 1.0, 3.0))
    [[twice]] = replicas_of(Size(9, speed=2.0), [table])
    np.testing.assert_array_equal(twice.arrival, [0, 0.5, 1.5])
    np.testing.assert_array_equal(twice.output_length, table.output_length)


# --- what is refused ----------------------------------------------------------------------------


def test_bounds_that_no_pool_meets_are_refused_with_the_best(capfd):
    with pytest.raises(InputError) as refused:
        fk.size_server(MIX, (Slo("ttft_p99", 1e-4),), rate=8.0, clock=CLOCK, requests=60, runs=1)
    assert "no KV pool meets ttft_p99=0.0001s; with memory for all requests it is" in str(
        refused.value
    )
    assert "the clock is the limit" in str(refused.value)


def test_two_bounds_that_hold_together_in_a_narrow_range_are_found():
    """Every pool up to memory for all was run one by one: only some of 54 to 90 blocks meet both.

    The first grid has 51 and 69 blocks, and neither does.
    """
    rng = np.random.default_rng(1)
    times = np.cumsum(rng.exponential(0.2, 40))
    inputs, outputs = rng.integers(20, 200, 40), rng.integers(20, 80, 40)
    trace = Trace(
        tuple(inputs.tolist()),
        tuple(outputs.tolist()),
        arrival_times_s=tuple((times - times[0]).tolist()),
    )
    bounds = (Slo("ttft_p99", 7.16793), Slo("tpot_p99", 0.0585897))
    found = fk.size_server(
        trace, bounds, clock=IterationClock(0.02, 2e-5, 1e-4), max_num_batched_tokens=512, draws=0
    )
    assert meets(found.along[found.answer], bounds)
    assert 54 <= found.answer.blocks <= 90


def test_a_cap_is_named_where_it_may_be_the_limit():
    from fluidkv.answers.served.setting import Setting

    with pytest.raises(InputError, match="max_num_seqs 1 are the limit"):
        fk.size_server(
            MIX,
            (Slo("ttft_p99", 0.5),),
            rate=8.0,
            clock=CLOCK,
            requests=60,
            runs=1,
            setting=Setting(max_num_seqs=1),
        )


def test_the_largest_request_is_named_by_its_place():
    trace = fk.Trace((40, 9000, 30), (5, 700, 9), (0.0, 1.0, 2.0), name="trace.csv")
    with pytest.raises(InputError) as refused:
        fk.size_server(trace, SLOS, capacity=4096, clock=CLOCK)
    assert "request 1, counted from 0 (9,000 input + 700 output tokens)" in str(refused.value)


@pytest.mark.parametrize("engine", ["sglang+cache", "trtllm-no-evict", "vllm-0.11+cache"])
def test_other_engines_have_a_smallest_memory_of_their_own(engine):
    found = fk.size_server(
        MIX,
        (Slo("tpot_p99", 10.0),),
        rate=1.0,
        clock=CLOCK,
        requests=12,
        runs=1,
        engine=engine,
        backend="auto",
        draws=0,
    )
    least = found.plan.least
    assert found.answer.blocks == least  # hardly anything is asked: all that fits is enough
    assert found.edge.blocker is None
    assert least * found.plan.limits.block_size >= 300 + 20
