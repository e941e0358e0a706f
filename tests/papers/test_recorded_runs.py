"""Tables of runs on record: each has all of its rows, and runs give what stands there."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import astuple, is_dataclass
from typing import Any, NamedTuple

import pytest

from fluidkv_papers.cacheopt.instances import policies, runs
from fluidkv_papers.tokenpd.instances import simulated
from fluidkv_papers.vllm.instances import best_survey, watermark_draws
from fluidkv_papers.vllm.instances.watermark_runs import WATERMARKS, fitted_clock, predicted


class Recorded(NamedTuple):
    """A table, and how its rows are computed.

    Fields:
        name: of the table.
        keys: of all rows.
        rows: the table, by key.
        computed: a row, of a run.
        daily: keys of rows that take no time.
        deeper: keys of those that are computed with --thorough.
        digits: that a row is rounded to before it is compared; None to compare within 1e-5, where
            six digits are on record and sums depend on the machine.
    """

    name: str
    keys: Iterable[Any]
    rows: Callable[[], Mapping[Any, Any]]
    computed: Callable[[Any], Any]
    daily: tuple[Any, ...]
    deeper: tuple[Any, ...]
    digits: int | None


SURVEYS = range(len(best_survey.SURVEYS))
DRAWS = range(watermark_draws.DRAWS)

RECORDED = (
    Recorded(
        "CacheOPT, policies",
        tuple(policies.jobs()),
        policies.recorded,
        policies.run_of,
        tuple(policies.Job("alpaca", 0, policy, 5) for policy in ("fcfs", "lkvo")),
        tuple(policies.jobs()),
        6,
    ),
    Recorded(
        "CacheOPT, figures",
        tuple(runs.jobs()),
        runs.recorded,
        runs.run_of,
        tuple(runs.Job("12", "alpaca", method, 0.5, 0) for method in ("s3", "cacheopt")),
        tuple(runs.jobs()),
        5,
    ),
    Recorded(
        "Token-PD, Tables 1 and 2",
        tuple(simulated.jobs()),
        simulated.recorded,
        simulated.computed,
        (),
        tuple(job for job in simulated.jobs() if job.seed == simulated.SEEDS[0]),
        4,
    ),
    Recorded(
        "vLLM, best victims",
        SURVEYS,
        lambda: dict(enumerate(best_survey.recorded())),
        lambda survey: {s.victim: s for s in best_survey.computed(best_survey.SURVEYS[survey])},
        (),
        tuple(SURVEYS),
        17,
    ),
    Recorded(
        "vLLM, watermarks",
        DRAWS,
        lambda: dict(enumerate(watermark_draws.recorded())),
        watermark_draws.computed,
        (1,),
        tuple(DRAWS[2:]),
        None,
    ),
)


@pytest.mark.parametrize("table", RECORDED, ids=lambda table: table.name)
def test_every_row_is_on_record(table: Recorded) -> None:
    assert list(table.rows()) == list(table.keys)


@pytest.mark.parametrize(
    ("table", "key"),
    [(table, key) for table in RECORDED for key in table.daily],
    ids=lambda each: each.name if isinstance(each, Recorded) else str(each),
)
def test_a_run_is_what_is_on_record(table: Recorded, key: Any) -> None:
    _same(table, key)


@pytest.mark.thorough
@pytest.mark.parametrize("table", RECORDED, ids=lambda table: table.name)
def test_all_runs_are_what_is_on_record(table: Recorded) -> None:
    for key in table.deeper:
        _same(table, key)


def _same(table: Recorded, key: Any) -> None:
    ours, theirs = _values(table.computed(key)), _values(table.rows()[key])
    for value, known in zip(ours, theirs, strict=True):
        if not isinstance(known, float):
            assert value == known, key
        elif table.digits is None:
            assert value == pytest.approx(known, rel=1e-5), key
        else:
            assert float(f"{value:.{table.digits}g}") == known, key


def _values(row: Any) -> Iterator[Any]:
    """What stands in a row, one after the other, in records and their lists and mappings."""
    if is_dataclass(row) and not isinstance(row, type):
        row = astuple(row)
    elif isinstance(row, Mapping):
        row = tuple(part for pair in row.items() for part in pair)
    if isinstance(row, tuple | list):
        for part in row:
            yield from _values(part)
    else:
        yield row


def test_nobody_of_cacheopts_figures_waits_for_ever() -> None:
    sizes = {"alpaca": 250, "sharegpt": 80}
    assert all(row["served"] == sizes[job.trace] for job, row in runs.recorded().items())


def test_best_victims_are_on_record_with_every_rule_and_none_spends_less() -> None:
    names = {victim.name for victim in best_survey.RULES}
    for scores in best_survey.recorded():
        assert set(scores) == names
        assert all(score.spent >= score.best for score in scores.values())


def test_draws_of_watermarks_have_every_watermark_and_begin_with_the_client_s_order() -> None:
    first, *others = watermark_draws.recorded()
    assert {tuple(row.watermark for row in table) for table in (first, *others)} == {WATERMARKS}
    for ours, known in zip(predicted(fitted_clock()), first, strict=True):
        assert ours.preemptions == known.preemptions
        assert astuple(ours) == pytest.approx(astuple(known), rel=1e-5)
