"""What segments say of a table, against the literal engine and against formulas of their own."""

from collections import defaultdict
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given

from fluidkv.errors import InputError
from fluidkv.runs.requests import Requests
from fluidkv.serving.clock import IterationClock
from fluidkv.wait.policy import NestedWait, Wait
from fluidkv.wait.runs.history import Schedule, _largest, counts_of, times_of
from fluidkv.wait.runs.reference import COUNTS, WaitEngine
from fluidkv.wait.runs.turns import Segment, segments_of
from tests.wait.runs.tables import Case, cases


class Watched:
    """The literal engine, and what each segment did in each of its runs, as the engine has it."""

    def __init__(self, case: Case) -> None:
        self.engine = WaitEngine(*case)
        self.segments = len(case.policy.thresholds)
        self.members: dict[
            tuple[int, int], list[tuple[int, int]]
        ] = {}  # (segment, b): index, stage
        self.start, self.end, self.ran, self.rows = [], [], [], []
        runs = [0] * self.segments
        while (batch := self.engine.select()) is not None:
            by_segment = defaultdict(list)
            for prompt in batch:
                segment = self._segment(case, prompt.type, prompt.stage)
                by_segment[segment].append((prompt.index, prompt.stage))
            for segment, members in by_segment.items():
                runs[segment] += 1
                self.members[segment, runs[segment]] = members
            self.start.append(self.engine.now)
            self.ran.append([segment in by_segment for segment in range(self.segments)])
            self.rows.append(list(self.engine.execute(batch).values()))
            self.end.append(self.engine.now)

    @staticmethod
    def _segment(case: Case, kind: int, stage: int) -> int:
        if isinstance(case.policy, Wait):
            return kind
        return sum(stage > end for end in case.policy.ends)

    @property
    def schedule(self) -> Schedule:
        ran = np.array(self.ran, bool).reshape(-1, self.segments)
        return Schedule(np.array(self.start), np.array(self.end), ran)


@given(cases())
def test_the_table_alone_says_who_is_in_which_run_of_a_segment(case: Case):
    """The theorem, part 1, and the tokens and completions of part 2, run by run."""
    watched = Watched(case)
    segments = segments_of(case.requests, case.policy)
    inputs, outputs = case.requests.input_length, case.requests.output_length
    for (index, b), members in watched.members.items():
        segment = segments[index]
        assert sorted(members) == sorted(_members(segment, b))
        rows, stages = np.array(members).T
        assert segment.size[b] == len(members)
        assert segment.tokens[b] == (inputs[rows] + stages).sum()
        completes = outputs[rows] == stages
        assert segment.completed[b] == completes.sum()
        assert segment.completed_outputs[b] == outputs[rows][completes].sum()


def _members(segment: Segment, b: int) -> list[tuple[int, int]]:
    """Cohort c is at stage start + b - c, up to its last one here: the theorem's own words."""
    found = []
    for place, (row, last) in enumerate(zip(segment.prompts, segment.last, strict=True), start=1):
        cohort = -(-place // segment.threshold)
        stage = segment.start + b - cohort
        if b >= cohort and stage <= last:
            found.append((int(row), stage))
    return found


@given(cases())
def test_history_reads_off_what_the_engine_counts(case: Case):
    """With the literal engine's schedule: every count, and what became of every prompt."""
    watched = Watched(case)
    segments = segments_of(case.requests, case.policy)
    counts = counts_of(case.requests, segments, watched.schedule)
    expected = np.array(watched.rows, np.int64).reshape(-1, len(COUNTS))
    for index, name in enumerate(COUNTS):
        assert counts[:, index].tolist() == expected[:, index].tolist(), name
    times = times_of(case.requests, segments, watched.schedule)
    for row, prompt in enumerate(watched.engine.all):
        for name, value in (
            ("admitted", prompt.admitted_at),
            ("first_token", prompt.first_token_at),
            ("last_token", prompt.last_token_at),
        ):
            found = getattr(times, name)[row]
            assert np.isnan(found) if value is None else found == value, name
        assert times.longest_gap[row] == prompt.longest_gap
        assert times.outputs[row] == max(0, prompt.stage - 1)
        assert times.finished[row] == prompt.finished


@given(cases())
def test_a_gate_opens_when_the_last_newcomer_has_come(case: Case):
    """Part 3: a segment has its threshold before it exactly from its gate on."""
    watched = Watched(case)
    schedule = watched.schedule
    runs = np.cumsum(schedule.ran, axis=0) - schedule.ran
    segments = segments_of(case.requests, case.policy)
    for index, segment in enumerate(segments):
        if segment.follows:
            clock, come = runs[:, index - 1], segments[index - 1].passed[runs[:, index - 1]]
        else:
            of_type = case.requests.arrival[segment.prompts]
            clock, come = schedule.start, np.searchsorted(of_type, schedule.start, side="right")
        enough = come - segment.threshold * runs[:, index] >= segment.threshold
        assert (enough == (segment.gate[runs[:, index]] <= clock)).all()


@given(cases())
def test_nested_batches_do_not_depend_on_the_clock(case: Case):
    """A second method, without a clock: segment k runs with segment k - 1 as soon as it can.

    With g(b) = floor(passed(b) / n): its runs after b of the segment before are
    R(b + 1) = min(R(b) + 1, g(b)), so R(b) = b + min(0, min over s < b of g(s) - s - 1).
    """
    if isinstance(case.policy, Wait):
        return
    schedule = Watched(case).schedule
    segments = segments_of(case.requests, case.policy)
    assert schedule.ran[:, 0].all()
    runs = np.cumsum(schedule.ran, axis=0)
    for index, (before, segment) in enumerate(pairwise(segments), start=1):
        b = np.arange(before.turns)
        lag = np.minimum.accumulate(before.passed[b] // segment.threshold - b - 1)
        after = np.concatenate([[0], b + 1 + np.minimum(0, lag)])
        assert (runs[:, index] == after[runs[:, index - 1]]).all()
    slow = Watched(case._replace(clock=IterationClock(50.0, 3.0)))
    assert (slow.schedule.ran == schedule.ran).all()


def test_the_clock_decides_which_types_meet():
    """Under WAIT it does: at once on a slow clock, apart on a fast one."""
    table = Requests([1] * 3, [1] * 3, arrival=[0.0, 1.0, 1.5], class_index=[0, 1, 2])
    joined = [
        [row[COUNTS.index("joined")] for row in Watched(Case(table, Wait([1] * 3), clock)).rows]
        for clock in (IterationClock(0.25), IterationClock(2.0))
    ]
    assert joined == [[1, 1, 1], [1, 2]]


def test_a_segment_by_hand():
    """Five prompts of 2 tokens in pairs, outputs 1, 3, 1, 2, 3, in segments to 1 and to 3."""
    table = Requests([2] * 5, [1, 3, 1, 2, 3], arrival=[0.0, 1.0, 2.0, 3.0, 4.0])
    first, second = segments_of(table, NestedWait([1, 3], [2, 1]))
    assert (first.turns, first.gate.tolist()) == (2, [1.0, 3.0, np.inf])
    assert first.size.tolist() == [0, 2, 4]
    assert first.tokens.tolist() == [0, 4, 6 + 4]
    assert first.paused_tokens.tolist() == [0, 4, 4]
    assert first.completed.tolist() == [0, 0, 1]
    assert first.passed.tolist() == [0, 0, 1]
    assert first.computed.tolist() == [0, 4, 4 + 2]
    assert (second.prompts.tolist(), second.gate.tolist()) == ([1], [2.0, np.inf])
    assert second.before_tokens.tolist() == [0, 3]
    assert second.tokens.tolist() == [0, 4]


def test_types_without_prompts_are_segments_that_never_run():
    table = Requests([1, 1], [1, 1], class_index=[2, 2])
    assert [segment.turns for segment in segments_of(table, Wait([1, 1, 1, 1]))] == [0, 0, 2, 0]


def test_maxima_of_ranges_are_those_of_their_slices():
    rng = np.random.default_rng(3)
    for size in (1, 2, 3, 8, 33):
        values = rng.random(size)
        first, end = np.nonzero(np.tri(size, size, dtype=bool).T)
        expected = [values[a : b + 1].max() for a, b in zip(first, end, strict=True)]
        assert _largest(values, first, end + 1).tolist() == expected
    nothing = np.zeros(0, np.int64)
    assert _largest(np.zeros(0), nothing, nothing).size == 0


def test_more_tokens_than_floats_count_are_refused():
    with pytest.raises(InputError, match="2\\^53"):
        segments_of(Requests([2**52, 2**52], [1, 1]), Wait([1]))
