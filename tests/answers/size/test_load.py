"""What the theory says memory carries, against what an engine completes where all wait."""

from fractions import Fraction

import pytest

import fluidkv as fk
from fluidkv.answers.size.load import Theory
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.limits import Limits
from fluidkv.workload import RequestClass, System, Workload

CLOCK = IterationClock(0.01, 1e-6, 1e-5)
MIX = Workload.from_lengths([(40, 30), (120, 60), (300, 20), (80, 90)])


def test_it_is_the_eviction_free_equilibrium():
    carried = Theory(MIX, CLOCK).carried(5000)
    exact = fk.eviction_free_equilibrium(System(MIX, 5000))
    assert carried.per_iteration == float(exact.rate)
    assert carried.in_flight == float(exact.in_flight)
    lasts = 0.01 + 1e-6 * 5000 + 1e-5 * float(exact.rate * MIX.mean_input_length)
    assert carried.iteration == pytest.approx(lasts, rel=1e-12)
    assert carried.rate == pytest.approx(float(exact.rate) / lasts, rel=1e-12)


def test_a_reservation_is_the_worst_cycle_of_one_class():
    """Congestion, Lemma 1: M / (l1 (l0 + l1)) an iteration."""
    one = Workload((RequestClass(10, 40),))
    carried = Theory(one, IterationClock.iterations()).carried(2000)
    assert carried.reserving == float(Fraction(2000, 40 * 50))
    assert carried.per_iteration == float(Fraction(100, 61))


def test_the_bound_of_memory_is_that_of_tokens_held_times_time_held():
    """arXiv 2605.04595, mu = M / mean(tokens held x time held), summed request by request."""
    lengths = [(40, 30), (120, 60), (7, 1)]
    mix = Workload.from_lengths(lengths)
    clock = IterationClock(0.01, 1e-6, 1e-5, per_prefill_pair=1e-9, per_request=1e-5)
    held = [sum(given + k for k in range(1, out + 1)) for given, out in lengths]
    memory, mean = 5000, sum(held) / len(held)
    found = Theory(mix, clock, max_num_seqs=3).bounds(memory)
    lasts = Theory(mix, clock).carried(memory).iteration
    assert found.memory == pytest.approx(memory / (mean * lasts), rel=1e-12)
    work = [
        1e-6 * kv + 1e-5 * given + 1e-9 * given * (given + 1) / 2 + 1e-5 * out
        for kv, (given, out) in zip(held, lengths, strict=True)
    ]
    assert found.compute == pytest.approx(3 / sum(work), rel=1e-12)


def test_with_more_memory_the_bound_of_memory_comes_up_to_that_of_computing():
    mix, clock = Workload.from_lengths([(40, 30), (120, 60)]), IterationClock(0.01, 1e-6, 1e-5)
    theory = Theory(mix, clock)
    rates = [theory.bounds(tokens).memory for tokens in (10**4, 10**6, 10**8, 10**10)]
    assert rates == sorted(rates)
    # d0 is 1e-6 of what the last of these iterations lasts.
    assert rates[-1] == pytest.approx(theory.bounds(1).compute, rel=1e-5)


def test_a_cap_on_requests_carries_less_and_leaves_memory_free():
    full, capped = Theory(MIX, CLOCK).carried(5000), Theory(MIX, CLOCK, 10).carried(5000)
    assert capped.in_flight == 10
    assert capped.per_iteration == pytest.approx(10 / float(MIX.mean_decode_length))
    assert capped.iteration < full.iteration


def test_saturated_engines_complete_what_the_two_rates_say():
    """GUARANTEED_NO_EVICT reserves each peak; vLLM evicts, and comes close to x*."""
    carried = Theory(MIX, CLOCK).carried(4000)
    requests = fk.saturated(MIX, 800, rng=1)
    found = {}
    for engine in ("trtllm-no-evict", "vllm"):
        run = fk.serve(
            requests, fk.Server(engine, Limits(4000, 1), clock=CLOCK, backend="reference")
        )
        found[engine] = float(fk.metrics(run, first=100).throughput_per_time[0])
    # Whole requests leave some memory over, and at the end it is not full: 5 % of 800 requests.
    assert found["trtllm-no-evict"] == pytest.approx(carried.reserving, rel=0.05)
    assert found["trtllm-no-evict"] < found["vllm"] < carried.rate
