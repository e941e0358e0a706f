"""Coupled paths: the runs are real, the draws are shared, and what the proofs leave out shows."""

from fractions import Fraction

import numpy as np
import pytest

from fluidkv.runs.requests import Requests
from fluidkv.wait.model import PromptType, WaitSystem
from fluidkv.wait.policy import Wait
from fluidkv.wait.runs.reference import WaitEngine
from fluidkv_papers.wait.instances.coupled import (
    ArrivalTimes,
    type_paths,
)

SYSTEM = WaitSystem([PromptType(4, 3, 2), PromptType(2, 3, 4)], Fraction(1, 2), Fraction(1, 500))


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
