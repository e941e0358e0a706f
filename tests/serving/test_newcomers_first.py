"""Admission before those that run: what it takes from them, by hand, and that it need not end."""

from dataclasses import replace

import pytest

from fluidkv.errors import InputError
from fluidkv.runs.arrivals import poisson
from fluidkv.runs.requests import Requests
from fluidkv.serving.engine_text import ServedEngine
from fluidkv.serving.engines import FCFS_NEW_FIRST, FCFS_RUNNING_FIRST
from fluidkv.serving.limits import Limits
from fluidkv.serving.rules import Gate, Growth, Guard, Keeps, Requeue, Victim
from fluidkv.serving.run import serve
from fluidkv.serving.server import Server
from fluidkv.serving.stepped import Engine
from fluidkv.workload import RequestClass, Workload
from tests.serving.by_hand import engine, indices

# ---------------------------------------------------------------------------- who goes, who stays


def test_iteration_2_of_wait_s_example_2():
    """Six would hold 12 of 12; four come and need 4: two go, and 4 decodes + 4 prefills are left.

    The last of those who ran goes first, never a newcomer; who went waits at the tail.
    """
    made = engine(FCFS_NEW_FIRST, [1] * 10, [2] * 10, Limits(12), start=(1,) * 6)
    counts = made.step()
    assert (counts["admit_new"], counts["preempt"], counts["completed"]) == (4, 2, 4)
    assert (counts["used_blocks"], counts["kv_tokens"], counts["prefill_tokens"]) == (12, 12, 4)
    assert (indices(made.running), indices(made.waiting)) == ([6, 7, 8, 9], [5, 4])
    assert [made.all[i].outputs for i in (4, 5)] == [0, 0]


def test_who_runs_first_lets_nobody_in_then():
    made = engine(FCFS_RUNNING_FIRST, [1] * 10, [2] * 10, Limits(12), start=(1,) * 6)
    counts = made.step()
    assert (counts["admit_new"], counts["preempt"], counts["completed"]) == (0, 0, 6)


def test_the_victim_rule_chooses_among_those_who_ran():
    """Most outputs first: 1 of (2, 5, 3), though the newcomer's prompt holds most blocks."""
    for victim, gone in (
        (Victim.LAST_ADMITTED, 2),
        (Victim.FEWEST_OUTPUTS, 0),
        (Victim.MOST_OUTPUTS, 1),
        (Victim.MOST_BLOCKS, 1),
    ):
        rules = replace(FCFS_NEW_FIRST, victim=victim)
        # They would hold 3, 6 and 4 tokens; the newcomer 9: of 19, one has to go.
        made = engine(rules, [1, 1, 1, 9], [9] * 4, Limits(19), start=(2, 5, 3))
        assert made.step()["preempt"] == 1
        assert indices(made.waiting) == [gone]


def test_newcomers_may_take_the_whole_memory():
    made = engine(FCFS_NEW_FIRST, [4] * 6, [3] * 6, Limits(12), start=(1, 1))
    counts = made.step()
    assert (counts["admit_new"], counts["preempt"], counts["running"]) == (3, 2, 3)
    assert indices(made.waiting) == [5, 1, 0]


def test_the_first_that_does_not_fit_ends_admission():
    """13 tokens would never fit beside 4 in 16 together; the one of 2 behind it must wait."""
    made = engine(FCFS_NEW_FIRST, [4, 13, 2], [3] * 3, Limits(16))
    assert made.step()["admit_new"] == 1


def test_the_evicted_come_back_no_earlier_than_in_the_next_iteration():
    """At the head as well: one of 3 + 2 goes for one of 6 in 10, and 4 stay free."""
    rules = replace(FCFS_NEW_FIRST, requeue=Requeue.HEAD)
    made = engine(rules, [3, 6], [9, 9], Limits(10), start=(2,))
    first, second = made.step(), made.step()
    assert (first["admit_new"], first["preempt"], first["used_blocks"]) == (1, 1, 6)
    assert (second["admit_resumed"], second["preempt"], second["used_blocks"]) == (1, 0, 10)


def test_outputs_are_kept_where_the_rule_says_so():
    rules = replace(FCFS_NEW_FIRST, keeps=Keeps.OUTPUTS)
    made = engine(rules, [3, 6], [9, 9], Limits(10), start=(2,))
    made.step()
    assert (made.all[0].outputs, made.all[0].computed) == (2, 0)


# ----------------------------------------------------------------------------------------- caps


def test_no_room_is_made_in_max_num_seqs():
    made = engine(FCFS_NEW_FIRST, [1] * 5, [9] * 5, Limits(50, max_num_seqs=3), start=(1, 1))
    counts = made.step()
    assert (counts["admit_new"], counts["preempt"]) == (1, 0)


def test_newcomers_take_their_tokens_of_the_budget_first():
    """6 tokens: prompts of 2 and 3, and 1 token left for the first of three that decode."""
    limits = Limits(50, max_num_batched_tokens=6)
    made = engine(FCFS_NEW_FIRST, [1, 1, 1, 2, 3], [9] * 5, limits, start=(1, 1, 1))
    counts = made.step()
    assert (counts["admit_new"], counts["tokens"], counts["preempt"]) == (2, 6, 0)
    assert [request.outputs for request in made.all] == [2, 1, 1, 1, 1]


@pytest.mark.parametrize("growth", Growth)
@pytest.mark.parametrize(("capacity", "evicted", "used"), [(6, 0, 6), (5, 1, 4)])
def test_who_is_given_no_tokens_goes_only_where_its_memory_is_taken(
    growth, capacity, evicted, used
):
    """It holds 2, and asks for no block, as the newcomer of 4 takes the whole budget."""
    rules = replace(FCFS_NEW_FIRST, growth=growth)
    limits = Limits(capacity, max_num_batched_tokens=4)
    counts = engine(rules, [1, 4], [9, 9], limits, start=(2,)).step()
    assert (counts["admit_new"], counts["preempt"], counts["used_blocks"]) == (1, evicted, used)


@pytest.mark.parametrize(("newcomer", "admitted"), [(9, 1), (10, 0)])
def test_newcomers_leave_the_watermark_and_who_ran_may_use_it(newcomer, admitted):
    """int(0.25 * 13) = 3 of 12: a newcomer of 9 enters, and the next 2 tokens of 1 + 1 fit, too."""
    counts = engine(
        FCFS_NEW_FIRST, [1, newcomer], [9, 9], Limits(12, watermark=0.25), start=(1,)
    ).step()
    assert (counts["admit_new"], counts["preempt"]) == (admitted, 0)
    assert counts["used_blocks"] == 2 + 9 * admitted


@pytest.mark.parametrize(("guard", "admitted"), [(Guard.WHILE_RUNNING, 1), (Guard.ALWAYS, 0)])
def test_where_nobody_runs_the_watermark_is_as_the_guard_says(guard, admitted):
    rules = replace(FCFS_NEW_FIRST, guard=guard)
    made = engine(rules, [10, 2], [3, 3], Limits(12, watermark=0.25))
    assert made.step()["admit_new"] == admitted


# ------------------------------------------------------------------------------------ no end


@pytest.mark.parametrize("backend", ["reference", "kernel"])
def test_two_crowds_of_newcomers_evict_each_other_for_ever(backend):
    """24 prompts of 1 in a memory of 12: each half prefills and goes for the other half.

    The same two states in turn, so nobody is ever done.
    """
    crowd = Requests([1] * 24, [2] * 24)
    run = serve(crowd, Server(FCFS_NEW_FIRST, Limits(12), backend=backend), iterations=200)
    assert (run.status.item(), run.served.item()) == ("HORIZON", 0)
    assert set(run.preempt.values[0, 1:].tolist()) == {12}
    assert (
        serve(crowd, Server(FCFS_RUNNING_FIRST, Limits(12), backend=backend)).status.item()
        == "DONE"
    )


def test_so_a_horizon_is_asked_for():
    with pytest.raises(InputError, match=r"^engine: got 'fcfs-new-first'; .*ends by itself$"):
        serve(Requests([1], [2]), Server(FCFS_NEW_FIRST, Limits(12)))


def test_a_light_load_is_served():
    """Ten requests of 50 tokens at their longest in a memory of 1000: nobody has to go."""
    table = poisson(Workload((RequestClass(10, 40),)), 0.2, 100, rng=4)
    run = serve(table, Server("fcfs-new-first", Limits(1000)), iterations=2000)
    assert (run.status.item(), run.preempt.sum().item()) == ("DONE", 0)


# ------------------------------------------------------------------------------------- refused


@pytest.mark.parametrize(
    ("argument", "changes"),
    [
        ("gate", {"gate": Gate.PEAK}),
        ("gate", {"gate": Gate.RATIO}),
        ("prefill_alone", {"prefill_alone": True}),
        ("admits_after_eviction", {"admits_after_eviction": True}),
    ],
)
def test_rules_that_do_not_go_together_are_refused(argument, changes):
    with pytest.raises(InputError, match=rf"^{argument}: .*newcomers come first"):
        replace(FCFS_NEW_FIRST, **changes)


def test_a_prefix_cache_does_not_go_with_it():
    rules = replace(FCFS_NEW_FIRST, keeps=Keeps.OUTPUTS)
    with pytest.raises(InputError, match=r"^engine: "):
        Engine(Requests([1], [2]), Server(ServedEngine(rules, caching=True), Limits(12)))
