"""CacheOPT's rules on runs and cases small enough to follow by hand: B = 1, one token a block."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import xarray as xr

from fluidkv.errors import InputError
from fluidkv.runs.requests import Requests
from fluidkv.serving.limits import Limits
from fluidkv.serving.rules import Restore
from fluidkv_papers.cacheopt.scheduler.cases import Wish, shared, weighed
from fluidkv_papers.cacheopt.scheduler.run import serve_cacheopt
from fluidkv_papers.cacheopt.scheduler.settings import (
    Ahead,
    CacheOpt,
    Overdue,
    Place,
    Selection,
    Weights,
)

BARE = CacheOpt(buffer=0, reserved_blocks=0, iterations_ahead=0, hands_on=False)


def run(
    settings: CacheOpt,
    capacity: int,
    rows: list[tuple[int, int]],
    *,
    arrival: list[float] | None = None,
    estimated: list[int] | None = None,
    ttft: list[float] | float = math.inf,
    tbt: list[float] | float = math.inf,
    block_size: int = 1,
) -> xr.Dataset:
    """Rows are (input, output); arrivals at 0 unless said."""
    inputs, outputs = zip(*rows, strict=True)
    requests = Requests(
        np.array(inputs),
        np.array(outputs),
        arrival=arrival,
        estimated_output=None if estimated is None else np.array(estimated),
        ttft_slo=ttft,
        tbt_slo=tbt,
    )
    return serve_cacheopt(requests, settings, Limits(capacity, block_size)).isel(run=0)


HOST_AND_GUEST: dict[str, Any] = {"rows": [(2, 20), (2, 3)], "arrival": [0.0, 1.0]}


def test_a_guest_runs_in_what_its_host_does_not_use_yet() -> None:
    """The host holds 2 + 20 - 1 = 21 of 23, so that 2 + 3 - 1 do not fit beside it."""
    found = run(BARE, 23, **HOST_AND_GUEST)
    assert found.embedded.values.tolist() == [0, 1] + [0] * 18
    assert found.used_blocks.values.tolist() == [21] * 20
    assert found.last_token.values.tolist() == [20, 4]
    assert int(found.preempt.sum()) == 0


def test_without_embedding_the_guest_waits_or_grows_block_by_block() -> None:
    """2 tokens are free for its prompt, and none for a block more: it waits for the host's end."""
    found = run(replace(BARE, embeds=False), 23, **HOST_AND_GUEST)
    assert found.admitted.values.tolist() == [0, 20]


@pytest.mark.parametrize(("room", "fits"), [(7, False), (8, True)])
def test_a_guest_needs_two_slots_an_output_and_its_prompt(room: int, fits: bool) -> None:
    """After one iteration the host's tip is at 2: 2 o + p = 8 slots must lie behind it."""
    host_outputs = room + 1  # the host is given 2 + outputs - 1 slots
    found = run(BARE, 3 + room, rows=[(2, host_outputs), (2, 3)], arrival=[0.0, 1.0])
    assert bool(found.embedded.sum()) == fits


def test_a_guest_that_is_late_is_pushed_out_by_its_host() -> None:
    """Estimated 2, in truth 9. It starts at 2 + 2 = 4; the host writes slot 4 in iteration 3."""
    found = run(BARE, 22, rows=[(2, 20), (2, 9)], arrival=[0.0, 1.0], estimated=[20, 2])
    assert np.flatnonzero(found.pushed_out.values).tolist()[0] == 3
    assert int(found.evictions[1]) >= 1
    assert bool(found.finished.all())


def test_a_guest_at_the_end_of_the_allocation_is_pushed_out_later() -> None:
    late: dict[str, Any] = {"rows": [(2, 20), (2, 9)], "arrival": [0.0, 1.0], "estimated": [20, 2]}
    lowest, highest = (run(replace(BARE, place=place), 22, **late) for place in Place)
    first = [int(np.argmax(found.pushed_out.values > 0)) for found in (lowest, highest)]
    assert first == [3, 0]
    assert not highest.pushed_out.any()


def test_a_guest_keeps_its_slots_when_its_host_is_done_early() -> None:
    """The host is estimated at 20 and ends at 3; what the guest lies in stays the guest's."""
    found = run(BARE, 22, rows=[(2, 3), (2, 5)], arrival=[0.0, 1.0], estimated=[20, 5])
    assert int(found.embedded[1]) == 1
    assert found.used_blocks.values.tolist() == [21, 21, 21, 7, 7, 7]  # 2 + 5 of the guest's


def test_a_critical_request_preempts_who_is_not() -> None:
    """It needs its prompt and a block, 4 of 11, and the first holds 2 + 9 - 1 = 10.

    Its first token is due 1.5 after it comes. With epsilon = 1 it is critical at once. With 0 it is
    when 0.5 are left, and then its own iteration takes 1: too late.
    """
    rows, arrival = [(2, 9), (3, 1)], [0.0, 1.0]
    bare = replace(BARE, embeds=False)
    loose = run(bare, 11, rows=rows, arrival=arrival, ttft=[math.inf, 50.0])
    late = run(bare, 11, rows=rows, arrival=arrival, ttft=[math.inf, 1.5])
    in_time = run(replace(bare, slack=1.0), 11, rows=rows, arrival=arrival, ttft=[math.inf, 1.5])
    assert loose.first_token.values.tolist() == [1, 10]
    assert late.first_token.values.tolist() == [1, 3]
    assert in_time.first_token.values.tolist() == [1, 2]
    assert in_time.evictions.values.tolist() == [1, 0]
    edge = run(replace(bare, slack=1.0), 11, rows=rows, arrival=arrival, ttft=[math.inf, 2.0])
    assert edge.first_token.values.tolist() == [1, 3]  # 2 - 1 is not below 1


def test_who_is_too_late_is_critical_only_as_printed() -> None:
    rows, arrival = [(2, 9), (3, 1)], [0.0, 0.5]
    given: dict[str, Any] = {"rows": rows, "arrival": arrival, "ttft": [math.inf, 0.2]}
    bare = replace(BARE, embeds=False)
    printed = run(bare, 11, **given)
    mended = run(replace(bare, overdue=Overdue.TOO_LATE), 11, **given)
    assert printed.evictions.values.tolist() == [1, 0]
    assert mended.evictions.values.tolist() == [0, 0]


def test_the_reservation_serves_who_runs_out_before_anybody_is_preempted() -> None:
    """Both are estimated at 2 and have 4 outputs: they lack 2 slots each. 6 + 4 slots are there."""
    given: dict[str, Any] = {"rows": [(2, 4), (2, 4)], "estimated": [2, 2]}
    with_it = run(replace(BARE, embeds=False, reserved_blocks=4), 10, **given)
    assert with_it.reserved_blocks.values.tolist() == [0, 0, 2, 4]
    assert int(with_it.preempt.sum()) == 0
    without = run(replace(BARE, embeds=False), 6, **given)
    assert int(without.preempt.sum()) > 0


@pytest.mark.parametrize(
    ("outputs", "capacity", "preemptions"), [(3, 10, 0), (5, 12, 0), (6, 13, 1)]
)
def test_who_was_cut_gets_what_another_releases_in_time(
    outputs: int, capacity: int, preemptions: int
) -> None:
    """The second wants 2 + 8 - 1 slots and is cut to 6, which last for 5 iterations."""
    rows = [(2, outputs), (2, 8)]
    found = run(replace(BARE, embeds=False, hands_on=True), capacity, rows=rows)
    assert bool(found.handed_on.sum()) == (preemptions == 0)
    assert int(found.preempt.sum()) == preemptions


def test_more_is_given_before_it_runs_out() -> None:
    """Estimated 2, in truth 5, blocks of 2: when the estimate is reached, 1 slot of 4 is left."""
    given: dict[str, Any] = {"rows": [(2, 5)], "estimated": [2], "block_size": 2}
    ahead = replace(BARE, iterations_ahead=2, ahead=Ahead.EXHAUSTS)
    found = run(ahead, 20, **given)
    assert found.used_blocks.values.tolist() == [2, 2, 3, 4, 4]
    assert run(BARE, 20, **given).used_blocks.values.tolist() == [2, 2, 2, 3, 3]


# ------------------------------------------------------------------------------------ three cases

FIRST = Wish(least=0, most=60, remaining_time=1.0, prompt=10, predicted=50)
SECOND = Wish(least=0, most=60, remaining_time=3.0, prompt=10, predicted=50)


def test_in_cases_1_and_2_all_get_what_they_ask_for() -> None:
    for available in (120, 200):
        assert shared(available, [FIRST, SECOND], Weights.PRINTED, 1) == [60, 60]


def test_in_case_3_the_printed_weights_give_most_to_the_loosest() -> None:
    assert shared(40, [FIRST, SECOND], Weights.PRINTED, 1) == [10, 30]


def test_in_case_3_the_sentence_cuts_the_loosest_most() -> None:
    """The excess of 80 is cut as 1 to 3, where the second has 60 to lose: 20 and 60."""
    assert shared(40, [FIRST, SECOND], Weights.SENTENCE, 1) == [40, 0]


def test_the_printed_weights_go_by_the_prompt_and_the_sentence_by_the_prediction() -> None:
    long = replace(FIRST, prompt=30)
    talkative = replace(FIRST, predicted=150)
    assert weighed([FIRST, long], Weights.PRINTED) == pytest.approx([0.25, 0.75])
    assert weighed([FIRST, long], Weights.SENTENCE) == pytest.approx([0.5, 0.5])
    assert weighed([FIRST, talkative], Weights.SENTENCE) == pytest.approx([0.25, 0.75])


def test_nobody_gets_less_than_it_needs_or_more_than_it_asks_for() -> None:
    wishes = [replace(FIRST, least=20), replace(SECOND, most=25), replace(SECOND, most=60)]
    assert shared(75, wishes, Weights.PRINTED, 1) == [20, 25, 30]


def test_shares_are_whole_blocks() -> None:
    assert shared(41, [FIRST, SECOND], Weights.PRINTED, 8) == [8, 24]


def test_times_that_never_pass_count_as_the_longest_and_passed_ones_as_nearly_none() -> None:
    never, passed = replace(FIRST, remaining_time=math.inf), replace(FIRST, remaining_time=-4.0)
    assert weighed([never, SECOND], Weights.PRINTED) == pytest.approx([0.5, 0.5])
    assert weighed([passed, SECOND], Weights.PRINTED)[0] < 1e-5
    assert weighed([never, never], Weights.PRINTED) == pytest.approx([0.5, 0.5])
    assert weighed([passed, passed], Weights.PRINTED) == pytest.approx([0.5, 0.5])


# --------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"buffer": -1}, "buffer"),
        ({"iterations_ahead": 1.5}, "iterations_ahead"),
        ({"reserved_blocks": "8"}, "reserved_blocks"),
        ({"slack": -1.0}, "slack"),
        ({"slack": math.nan}, "slack"),
        ({"embeds": 1}, "embeds"),
        ({"weights": "printed"}, "weights"),
        ({"selection": Weights.PRINTED}, "selection"),
        ({"ranges": (1, 2)}, "ranges"),
    ],
)
def test_bad_settings_are_one_line(values: dict, said: str) -> None:
    with pytest.raises(InputError, match=said):
        CacheOpt(**values)


@pytest.mark.parametrize(
    ("settings", "limits", "said"),
    [
        (CacheOpt(), Limits(20), "capacity"),
        (BARE, Limits(15, watermark=0.1), "watermark"),
        (BARE, Limits(15, admission_rate=1), "admission_rate"),
        (Selection.BY_SLACK, Limits(15), "settings"),
        (BARE, 15, "limits"),
    ],
)
def test_runs_that_cannot_be_are_refused_in_one_line(settings: CacheOpt, limits: Limits, said: str):
    with pytest.raises(InputError, match=said):
        serve_cacheopt(Requests(np.array([8]), np.array([6])), settings, limits)


def test_two_late_ones_take_turns_for_ever_so_a_horizon_is_asked_for() -> None:
    """Each is preempted for the other before its prompt of 4 is computed, 3 tokens at a time."""
    late = Requests(
        [4, 4], [2, 1], estimated_output=[5, 5], ttft_slo=[0.5, 0.5], tbt_slo=[3.0, 0.5]
    )
    limits = Limits(9, max_num_batched_tokens=3)
    printed = replace(BARE, embeds=False, restore=Restore.RECOMPUTE, spares_newcomers=False)
    run = serve_cacheopt(late, printed, limits, iterations=300)
    assert run.status.item() == "HORIZON"
    assert run.tokens.values[0, 200:].sum() == run.prefill_tokens.values[0, 200:].sum()
    with pytest.raises(InputError, match=r"^iterations: got None; .*newcomers are not spared$"):
        serve_cacheopt(late, printed, limits)
    assert serve_cacheopt(late, replace(printed, spares_newcomers=True), limits).served == 2
