"""Laws that every engine keeps, on drawn runs: nothing is lost, doubled or held without need."""

from collections import Counter
from dataclasses import dataclass, field, replace
from fractions import Fraction

from hypothesis import example, given
from hypothesis import strategies as st

from fluidkv.runs.requests import Requests
from fluidkv.serving.counts import COUNTS
from fluidkv.serving.engines import ENGINES, SGLANG
from fluidkv.serving.limits import Limits
from fluidkv.serving.rules import Allocation, EngineRules, Keeps, NewTokenRatio, Requeue, Victim
from fluidkv.serving.server import Server
from fluidkv.serving.stepped import Engine
from fluidkv.serving.swap import Swap

LONGEST_RUN = 5_000
"""Iterations; the longest drawn run takes hundreds, so one that gets here goes on for ever."""

EAGER = replace(SGLANG, name="eager", ratio=NewTokenRatio(start=Fraction(0), least=Fraction(0)))
"""SGLang without its reservation, which leaves little to evict in runs as short as these."""

RULES = [*ENGINES.values(), EAGER]
ENDING = [rules for rules in RULES if not rules.newcomers_first]
"""Under these every run ends. Newcomers that come first may evict each other for ever."""
A_WHILE = 60  # iterations, of the runs that need not end
IN_ORDER = [
    rules
    for rules in ENGINES.values()
    if rules.victim is Victim.LAST_ADMITTED and rules.requeue is Requeue.HEAD
    if not rules.allocation.evicts_itself  # for what it was given, wherever it stands
]


@dataclass
class Run:
    """A run to its end: the engine, its counts, and who was done when."""

    engine: Engine
    rows: list[dict[str, int]] = field(default_factory=list)
    finished: list[list[int]] = field(default_factory=list)

    def column(self, name: str) -> list[int]:
        return [row[name] for row in self.rows]

    def total(self, name: str) -> int:
        return sum(self.column(name))


@st.composite
def engines(draw: st.DrawFn, *, rules: list[EngineRules] | None = None) -> Engine:
    """An engine that can serve each of its requests alone; often several at once, never all."""
    chosen = draw(st.sampled_from(rules or RULES))
    lengths = st.tuples(st.integers(1, 9), st.integers(1, 9))
    inputs, outputs = zip(*draw(st.lists(lengths, min_size=1, max_size=14)), strict=True)
    gaps = draw(st.lists(st.integers(0, 3), min_size=len(inputs), max_size=len(inputs)))
    arrival = [float(sum(gaps[: i + 1])) for i in range(len(gaps))]
    size = draw(st.integers(1, 5))
    # SGLang reserves a length in whole blocks and the outputs to come: up to a block more.
    largest = max(-(-(i + o + size - 1) // size) for i, o in zip(inputs, outputs, strict=True))
    caps = st.none() | st.integers(1, 12)
    limits = Limits(
        capacity=(largest + draw(st.integers(0, 12))) * size,
        block_size=size,
        max_num_seqs=draw(caps),
        max_num_batched_tokens=draw(caps),
        admission_rate=draw(st.none() | st.fractions(1 / 8, 3, max_denominator=8)),
    )
    guesses = st.lists(st.integers(1, 9), min_size=len(inputs), max_size=len(inputs))
    requests = Requests(inputs, outputs, arrival=arrival, estimated_output=draw(guesses))
    return Engine(requests, Server(chosen, limits))


def goes_on(engine: Engine) -> bool:
    """Whether there is more to look at: to the end of a run, or for a while."""
    if engine.rules.newcomers_first:
        return engine.done < len(engine.requests) and engine.iteration < A_WHILE
    assert engine.iteration < LONGEST_RUN
    return engine.done < len(engine.requests)


def served(engine: Engine) -> Run:
    run = Run(engine)
    while goes_on(engine):
        before = {request.index for request in engine.all if request.finished}
        run.rows.append(engine.step())
        after = {request.index for request in engine.all if request.finished}
        run.finished.append(sorted(after - before))
    return run


@given(engines())
def test_every_request_is_in_one_place(engine):
    """Not yet there, waiting, running, or done: never in two, never in none."""
    while goes_on(engine):
        engine.step()
        places = Counter(request.index for request in (*engine.running, *engine.waiting))
        places.update(request.index for request in engine.all if request.finished)
        places.update(range(engine.arrived, len(engine.requests)))
        assert places == Counter(range(len(engine.requests)))


@given(engines())
def test_memory_is_what_the_running_hold_and_never_more_than_there_is(engine):
    while goes_on(engine):
        counts = engine.step()
        held = sum(request.blocks for request in engine.running)
        assert held == engine.limits.blocks - engine.free
        assert 0 <= held <= engine.limits.blocks
        assert counts["used_blocks"] <= engine.limits.blocks
        assert all(request.blocks == request.computed == 0 for request in engine.waiting)
        for request in engine.running:
            needed = request.computed + engine.rules.reserved_tokens
            assert request.blocks >= engine.limits.blocks_of(needed)
            whole = engine.limits.blocks_of(request.length + engine.rules.reserved_tokens)
            if engine.rules.allocation is not Allocation.BY_BLOCK:
                assert request.blocks <= engine.limits.blocks
            elif not engine.rules.prefill_alone:
                assert request.blocks == engine.limits.blocks_of(needed)
            elif request.computed < request.length - 1:  # the whole input, from its first chunk on
                assert request.blocks == whole
            else:  # decoding, or one token short of it
                assert request.blocks in (engine.limits.blocks_of(needed), whole)


@given(engines())
def test_counts_of_an_iteration_add_up(engine):
    run = served(engine)
    arrived = [0.0, *engine.requests.arrival.tolist()]
    running = waiting = 0
    for now, row in enumerate(run.rows):
        assert tuple(row) == COUNTS
        entered = row["admit_new"] + row["admit_resumed"]
        came = sum(now - 1 < time <= now for time in arrived[1:])
        assert row["running_in"] == running
        assert row["running"] == running + entered - row["preempt"]
        assert row["waiting"] == waiting + came + row["preempt"] - entered
        assert row["sched_reqs"] <= row["tokens"]
        decodes_only = engine.rules.prefill_alone and row["tokens"] == row["sched_reqs"]
        assert row["tokens"] <= engine.limits.budget or decodes_only  # decodes alone have no budget
        assert row["running"] <= engine.limits.sequences
        assert row["completed"] == len(run.finished[now])
        running, waiting = row["running"] - row["completed"], row["waiting"]
    if engine.done == len(engine.requests):
        assert running == waiting == 0


@given(engines(rules=ENDING))
def test_tokens_are_what_requests_need_and_what_is_computed_again(engine):
    """Each request computes its input and all outputs but the last; and again what it lost."""
    run = served(engine)
    inputs, outputs = engine.requests.input_length, engine.requests.output_length
    needed = int((inputs + outputs - 1).sum())
    assert run.total("tokens") == needed + run.total("recomputed_tokens")
    assert run.total("new_outputs") == outputs.sum()
    assert run.total("completed") == run.total("admit_new") == len(inputs)
    assert run.total("admit_resumed") == run.total("preempt")
    assert run.total("preempt") == sum(request.evictions for request in engine.all)
    if engine.rules.keeps is Keeps.OUTPUTS:
        # each output but the first of a request came from a decode or ended a recomputation
        decodes = run.total("tokens") - run.total("prefill_tokens")
        assert decodes <= outputs.sum() - len(inputs)
    if run.total("preempt") == 0:
        assert run.total("recomputed_tokens") == 0


@given(engines(rules=IN_ORDER))
def test_who_came_first_stays_first(engine):
    """Last in, first out, and back to the head: running and waiting are in order of arrival."""
    while goes_on(engine):
        engine.step()
        line = [request.index for request in (*engine.running, *engine.waiting)]
        assert line == sorted(line)


@given(
    rules=st.sampled_from(IN_ORDER),
    count=st.integers(1, 20),
    input_length=st.integers(1, 9),
    output_length=st.integers(1, 9),
    spare=st.integers(0, 40),
)
def test_equal_requests_are_done_in_the_order_they_came(
    rules, count, input_length, output_length, spare
):
    requests = Requests([input_length] * count, [output_length] * count)
    limits = Limits(input_length + output_length + spare)
    run = served(Engine(requests, Server(rules, limits)))
    order = [index for done in run.finished for index in done]
    assert order == list(range(count))


def test_sglang_does_not_keep_the_order():
    """Seven equal requests; who was evicted waits behind who came later."""
    requests = Requests([3] * 7, [9] * 7, arrival=[0.0] * 3 + [2.0] * 4)
    run = served(Engine(requests, Server(EAGER, Limits(28))))
    order = [index for done in run.finished for index in done]
    assert run.total("preempt") > 0
    assert order != sorted(order)


@given(engines())
@example(  # the last to return is copied from the host while the fourth waits
    Engine(
        Requests([1] * 4, [1, 2, 2, 1], estimated_output=[1] * 4),
        Server(ENGINES["s3"], Limits(3, swap=Swap(per_token=0.0, per_copy=0.0))),
    )
)
def test_idle_iterations_have_a_reason(engine):
    """Nothing computes only while nobody waits or may enter, somebody was evicted, or is copied."""
    while goes_on(engine):
        counts = engine.step()
        if counts["sched_reqs"] == 0:
            limited = engine.limits.admission_rate is not None
            moved = counts["preempt"] or counts["copied_tokens"]
            assert counts["waiting"] == 0 or limited or moved
