"""The preemption policies on record are what runs give."""

import pytest

from fluidkv_papers.cacheopt.instances.policies import Job, Measures, jobs, recorded, run_of


def _rounded(measures: Measures) -> Measures:
    return Measures(*(float(f"{value:.6g}") for value in measures))


@pytest.mark.parametrize("policy", ["fcfs", "lkvo"])
def test_some_runs_are_as_recorded(policy):
    job = Job("alpaca", 0, policy, 5)
    assert _rounded(run_of(job)) == recorded()[job]


def test_the_table_has_every_run():
    assert list(recorded()) == list(jobs())


@pytest.mark.thorough
@pytest.mark.parametrize("job", tuple(jobs()), ids=lambda job: "-".join(map(str, job)))
def test_every_run_is_as_recorded(job):
    assert _rounded(run_of(job)) == recorded()[job]
