"""One call for many runs: the fast engine against the literal one, results, ends, refusals."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

from fluidkv.errors import InputError
from fluidkv.runs.dataset import KNOWN_COUNTS
from fluidkv.runs.measuring import metrics
from fluidkv.runs.requests import Requests
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.limits import Limits
from fluidkv.serving.run import serve
from fluidkv.serving.server import Server
from fluidkv.wait.model import PromptType, WaitSystem
from fluidkv.wait.policy import NestedWait, Wait
from fluidkv.wait.runs import engine
from fluidkv.wait.runs.arrivals import poisson_prompts
from fluidkv.wait.runs.reference import COUNTS
from fluidkv.wait.runs.run import run_policy
from tests.wait.runs.tables import Case, cases

SYSTEM = WaitSystem(
    [PromptType(2, 5, 3), PromptType(1, 5, 8), PromptType(Fraction(1, 2), 5, 20)],
    base=1,
    per_kv_token=Fraction(1, 1024),
)
NESTED = NestedWait([3, 8, 20], [8, 4, 2])
TICK = IterationClock(1.0)


def run_cases(some: list[Case], **options) -> xr.Dataset:
    tables, policies, clocks = (list(column) for column in zip(*some, strict=True))
    return run_policy(tables, policies, clock=clocks, **options)


# -------------------------------------------------------------------------- the same as literally


@given(
    st.lists(cases(), min_size=1, max_size=5),
    st.sampled_from([1, 1, 3, 100]),
    st.sampled_from([None, None, 1, 7]),
    st.sampled_from([None, None, 0.5, 6.0]),
)
def test_the_fast_engine_is_the_literal_one(some, every, iterations, horizon):
    """Every count, time and status, bit by bit, of runs of both policies in one batch."""
    options = {"every": every, "iterations": iterations, "horizon": horizon}
    fast = run_cases(some, backend="kernel", **options)
    literal = run_cases(some, backend="reference", **options)
    xr.testing.assert_identical(fast, literal)
    assert (fast.served < fast.requests).all()  # a batch leaves its newcomers behind


@pytest.mark.thorough
@given(st.integers(0, 2**32 - 1))
def test_the_fast_engine_is_the_literal_one_in_long_runs(seed):
    rng = np.random.default_rng(seed)
    table = poisson_prompts(SYSTEM, rng=rng, count=int(rng.integers(1, 600)))
    policies = [
        Wait(rng.integers(1, 9, 3).tolist()),
        NestedWait([3, 8, 20], rng.integers(1, 12, 3)),
    ]
    xr.testing.assert_identical(
        run_policy(table, policies, clock=SYSTEM.clock, backend="kernel"),
        run_policy(table, policies, clock=SYSTEM.clock, backend="reference"),
    )


def test_a_batch_is_its_runs_one_by_one():
    tables = [poisson_prompts(SYSTEM, rng=seed, count=200 + 150 * seed) for seed in range(3)]
    policies = [Wait([4, 3, 2]), NESTED, NestedWait([20], [6])]
    together = run_policy(tables, policies, clock=SYSTEM.clock, backend="kernel")
    assert together.attrs["engine"] == "WAIT, Nested WAIT"
    for run, (table, policy) in enumerate(zip(tables, policies, strict=True)):
        alone = run_policy(table, policy, clock=SYSTEM.clock, backend="reference")
        windows = alone.sizes["window"]
        for name in alone.data_vars:
            own = together[name].isel(run=[run])
            own = own.isel(window=slice(windows), request=slice(len(table)), missing_dims="ignore")
            np.testing.assert_array_equal(own.values, alone[name].values, err_msg=str(name))
        assert np.isnan(together.running.values[run, windows:]).all()
        assert (together.output_length.values[run, len(table) :] == -1).all()


@given(st.lists(cases(), min_size=1, max_size=5), st.sampled_from([None, 7]))
def test_compiled_code_gives_the_same_bits(some, iterations):
    here = run_cases(some, iterations=iterations)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "PYTHON_ITERATIONS", 0)
        patch.setattr(engine, "_AT_ONCE", 3)  # a call goes on where the one before it ended
        xr.testing.assert_identical(run_cases(some, iterations=iterations), here)


# --------------------------------------------------------------------------------------- results


@pytest.mark.parametrize("backend", ["kernel", "reference"])
def test_metrics_by_hand(backend):
    """Pairs of 2 + 2 tokens that come at 0, 1, 2, 3, 4 and 10; an iteration lasts 2 + tokens / 4.

    Batches hold 4, 4 + 6, and 4 + 6 + 8 tokens and start at 1, 4 and 10: at 1 the second has come,
    at 1 + 2 + 1 = 4 the fourth, and 4 + 2 + 2.5 = 8.5 is before the sixth. The third one ends at
    10 + 2 + 4.5 = 16.5.
    """
    table = Requests([2] * 6, [2] * 6, arrival=[0.0, 1.0, 2.0, 3.0, 4.0, 10.0])
    run = run_policy(
        table, Wait([2]), clock=IterationClock(2.0, 0.25), capacity=20, backend=backend
    )
    assert run.time.values.tolist() == [[4.0, 8.5, 16.5]]
    assert run.status.item() == "STUCK"
    assert run.first_token.values[0].tolist()[:4] == [8.5, 8.5, 16.5, 16.5]
    assert run.last_token.values[0].tolist()[:4] == [16.5] * 4
    found = metrics(run)
    expected = {
        "completions": 2.0,
        "throughput_per_time": 2 / 16.5,
        "output_throughput_per_time": (2 + 4) / 16.5,
        "latency_mean": (16.5 + 15.5) / 2,
        "ttft_mean": (8.5 + 7.5 + 14.5 + 13.5) / 4,
        "tpot_mean": 8.0,
        "longest_gap_p50": 8.0,
        "utilisation": (4 + 10 + 18) / 3 / 20,
        "queue_mean": 1 / 3,  # the fifth waits while the second batch runs
        "recompute_tax": 0.0,
        "preemptions": 0.0,
        "censored": 4.0,
    }
    assert {name: found[name].item() for name in expected} == pytest.approx(expected, rel=1e-15)
    # The paper counts what completed: two of two tokens each.
    assert run.completed_outputs.sum().item() / run.time.max().item() == 4 / 16.5


def test_a_prompt_is_a_request_of_serve_with_one_output_more():
    """The same clock, memory and times: 4 tokens in, 3 out after a prefill that emits one more."""
    clock = IterationClock(1.0, 0.25)
    ours = run_policy(Requests([4], [3]), Wait([1]), clock=clock, iterations=1)
    assert ours.kv_tokens.item() == 4
    # A new one each time lets the first go on: look at it alone in `serve`, and at the sums here.
    theirs = serve(Requests([4], [4]), Server("vllm", Limits(100), clock=clock))
    assert theirs.kv_tokens.values[0].tolist() == [4, 5, 6, 7]
    table = Requests([4] * 4, [3] * 4)
    run = run_policy(table, Wait([1]), clock=clock)
    assert run.kv_tokens.values[0].tolist() == np.cumsum([4, 5, 6, 7]).tolist()
    assert run.tokens.values[0].tolist() == [4, 5, 6, 7]
    assert theirs.tokens.values[0].tolist() == [4, 1, 1, 1]


def test_windows_hold_sums_means_and_peaks():
    table = poisson_prompts(SYSTEM, rng=5, count=300)
    fine = run_policy(table, NESTED, clock=SYSTEM.clock, iterations=33)
    coarse = run_policy(table, NESTED, clock=SYSTEM.clock, iterations=33, every=10)
    assert coarse.iteration.values.tolist() == [10, 20, 30, 40]
    names = ["used_blocks" if name == "held_tokens" else name for name in COUNTS]
    for name in names:
        parts = [fine[name].values[0, at : at + 10] for at in range(0, 33, 10)]
        expected = [part.mean() if KNOWN_COUNTS[name].level else part.sum() for part in parts]
        assert coarse[name].values[0].tolist() == expected, name
    peaks = [fine.used_blocks.values[0, at : at + 10].max() for at in range(0, 33, 10)]
    assert coarse.peak_tokens.values[0].tolist() == peaks
    assert coarse.time.values[0].tolist() == fine.time.values[0, [9, 19, 29, 32]].tolist()


def test_how_runs_end():
    table = Requests([1] * 4, [1] * 4, arrival=[0.0, 0.0, 0.0, 9.0])

    def status(policy: Wait | NestedWait, **options) -> str:
        return run_policy(table, policy, clock=TICK, backend="kernel", **options).status.item()

    assert status(Wait([1])) == "STUCK"  # the last has no successor to go on with
    assert status(Wait([1]), horizon=9.0) == "HORIZON"
    assert status(Wait([1]), horizon=9.1) == "STUCK"
    assert status(Wait([1]), iterations=2) == "HORIZON"
    assert status(Wait([5]), horizon=2.0) == "STUCK"


@pytest.mark.parametrize("backend", ["kernel", "reference"])
def test_a_horizon_in_time_is_one_for_each_run(backend):
    """The third iteration would start at 2."""
    table = Requests([1] * 9, [1] * 9, arrival=[float(n) for n in range(9)])
    run = run_policy(table, Wait([1]), clock=TICK, horizon=[2.0, 2.5, None], backend=backend)
    assert run.iterations.values.tolist() == [2, 3, 9]


def test_nothing_runs_and_says_so():
    run = run_policy(Requests([1] * 3, [1] * 3), Wait([4]), clock=TICK, backend="kernel")
    assert (run.iterations.item(), run.served.item(), run.status.item()) == (0, 0, "STUCK")
    assert run.admitted.isnull().all()
    assert np.isnan(metrics(run).throughput.item())


def test_requests_may_be_left_out():
    table = poisson_prompts(SYSTEM, rng=1, count=50)
    for backend in ("kernel", "reference"):
        run = run_policy(table, NESTED, clock=TICK, keep_requests=False, backend=backend)
        assert "arrival" not in run
        assert run.served.item() == run.completed.sum().item()


def test_progress_is_told():
    table = poisson_prompts(SYSTEM, rng=1, count=400)
    for backend in ("kernel", "reference"):
        told: list[tuple[int, int]] = []
        run = run_policy(
            [table] * 2,
            Wait([3, 3, 2]),
            clock=SYSTEM.clock,
            backend=backend,
            on_progress=lambda *now, told=told: told.append(now),
        )
        assert told[-1] == (run.iterations.sum().item(), run.served.sum().item())
        assert told == sorted(told)


# ---------------------------------------------------------------------------------------- memory


def test_a_memory_that_is_never_full_changes_nothing():
    table = poisson_prompts(SYSTEM, rng=2, count=300)
    free = run_policy(table, NESTED, clock=SYSTEM.clock, backend="kernel")
    peak = int(free.peak_tokens.max())
    held = run_policy(table, NESTED, clock=SYSTEM.clock, capacity=peak, backend="kernel")
    xr.testing.assert_identical(held.drop_vars("blocks"), free.drop_vars("blocks"))
    assert held.blocks.item() == peak
    with pytest.raises(InputError, match=f"at least {peak} tokens"):
        run_policy(table, NESTED, clock=SYSTEM.clock, capacity=peak - 1, backend="kernel")


def test_runs_that_outgrow_their_memory_evict_as_the_literal_engine_does():
    table = poisson_prompts(SYSTEM, rng=2, count=150)
    peak = int(run_policy(table, NESTED, clock=SYSTEM.clock).peak_tokens.max())
    options = {"clock": SYSTEM.clock, "capacity": [peak, peak * 3 // 4]}
    auto = run_policy(table, NESTED, **options)
    xr.testing.assert_identical(auto, run_policy(table, NESTED, **options, backend="reference"))
    assert auto.evictions.sum("request").values.tolist()[0] == 0
    assert auto.preempt.sum("window").values[1] > 0
    assert (auto.peak_tokens.max("window") <= auto.blocks).all()


def test_prompts_that_evict_each_other_for_ever_are_stuck():
    """A pauses with 4 of 10 tokens. B and C would hold 7 at stage 3, and evict themselves by turns.

    Each makes the other one go on, and none is ever served.
    """
    table = Requests([4, 4, 4], [3, 3, 3], class_index=[0, 1, 1])
    options = {"clock": TICK, "capacity": 10}
    run = run_policy(table, Wait([1, 1]), **options)
    assert (run.status.item(), run.served.item()) == ("STUCK", 0)
    assert run.preempt.sum().item() >= 2
    longer = run_policy(table, Wait([1, 1]), **options, iterations=200)
    assert (longer.status.item(), longer.iterations.item()) == ("HORIZON", 200)
    assert longer.served.item() == 0
    known = run.sizes["window"]
    assert longer.running.values[0, :known].tolist() == run.running.values[0].tolist()


# --------------------------------------------------------------------------------- large numbers


@pytest.mark.parametrize("backend", ["kernel", "reference"])
@pytest.mark.parametrize(
    ("huge", "large"),
    [
        (Wait([2, 10**30, 2]), Wait([2, 10**4, 2])),
        (NestedWait([3, 8, 10**30], [8, 4, 10**30]), NestedWait([3, 8, 20], [8, 4, 10**4])),
        (NestedWait([20, 10**30, 10**31], [8, 4, 1]), NestedWait([20], [8])),
    ],
    ids=["threshold", "segment", "no prompt gets there"],
)
def test_numbers_beyond_64_bits_are_as_good_as_large_ones(huge, large, backend):
    table = poisson_prompts(SYSTEM, rng=4, count=120)
    options: dict[str, Any] = {"clock": SYSTEM.clock, "backend": backend}
    found = run_policy(table, huge, **options, iterations=10**30, horizon=10**30)
    xr.testing.assert_identical(found, run_policy(table, large, **options))


@pytest.mark.parametrize("backend", ["kernel", "reference"])
def test_numpy_numbers_are_numbers(backend):
    table = Requests([1] * 9, [1] * 9, arrival=[float(n) for n in range(9)])

    def run(kind: Any) -> xr.Dataset:
        numbers = {"capacity": 50, "horizon": 5, "iterations": 4, "every": 2}
        options: dict[str, Any] = {name: kind(value) for name, value in numbers.items()}
        return run_policy(table, Wait([1]), clock=TICK, backend=backend, **options)

    xr.testing.assert_identical(run(int), run(np.int64))


# -------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("change", "argument"),
    [
        ({"backend": "cuda"}, "backend"),
        ({"every": 0}, "every"),
        ({"every": None}, "every"),
        ({"every": 10**30}, "every"),
        ({"iterations": 0}, "iterations"),
        ({"iterations": True}, "iterations"),
        ({"horizon": 0.0}, "horizon"),
        ({"horizon": float("nan")}, "horizon"),
        ({"horizon": "1"}, "horizon"),
        ({"horizon": True}, "horizon"),
        ({"horizon": 10**400}, "horizon"),
        ({"capacity": 2}, "capacity"),
        ({"capacity": "4"}, "capacity"),
        ({"capacity": 9.0}, "capacity"),
        ({"capacity": 10**30}, "capacity"),
        ({"policy": "WAIT"}, "policy"),
        ({"policy": [Wait([1])] * 2, "clock": [TICK] * 3}, "policy"),
        ({"requests": []}, "requests"),
        ({"requests": [1, 2]}, "requests"),
        ({"clock": None}, "clock"),
        ({"clock": [TICK, IterationClock.iterations()]}, "clock"),
        ({"clock": IterationClock(1.0, per_prefill_pair=1.0)}, "per_prefill_pair"),
    ],
)
def test_what_cannot_run_is_refused(change, argument):
    call = {"requests": Requests([2], [2]), "policy": Wait([1]), "clock": TICK} | change
    with pytest.raises(InputError, match=f"^{argument}: "):
        run_policy(call.pop("requests"), call.pop("policy"), **call)
