"""The rules of SGLang's scheduler, one by one, on numbers that can be followed by hand."""

import re

import pytest

from fluidkv.errors import InputError
from fluidkv.runs.interpreted import interpreted
from fluidkv.serving.limits import Limits
from fluidkv.serving.sglang_settings import SglangSettings
from tests.serving.caching.sglang.by_hand import Asked, alone, column, engine, rows

# ---------------------------------------------------------------------------- 1: prefill goes first


def test_nobody_decodes_while_somebody_is_prefilled():
    run = engine([alone(0, 4, 5), alone(1, 4, 2, at=2)], 100)
    found = rows(run, 6)
    assert column(found, "mode") == ["prefill", "decode", "prefill", "decode", "decode", "decode"]
    assert column(found, "used") == [
        4,
        5,
        9,
        11,
        8 + 4,
        8 + 5,
    ]  # 1 is done in step 3: 5 in the tree


def test_mixed_chunks_let_decodes_go_on():
    options = {"chunked_prefill_size": 8, "mixed_chunk": True}
    run = engine([alone(0, 4, 5), alone(1, 4, 2, at=2)], 100, **options)
    found = rows(run, 5)
    assert column(found, "mode") == ["prefill", "decode", "mixed", "decode", "decode"]
    assert column(found, "running") == [0, 1, 0, 2, 1]  # in a mixed pass they are in the pass
    assert column(found, "batch") == [1, 1, 2, 2, 1]
    assert column(found, "used") == [4, 5, 10, 12, 13]


# ------------------------------------------------------------------------------- 2: who is admitted


@pytest.mark.parametrize(("prompt", "admitted"), [(7, [2, 0]), (8, [1, 1])])
def test_a_request_must_need_less_than_is_left(prompt, admitted):
    """20 - (4 + 1 + 3 of the first) = 12 are left; 7 + 3 + 1 are less, 8 + 3 + 1 are not.

    In the next pass the first is reserved 0.7 of the 2 tokens that it may still emit.
    """
    run = engine([alone(0, 4, 3), alone(1, prompt, 3)], 20)
    assert column(rows(run, 2), "admitted") == admitted


@pytest.mark.parametrize(("own", "admitted"), [(10, 1), (11, 0)])
def test_what_a_request_shares_with_the_tree_is_no_room_for_it(own, admitted):
    """Request 0 leaves 10 + 2 tokens in the tree; request 2 begins with the 10 and locks them.

    Then 40 - 10 are free but for the 2 of request 1, which may emit 7 more: 0.7 of that is
    reserved. 23.1 are left for `own`, 12 outputs and 1.
    """
    first: Asked = (0, [[0, 10]], 3, 3)
    sharing: Asked = (5, [[0, 10], [5, own]], 2, 12)
    row = rows(engine([first, alone(1, 2, 8, at=4), sharing], 40), 6)[-1]
    assert row.admissions == [[2, 10, own]] * admitted


# -------------------------------------------------------------------------------------- 3: the flag


def test_after_a_failed_try_nobody_is_tried_before_somebody_leaves():
    """Request 1 needs 797 and lacks 0.3 in step 1. In step 2 the ratio has sunk, and it would fit:
    1500 - 5 - 998 (0.7 - 0.001) > 797. It is tried when request 0 is done, after step 29.
    """
    run = engine([alone(0, 4, 30, 1000), alone(1, 10, 2, 786, at=1)], 1500)
    found = rows(run, 31)
    assert [step for step, row in enumerate(found) if row.admitted] == [0, 30]
    assert column(found, "batch_is_full") == [0] + [1] * 29 + [0]


def test_the_first_wave_loses_its_flag():
    """The flag was that of an empty batch; that of the batch which takes its place is not set."""
    run = engine([alone(row, 20, 20) for row in range(40)], 1000)
    found = rows(run, 4)
    assert column(found, "admitted") == [24, 4, 0, 0]
    assert column(found, "batch_is_full") == [1, 1, 1, 1]


# ------------------------------------------------------------------------------------- 4: the ratio


def test_only_decode_passes_lower_the_ratio():
    run = engine([alone(0, 4, 9), alone(1, 4, 9, at=2)], 100)
    step = (0.7 - 0.7 * 0.14) / 600
    assert column(rows(run, 4), "new_token_ratio") == pytest.approx(
        [0.7, 0.7 - step, 0.7 - step, 0.7 - 2 * step]
    )


def test_the_ratio_is_never_above_1():
    run = engine([alone(0, 4, 2)], 100, conservativeness=3.0)
    assert rows(run, 1)[0].new_token_ratio == 1


# ------------------------------------------------------------------------------- 5: room for tokens


def test_a_page_is_taken_when_the_last_one_is_full():
    run = engine([alone(0, 4, 9)], 100, page_size=4)
    assert column(rows(run, 6), "used") == [4, 8, 8, 8, 8, 12]


def test_the_tree_makes_room_before_anybody_is_retracted():
    """Request 0 leaves 3 + 1 tokens. Request 1 holds 3 in step 2 and 9 in step 8: one too many."""
    run = engine([alone(0, 3, 2), alone(1, 3, 7)], 12)
    found = rows(run, 9)
    assert column(found[2:], "evictable") == [4, 4, 4, 4, 4, 4, 3]
    assert sum(column(found, "retracted")) == 0


def test_in_pages_room_is_made_for_a_page_each():
    """In step 7 nobody needs a page, and the tree makes room for one all the same."""
    run = engine([alone(0, 4, 4), alone(1, 4, 4, 4, at=4)], 16, page_size=4)
    found = rows(run, 6)
    assert column(found, "available") == [12, 8, 8, 8, 8, 4]
    assert column(found, "evictable")[4:] == [4, 4]


# ------------------------------------------------------------------------------------ 6: retraction


@pytest.mark.parametrize(
    ("last", "gone"),
    [
        (alone(2, 7, 12, at=1), [2]),  # as far and as long as 1, and behind it
        (alone(2, 6, 12, at=1), [1]),  # as far, and 1 is longer
        (alone(2, 2, 12, at=3), [2]),  # shorter, and less far
    ],
)
def test_who_has_emitted_least_goes_then_the_longest_then_the_last(last, gone):
    """All three enter, since hardly anything is reserved, and grow until 40 tokens are full."""
    run = engine([alone(0, 5, 12), alone(1, 7, 12), last], 40, conservativeness=0.01)
    found = rows(run, 12)
    assert next(row.retracted_ids for row in found if row.retracted) == gone


def test_who_is_retracted_waits_at_the_tail_with_its_outputs():
    """19 tokens after two prefills, 21 more in 7 decodes of three; then one goes."""
    asked = [alone(0, 5, 12), alone(1, 7, 12), alone(2, 7, 12, at=1), alone(3, 7, 12, at=9)]
    run = engine(asked, 40, conservativeness=0.01)
    assert column(rows(run, 10), "retracted") == [0] * 9 + [1]
    assert [(r.index, r.outputs, r.slots) for r in run.waiting] == [(3, 0, 0), (2, 8, 0)]


def test_the_last_one_is_aborted_where_it_does_not_fit_alone():
    """It may emit 20, which count as 2 on admission; 12 tokens are full after 8 decodes.

    Its prompt stays in the tree.
    """
    run = engine([alone(0, 4, 20)], 12, clip=2)
    found = rows(run, 10)
    assert (found[-1].mode, found[-1].aborted_ids, found[-1].used) == ("idle", [0], 4)
    assert (run.done, run.all[0].finished, run.idle) == (1, False, True)


# -------------------------------------------------------------------------- 7: the ratio after that


def test_after_a_retraction_the_ratio_is_an_estimate_until_the_server_is_idle():
    """Two requests of 20 tokens that ask for 100: after 55 decodes 150 tokens are full. Who stays
    has emitted 56 of them.
    """
    run = engine([alone(0, 20, 100), alone(1, 20, 100)], 150, conservativeness=0.01)
    found = rows(run, 58)
    assert column(found, "retracted") == [0] * 57 + [1]
    assert found[-1].new_token_ratio == (56 + 20) / (100 + 1)
    while run.done < 2:
        found = rows(run, 1)
    assert found[0].new_token_ratio > 0.5
    assert column(rows(run, 2), "new_token_ratio") == [found[0].new_token_ratio, 0.7 * 0.01]


# ---------------------------------------------------------------------------------------- 8: chunks


def test_only_the_last_prompt_is_cut_and_it_goes_on_before_all_others():
    run = engine([alone(0, 5, 2), alone(1, 10, 2), alone(2, 1, 2)], 100, chunked_prefill_size=8)
    found = rows(run, 2)
    assert column(found, "admissions") == [[[0, 0, 5], [1, 0, 3]], [[1, 3, 7], [2, 0, 1]]]
    assert column(found, "chunked") == [1, -1]
    assert column(found, "admitted") == [2, 1]
    assert column(found, "protected") == [0, 8]  # what is computed is in the tree


def test_prompts_are_cut_at_pages_and_use_up_whole_ones():
    options = {"chunked_prefill_size": 8, "page_size": 4}
    run = engine([alone(0, 3, 2), alone(1, 10, 2)], 100, **options)
    assert rows(run, 1)[0].admissions == [[0, 0, 3], [1, 0, 4]]


def test_without_chunks_the_first_prompt_may_be_longer_than_a_pass():
    run = engine([alone(0, 30, 2), alone(1, 3, 2)], 100, max_prefill_tokens=8)
    assert column(rows(run, 2), "admitted") == [1, 1]


# ------------------------------------------------------------------- 9: who ignores the end of text


@pytest.mark.parametrize(("prompt", "admitted"), [(5, 1), (6, 0)])
def test_who_ignores_the_end_of_text_is_reserved_in_full(prompt, admitted):
    """30 - 4 - 9 are left; 5 + 10 + 1 are less."""
    asked = [alone(0, 4, 10), alone(1, prompt, 10, at=1)]
    run = engine(asked, 30, ignore_eos=True, conservativeness=0.01)
    assert rows(run, 2)[1].admitted == admitted


@pytest.mark.parametrize(("prompt", "admitted"), [(4, 1), (5, 0)])
def test_without_a_tree_the_releases_to_come_are_played(prompt, admitted):
    """26 - (4 + 1) are left; until request 0 is done, both emit 9: 3 stay, which is more than 2."""
    asked = [alone(0, 4, 10), alone(1, prompt, 10, at=1)]
    run = engine(asked, 30, ignore_eos=True, radix=False)
    assert rows(run, 2)[1].admitted == admitted


# ------------------------------------------------------------------------------------- 10: the tree


def test_outputs_can_go_before_their_prompt():
    run = engine([alone(0, 6, 4)], 100)
    found = rows(run, 5)
    assert found[-1].evictable == 6 + 3  # the last output is never stored
    tree = interpreted("fluidkv.prefix.radix.kernel.tree")
    assert tree.evict(run._run, run._state.space, 1) == 3


def test_a_conversation_goes_on_where_it_was():
    again: Asked = (6, [[0, 6], [1000, 4], [5, 2]], 1, 1)
    run = engine([alone(0, 6, 4), again, alone(0, 6, 1, at=9)], 100)
    assert rows(run, 7)[-1].admissions == [[1, 9, 3]]
    assert run.found(2) == 5  # the last token of a prompt is computed in any case


# -------------------------------------------------------------------------------------- and overlap


def test_with_overlap_completions_show_a_step_later():
    run = engine([alone(0, 4, 2)], 100, overlap=True)
    found = rows(run, 3)
    assert column(found, "mode") == ["prefill", "decode", "idle"]
    assert column(found, "completed") == [0, 0, 1]
    assert column(found, "used") == [4, 5, 5]


def test_with_overlap_who_ends_early_runs_one_pass_too_many():
    run = engine([alone(0, 4, 2, 5)], 100, overlap=True)
    found = rows(run, 4)
    assert column(found, "mode") == ["prefill", "decode", "decode", "idle"]
    assert column(found, "completed") == [0, 0, 1, 0]
    assert found[-1].evictable == 6  # that pass has stored the last output, too
    assert (run.all[0].first_token_at, run.all[0].last_token_at) == (1, 2)


# ---------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"capacity": 0}, "capacity: got 0"),
        ({"page_size": 17}, "page_size: got 17; allowed: at most the capacity, 16"),
        ({"conservativeness": 0}, "conservativeness: got 0"),
        ({"page_size": 4, "chunked_prefill_size": 3}, "chunked_prefill_size: got 3"),
        ({"max_running": 0}, "max_running: got 0"),
        ({"eviction": "rlt"}, "eviction: got 'rlt'; allowed: lru, mru"),
        ({"overlap": 1}, "overlap: got 1; allowed: True or False"),
        ({"clip": -1}, "clip: got -1"),
    ],
)
def test_bad_settings_are_one_line(options, said):
    with pytest.raises(InputError, match="^" + re.escape(said)):
        SglangSettings(**({"capacity": 16} | options))


def test_limits_are_settings_where_sglang_has_them():
    limits = Limits(100, 4, max_num_seqs=7, max_num_batched_tokens=8)
    wanted = SglangSettings(100, 4, max_running=7, chunked_prefill_size=8, overlap=False)
    assert SglangSettings.of(limits, overlap=False) == wanted
    with pytest.raises(InputError, match=r"watermark: got 0\.5; allowed: 0\.0: SGLang has none"):
        SglangSettings.of(Limits(100, watermark=0.5))


def test_a_request_that_is_never_admitted_is_refused():
    said = r"capacity: got 11; allowed: at least 12 tokens, for request 0 \(7 input and at most 3"
    with pytest.raises(InputError, match=said):
        engine([alone(0, 7, 3)], 11)
    assert rows(engine([alone(0, 7, 3)], 12), 1)[0].admitted == 1


def test_of_requests_that_are_never_admitted_the_largest_is_named():
    table = [alone(place, length, 3) for place, length in enumerate((9, 8, 40, 10))]
    with pytest.raises(InputError, match=r"at least 45 tokens, for request 2 \(40 input"):
        engine(table, 11)


def test_with_ignore_eos_nobody_ends_early():
    with pytest.raises(InputError, match="output_length: got '2 of 3 in request 0'"):
        engine([alone(0, 8, 2, 3)], 100, ignore_eos=True)


# ------------------------------------------------------------------------- 11: who is more urgent


@pytest.mark.parametrize(("retraction", "gone"), [("length", 1), ("priority", 0)])
def test_retraction_by_priority_takes_the_least_urgent(retraction, gone):
    """Request 1 came later and has emitted less, but is the more urgent."""
    options = {"priority_scheduling": True, "retraction": retraction, "conservativeness": 0.01}
    run = engine([alone(0, 4, 9), alone(1, 4, 9, at=2)], 20, priority=[7, 0], **options)
    first = next(row for row in rows(run, 12) if row.retracted)
    assert first.retracted_ids == [gone]


@pytest.mark.parametrize(("by_priority", "order"), [(True, [2, 1, 0]), (False, [0, 1, 2])])
def test_whoever_is_more_urgent_is_admitted_first(by_priority, order):
    """Two of 24 tokens fit, the third when one is done."""
    options = {"priority_scheduling": by_priority, "conservativeness": 0.01}
    run = engine([alone(row, 4, 9) for row in range(3)], 24, priority=[2, 1, 0], **options)
    assert [each[0] for row in rows(run, 14) for each in row.admissions] == order
