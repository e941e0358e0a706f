"""Counting by cohort equals the literal engine, row by row; its state carries a run on."""

from fractions import Fraction

import numpy as np
import pytest

from fluidkv.errors import InputError
from fluidkv.runs.requests import Requests
from fluidkv.serving.limits import Limits
from fluidkv.serving.metastability.cohorts import idle, serve_cohorts
from fluidkv.serving.run import serve
from fluidkv.serving.server import Server
from fluidkv.workload import RequestClass

ITERATIONS = 400


def _literally(request: RequestClass, limits: Limits, arrivals: np.ndarray):
    """The same arrivals through `serve`, one table a run; one more request keeps it to the end."""
    tables = []
    for column in arrivals.T:
        times = np.append(np.repeat(np.arange(column.size), column), ITERATIONS)
        size = times.size
        tables.append(
            Requests(
                np.full(size, request.input_length),
                np.full(size, request.decode_length),
                arrival=times.astype(float),
            )
        )
    return serve(
        tables,
        Server("restart", limits, backend="reference"),
        iterations=ITERATIONS,
        keep_requests=False,
    )


@pytest.mark.parametrize(
    ("lengths", "limits", "rate"),
    [
        ((10, 40), Limits(2000), 1.5),
        ((3, 7), Limits(61), 1.6),
        ((1, 1), Limits(5), 2.2),
        ((5, 2), Limits(40), 4.0),
        ((3, 7), Limits(61, max_num_seqs=7), 1.3),
        ((3, 7), Limits(61, admission_rate=Fraction(5, 4)), 1.3),
        ((10, 40), Limits(2000, max_num_seqs=60, admission_rate=Fraction(100, 61)), 1.7),
    ],
)
def test_equals_the_literal_engine(lengths, limits: Limits, rate: float) -> None:
    request = RequestClass(*lengths)
    arrivals = np.random.default_rng(7).poisson(rate, (ITERATIONS, 2))
    records, _ = serve_cohorts(request, limits, arrivals)
    run = _literally(request, limits, arrivals)
    if limits.admission_rate is None and limits.max_num_seqs is None and lengths[1] > 1:
        assert records.preempt.sum() > 0  # else the comparison would miss eviction
    for name in records._fields:
        np.testing.assert_array_equal(getattr(records, name), run[name].values, err_msg=name)


def test_a_run_goes_on_from_its_state() -> None:
    request, limits = RequestClass(10, 40), Limits(2000, admission_rate=Fraction(9, 4))
    arrivals = np.random.default_rng(3).poisson(2.5, (900, 3))
    whole, last = serve_cohorts(request, limits, arrivals)
    first, state = serve_cohorts(request, limits, arrivals[:450])
    second, end = serve_cohorts(request, limits, arrivals[450:], state=state)
    assert whole.preempt.sum() > 0
    for name in whole._fields:
        joined = np.concatenate([getattr(first, name), getattr(second, name)], axis=1)
        np.testing.assert_array_equal(joined, getattr(whole, name))
    for ours, theirs in zip(end, last, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_a_state_is_not_changed_by_running_on() -> None:
    request = RequestClass(3, 7)
    state = idle(request, 2, queue=50)
    serve_cohorts(request, Limits(61), np.zeros((30, 2), int), state=state)
    assert state.queue.tolist() == [50, 50]
    assert not state.cohorts.any()


def test_windows_sum_flows_and_average_levels() -> None:
    request, arrivals = RequestClass(3, 7), np.random.default_rng(0).poisson(1.6, (70, 2))
    fine, _ = serve_cohorts(request, Limits(61), arrivals)
    coarse, _ = serve_cohorts(request, Limits(61), arrivals, every=7)
    np.testing.assert_array_equal(coarse.preempt, fine.preempt.reshape(2, 10, 7).sum(-1))
    np.testing.assert_array_equal(coarse.waiting, fine.waiting.reshape(2, 10, 7).mean(-1))


def test_runs_are_selected() -> None:
    request = RequestClass(3, 7)
    _, state = serve_cohorts(request, Limits(61), np.random.default_rng(0).poisson(1.6, (70, 3)))
    one = state.select(np.array([2]))
    assert one.queue.tolist() == state.queue[2:].tolist()
    np.testing.assert_array_equal(one.cohorts[:, 0], state.cohorts[:, 2])


@pytest.mark.parametrize(
    ("arrivals", "more", "named"),
    [
        (np.ones((4, 1)), {}, "arrivals"),
        (np.ones(4, int), {}, "arrivals"),
        (-np.ones((4, 1), int), {}, "arrivals"),
        (np.ones((4, 1), int), {"every": 3}, "every"),
        (np.ones((4, 1), int), {"state": idle(RequestClass(3, 7), 2)}, "state"),
        (np.ones((4, 1), int), {"limits": Limits(61, watermark=0.1)}, "limits.watermark"),
        (np.ones((4, 1), int), {"limits": Limits(61, block_size=2)}, "limits.block_size"),
        (np.ones((4, 1), int), {"limits": Limits(9)}, "limits.capacity"),
    ],
)
def test_bad_input_is_one_line(arrivals, more, named: str) -> None:
    arguments = {"limits": Limits(61), **more}
    with pytest.raises(InputError, match=rf"^{named}: got "):
        serve_cohorts(RequestClass(3, 7), arrivals=arrivals, **arguments)
