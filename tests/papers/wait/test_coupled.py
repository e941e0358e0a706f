"""Coupled paths: the runs are real, the draws are shared, and what the proofs leave out shows."""

from fractions import Fraction
from typing import cast

import numpy as np
import pytest
from scipy import stats

from fluidkv.errors import InputError
from fluidkv.runs.requests import Requests
from fluidkv.wait.model import PromptType, WaitSystem
from fluidkv.wait.policy import Wait
from fluidkv.wait.runs.reference import WaitEngine
from fluidkv_papers.wait.instances.coupled import (
    ArrivalTimes,
    binomial_arrivals,
    coupled_paths,
    poisson_arrivals,
    type_paths,
)

SYSTEM = WaitSystem([PromptType(4, 3, 2), PromptType(2, 3, 4)], Fraction(1, 2), Fraction(1, 500))


def test_a_floor_of_n_does_not_dominate_and_one_less_than_twice_n_does() -> None:
    smallest = coupled_paths(2, [[1, 2]])
    assert smallest.queue.tolist() == [[1, 3]]
    assert smallest.dominating.tolist() == [[2, 2]]
    arrivals = poisson_arrivals(4.0, runs=200, batches=200, seed=1)
    assert (coupled_paths(4, arrivals).dominating < coupled_paths(4, arrivals).queue).any()
    raised = coupled_paths(4, arrivals, floor=7)
    assert (raised.dominating >= raised.queue).all()
    assert (raised.dominating == raised.queue).any()  # not a token above what is needed


def test_a_larger_share_never_has_fewer_arrivals() -> None:
    shares = np.tile([0.1, 0.25, 0.4], 100)
    some = binomial_arrivals(12, shares, runs=50, batches=300, seed=3)
    most = binomial_arrivals(12, 0.4, runs=50, batches=300, seed=3)
    assert (some <= most).all()
    assert (some[:, 2::3] == most[:, 2::3]).all()
    for share in (0.1, 0.25, 0.4):
        seen = some[:, shares == share]
        error = (12 * share * (1 - share) / seen.size) ** 0.5
        assert abs(seen.mean() - 12 * share) < 5 * error  # by chance once in 1.7e6 seeds


def test_binomial_arrivals_are_quantiles_at_the_seed_s_uniform_numbers() -> None:
    u = np.random.default_rng(7).random((30, 20))
    drawn = binomial_arrivals(12, 0.3, runs=30, batches=20, seed=7)
    assert drawn.tolist() == stats.binom.ppf(u, 12, 0.3).astype(int).tolist()


@pytest.mark.parametrize("kind", [np.uint8, np.uint64, np.int8])
def test_paths_are_the_same_from_every_kind_of_whole_number(kind: type) -> None:
    paths = coupled_paths(4, np.array([[3, 3, 3, 7]], kind), floor=0)
    assert paths.dominating.tolist() == [[0, 0, 0, 3]]
    assert paths.queue.tolist() == [[3, 6, 5, 8]]


class _AtGivenTimes(ArrivalTimes):
    """Five prompts at 0 and three at 1/2."""

    def _more(self, j: int) -> None:
        self.times[j] = np.array([0.0] * 5 + [0.5] * 3 + [1e9] * 9)


def test_a_full_time_that_ends_with_the_batch_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fluidkv_papers.wait.instances.coupled.ArrivalTimes", _AtGivenTimes)
    system = WaitSystem([PromptType(1, 3, 1)], 1, 0)  # each batch takes 1, as does a full one
    paths = type_paths(system, (1,), runs=1, batches=3, floor=(0,))
    assert paths.end.tolist() == [[1.0, 2.0, 3.0]]
    assert paths.dominating.tolist() == [[[2], [1], [0]]]
    assert paths.dominating_at_end.tolist() == paths.dominating.tolist()


def test_runs_of_several_types_are_those_of_the_literal_engine() -> None:
    paths = type_paths(SYSTEM, (3, 2), runs=2, batches=60, seed=4)
    for run in range(2):
        came = ArrivalTimes(SYSTEM, np.random.default_rng([4, run]))
        came.until(float(paths.end[run, -1]))
        arrival = np.concatenate(came.times)
        kind = np.repeat([0, 1], [len(times) for times in came.times])
        order = np.argsort(arrival)
        requests = Requests(
            3, np.array([2, 4])[kind[order]], arrival=arrival[order], class_index=kind[order]
        )
        engine = WaitEngine(requests, Wait((3, 2)), SYSTEM.clock)
        for end, queue, joined in zip(
            paths.end[run], paths.queue[run], paths.joined[run], strict=True
        ):
            step = engine.step()
            assert step is not None
            engine.arrive()
            waiting = [prompt.type for prompt in engine.waiting]
            assert engine.now == end
            assert [waiting.count(0), waiting.count(1)] == queue.tolist()
            assert step["joined"] == joined.sum()


def test_dominating_types_take_the_arrivals_of_full_times() -> None:
    paths = type_paths(SYSTEM, (3, 2), runs=1, batches=40, seed=2)
    came = ArrivalTimes(SYSTEM, np.random.default_rng([2, 0]))
    n = level = np.array([3, 2])
    for b in range(40):
        t = paths.full_time
        level = np.maximum(n, level + came.until((b + 1) * t) - came.until(b * t) - n)
        assert (level == paths.dominating[0, b]).all()
    first = int(paths.end[0, 20] // paths.full_time) - 1
    assert (paths.dominating_at_end[0, 20] == paths.dominating[0, first]).all()


def test_bad_input_is_named() -> None:
    for argument, call in (
        ("mean", lambda: poisson_arrivals(-1.0, runs=1, batches=1)),
        ("share", lambda: binomial_arrivals(3, [0.5, 1.5], runs=1, batches=2)),
        ("share", lambda: binomial_arrivals(3, [0.5, 0.5], runs=1, batches=3)),
        ("size", lambda: binomial_arrivals(-1, 0.5, runs=1, batches=3)),
        ("size", lambda: binomial_arrivals(cast(int, 2.5), 0.5, runs=1, batches=3)),
        ("mean", lambda: poisson_arrivals(1e30, runs=1, batches=1)),
        ("runs", lambda: poisson_arrivals(1.0, runs=-1, batches=1)),
        ("seed", lambda: type_paths(SYSTEM, (3, 2), runs=1, batches=1, seed=-1)),
        ("arrivals", lambda: coupled_paths(4, np.array([[2**63]], np.uint64))),
        ("arrivals", lambda: coupled_paths(4, np.array([[2**62, 2**62]]))),
        ("thresholds", lambda: type_paths(SYSTEM, (3,), runs=1, batches=1)),
        ("floor", lambda: type_paths(SYSTEM, (3, 2), runs=1, batches=1, floor=(1,))),
    ):
        with pytest.raises(InputError) as raised:
            call()
        assert raised.value.argument == argument
