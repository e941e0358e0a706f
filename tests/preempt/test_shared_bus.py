"""What a bus that many share changes: the theory, and the engine beside it."""

import re
from dataclasses import replace

import numpy as np
import pytest

from fluidkv.errors import InputError
from fluidkv.preempt.restoring.bus import one_way, spots_on_a_bus
from fluidkv.preempt.restoring.latency import LatencyFit
from fluidkv.preempt.restoring.roofline import (
    LLAMA_3_8B,
    OPT_13B,
    copies_of,
    recompute_of,
)
from fluidkv.runs.requests import Requests
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.engines import VLLM
from fluidkv.serving.kernel.budget import pairs
from fluidkv.serving.limits import Limits
from fluidkv.serving.rules import Gate, Restore, Victim
from fluidkv.serving.run import serve
from fluidkv.serving.server import Server
from fluidkv.serving.swap import Swap

LENGTH, BASE = 32, 1e-6


def crowd(victims: int, restore: Restore, swap: Swap, clock: IterationClock) -> np.ndarray:
    """Halts of requests that all hold 32 tokens, and go at once for one long prompt.

    The prompt comes in two chunks, of which the second needs all memory, and is done with it.
    """
    rules = replace(
        VLLM, gate=Gate.FIRST_CHUNK, victim=Victim.MOST_OUTPUTS, restore=restore, in_turn=False
    )
    small, chunk = LENGTH - 2, LENGTH * victims
    requests = Requests(
        [small] * victims + [2 * chunk],
        [9] * victims + [1],
        arrival=[0.0] * victims + [0.5 * BASE],
    )
    limits = Limits(2 * chunk + victims, max_num_batched_tokens=chunk + victims, swap=swap)
    run = serve(requests, Server(rules, limits, clock=clock, backend="reference"))
    assert run.preempt.max() == run.preempt.sum() == victims
    return run.halted.values[0, :victims]


@pytest.mark.parametrize("victims", [1, 2, 5, 12])
def test_many_at_once_wait_for_the_bus(victims):
    """The k-th is halted for n + k copies: on average (3 n + 1) / 2, each two without sharing."""
    swap = Swap(per_token=1.0, per_copy=0.5)
    halts = crowd(victims, Restore.SWAP, swap, IterationClock(BASE))
    alone = one_way(swap, LENGTH - 1)
    expected = alone * (victims + np.arange(1, victims + 1))
    assert np.sort(halts) == pytest.approx(expected, abs=50 * BASE)
    assert halts.mean() == pytest.approx((3 * victims + 1) / 2 * alone, abs=50 * BASE)
    lone = crowd(victims, Restore.SWAP, replace(swap, shared=False), IterationClock(BASE))
    assert lone == pytest.approx(2 * alone, abs=50 * BASE)


def test_computing_again_shares_the_gpu():
    """All 3 prefills in one iteration end together; the pairs of each are its own.

    Before them comes the chunk that they went for.
    """
    clock = IterationClock(BASE, per_prefill_token=1.0, per_prefill_pair=0.5)
    halts = crowd(3, Restore.RECOMPUTE, Swap(), clock)
    chunk = 3 * LENGTH + 0.5 * pairs(3 * LENGTH, 3 * LENGTH)
    again = 3 * (LENGTH + 0.5 * pairs(0, LENGTH))
    assert halts == pytest.approx(chunk + again, abs=50 * BASE)


def test_a_busy_bus_is_the_queue_of_pollaczek_and_khinchine():
    """Copies that come at random to a bus that is half busy, played one by one."""
    rng = np.random.default_rng(0)
    load, size = 0.5, 200_000
    free, wait = 0.0, 0.0
    for arrival in np.cumsum(rng.exponential(1 / load, size)):
        start = max(arrival, free)
        wait, free = wait + start - arrival, start + 1.0
    # out and in, each after its wait
    assert 2 * (1 + wait / size) == pytest.approx((2 - load) / (1 - load), rel=0.01)


def test_a_bus_without_room_for_them_all_holds_the_engine_back():
    """Evictions go on; copies take as long as there is: the bus is busy, the engine waits."""
    requests = Requests([20] * 60, [60] * 60)
    rules = replace(VLLM, restore=Restore.SWAP)
    runs = [
        serve(requests, Server(rules, Limits(320, swap=Swap(per_token)), clock=IterationClock(1.0)))
        for per_token in (0.0, 0.005, 0.5)
    ]
    loads = []
    for run, per_token in zip(runs, (0.0, 0.005, 0.5), strict=True):
        loads.append(float(run.copied_tokens.sum() * per_token / run.time.max()))
    assert loads[0] == 0 < loads[1] < 0.1 < 0.5 < loads[2] <= 1
    assert runs[2].time.max() > 1.5 * runs[1].time.max()


def test_sharing_moves_the_sweet_spot():
    """S^2 + 10 S against f 20 S: 10 alone, 20 at f = 1.5; none below."""
    recompute = LatencyFit((1.0, 2.0, 10.0, 0.0), np.zeros((4, 4)), 0.0, 0, 1e9)
    swap = Swap(per_token=10.0)
    spots = {copies: spots_on_a_bus(recompute, swap, copies) for copies in (1, 2, 3)}
    assert spots[1] == ()
    assert [spot.tokens for spot in spots[2]] == pytest.approx([10])
    assert [spot.tokens for spot in spots[3]] == pytest.approx([20])


def test_a_machine_says_both_models():
    fit, swap = recompute_of(OPT_13B, share=1.0), copies_of(OPT_13B)
    operations = 2 * 12.85e9 * 2048 + 4 * 5120 * 40 * pairs(0, 2048)
    assert fit(2048.0) * 312e12 == pytest.approx(operations)
    assert swap.per_token == 819_200 / 25e9
    assert LLAMA_3_8B.kv_bytes == 131_072
    assert copies_of(LLAMA_3_8B, host_bytes=1e9).pool == 7629
    # where attention costs as much as the weights, up to the token itself
    assert fit.parameters[0] * OPT_13B.even == pytest.approx(fit.parameters[2], rel=1e-4)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: copies_of(OPT_13B, host_bytes=1e9, pool=1221), "pool: got 1221; allowed: at most"),
        (lambda: copies_of(OPT_13B, bandwidth=0), "bandwidth: got 0"),
        (lambda: recompute_of(OPT_13B, share=1.5), "share: got 1.5"),
    ],
)
def test_what_no_machine_is_gets_one_line(make, message):
    with pytest.raises(InputError, match="^" + re.escape(message)):
        make()
