"""What is on record of CacheOPT's experiments is what runs give."""

import pytest

from fluidkv_papers.cacheopt.instances.runs import Job, jobs, recorded, rounded, run_of

SOME = (Job("12", "alpaca", "s3", 0.5, 0), Job("12", "alpaca", "cacheopt", 0.5, 0))


def test_the_table_has_every_run_once_and_nobody_waits_for_ever() -> None:
    found = recorded()
    assert list(found) == list(jobs())
    sizes = {"alpaca": 250, "sharegpt": 80}
    assert all(row["served"] == sizes[job.trace] for job, row in found.items())


@pytest.mark.parametrize("job", SOME, ids=lambda job: f"{job.figure} {job.method}")
def test_a_run_gives_what_the_table_has(job: Job) -> None:
    assert rounded(run_of(job)) == recorded()[job]


@pytest.mark.thorough
@pytest.mark.parametrize("figure", sorted({job.figure for job in jobs()}))
def test_all_runs_give_what_the_table_has(figure: str) -> None:
    for job in jobs():
        if job.figure == figure:
            assert rounded(run_of(job)) == recorded()[job], job
