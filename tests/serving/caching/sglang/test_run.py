"""SGLang's own scheduler as users ask for it: one call, a dataset."""

import re

import numpy as np
import pytest

from fluidkv.errors import InputError
from fluidkv.prefix.pieces import content
from fluidkv.prefix.prompts import Prompts
from fluidkv.runs.requests import Requests
from fluidkv.serving.caching.run import serve_sglang
from fluidkv.serving.caching.sglang.seen import COUNTS
from fluidkv.serving.caching.sglang.stepped import SglangEngine
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.limits import Limits
from fluidkv.serving.run import serve
from fluidkv.serving.server import Server
from fluidkv.serving.sglang_settings import SglangSettings
from tests.serving.caching.sglang.by_hand import alone, engine, rows

CLOCK = IterationClock(1.0, 0.0, 0.1)


@pytest.mark.parametrize("backend", ["auto", "kernel", "reference"])
def test_pairs_of_tokens_are_timed_and_those_with_the_tree_s_too(backend):
    """10 tokens are 55 pairs; 2 behind 8 of the tree are 9 + 10."""
    prompts = Prompts([content([[1, 10]])] * 2, [content([[3, 2]])] * 2)
    clock = IterationClock(1.0, per_prefill_pair=0.1)
    requests = Requests([10] * 2, [2] * 2, arrival=[0, 100])
    run = serve(
        requests,
        Server("sglang+cache", Limits(100, 4), clock=clock, prompts=prompts, backend=backend),
    )
    first = run.first_token.values[0] - [0, 100]
    assert first == pytest.approx([1 + 5.5, 1 + 1.9])


def test_prompts_that_begin_alike_are_found():
    """What is prefilled in iteration 0 is in the tree after iteration 1, with overlap."""
    prompts = Prompts([content([[1, 10]])] * 2 + [content([[2, 10]])], [content([[3, 2]])] * 3)
    requests = Requests([10] * 3, [2] * 3, arrival=[0, 2, 2])
    run = serve(requests, Server("sglang+cache", Limits(100, 4), prompts=prompts))
    assert run.hit_tokens.values.tolist() == run.first_hit_tokens.values.tolist() == [[0, 8, 0]]
    assert run.found_tokens.sum() == 8
    assert (run.status.item(), run.served.item()) == ("DONE", 3)
    assert (run.blocks.item(), run.block_size.item()) == (25, 4)
    assert serve(requests, Server("sglang+cache", Limits(100, 4))).hit_tokens.sum() == 0


def test_counts_are_those_of_the_rows():
    """No overlap: what a row says of admissions, retractions and completions, it counts as well."""
    asked = [alone(0, 5, 12), alone(1, 7, 12), alone(2, 7, 12, at=1)]
    seen = rows(engine(asked, 40, conservativeness=0.01), 12)
    requests = Requests([5, 7, 7], [12] * 3, arrival=[0, 0, 1])
    settings = SglangSettings(40, conservativeness=0.01, overlap=False)
    run = serve_sglang(requests, settings, iterations=12)
    assert list(COUNTS) == [name for name in run.data_vars if name in COUNTS]
    assert run.preempt.values[0].tolist() == [row.retracted for row in seen]
    admitted = (run.admit_new + run.admit_resumed).values[0]
    assert admitted.tolist() == [row.admitted for row in seen]
    assert run.used_blocks.values[0].tolist() == [row.used - row.evictable for row in seen]
    assert run.waiting.values[0].tolist() == [row.waiting for row in seen]


def test_who_was_retracted_computes_again_what_the_tree_has_lost():
    requests = Requests([5, 7, 7], [12] * 3, arrival=[0, 0, 1])
    run = serve_sglang(requests, SglangSettings(40, conservativeness=0.01), CLOCK)
    assert run.evictions.sum() == run.preempt.sum() > 0
    lost = run.recomputed_tokens.sum() + (run.hit_tokens - run.first_hit_tokens).sum()
    assert lost >= 7
    assert run.new_outputs.sum() == 36


def test_a_closed_population_sends_one_when_one_is_done():
    requests = Requests([4] * 9, [3] * 9)
    run = serve(requests, Server("sglang+cache", Limits(100), clock=CLOCK), clients=2)
    assert run.served.item() == 9
    assert ((run.running + run.waiting).max() <= 2) & (run.arrival.values[0, 2:] > 0).all()


def test_an_idle_clock_goes_on_to_the_next_request():
    requests = Requests([4, 4], [2, 2], arrival=[0, 50])
    run = serve(requests, Server("sglang+cache", Limits(100), clock=CLOCK))
    assert run.admitted.values[0].tolist() == [0, 50]
    assert run.sizes["window"] < 10
    ticks = serve(requests, Server("sglang+cache", Limits(100)))
    assert ticks.sizes["window"] > 50


def test_a_run_of_which_one_is_aborted_is_stuck():
    requests = Requests([4, 4], [20, 2], arrival=[0, 1])
    run = serve_sglang(requests, SglangSettings(12, clip=2))
    assert (run.status.item(), run.served.item()) == ("STUCK", 1)
    assert run.finished.values[0].tolist() == [False, True]


def test_times_are_those_of_the_passes_that_make_the_tokens():
    """With overlap the scheduler knows them a step later, the clients do not wait for it."""
    requests = Requests([4], [3], arrival=[0])
    with_it, without = (
        serve_sglang(requests, SglangSettings(100, overlap=overlap), CLOCK)
        for overlap in (True, False)
    )
    for name in ("first_token", "last_token", "longest_gap"):
        assert np.array_equal(with_it[name], without[name])
    assert with_it.first_token.item() == pytest.approx(1.4)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            {"limits": Limits(10, watermark=0.1)},
            "watermark: got 0.1; allowed: 0.0: SGLang has none",
        ),
        ({"limits": Limits(5)}, "capacity: got 5; allowed: at least 8 tokens, for request 0"),
        ({"backend": "jax"}, "backend: got 'jax'"),
        ({"every": 0}, "every: got 0"),
        ({"start": [1]}, "start: got '1 requests'; allowed: none, with a cache"),
    ],
)
def test_bad_input_is_one_line(given, said):
    of_server = {"limits": Limits(100)} | given
    how = {name: of_server.pop(name) for name in ("every", "start", "clients") if name in given}
    with pytest.raises(InputError, match="^" + re.escape(said)):
        serve(Requests([4], [2]), Server("sglang+cache", **of_server), **how)


def test_settings_are_settings():
    with pytest.raises(InputError, match="settings: got Limits"):
        serve_sglang(Requests([4], [2]), Limits(100))  # type: ignore[arg-type]  # wrong on purpose


def test_engines_of_one_table_serve_what_they_are_offered():
    """As a router has them."""
    requests = Requests([4, 6, 5], [2, 2, 3], arrival=[0, 1, 9])
    first, second = (SglangEngine(requests, None, SglangSettings(100), CLOCK) for _ in range(2))
    first.offer(0)
    second.offer(1)
    for server in (first, second):
        server.advance(9)
        assert server.idle
    first.offer(2)
    first.advance(float("inf"))
    assert [r.finished for r in first.all] == [True, False, True]
    assert [r.finished for r in second.all] == [False, True, False]
    assert first.all[2].admitted_at == 9
