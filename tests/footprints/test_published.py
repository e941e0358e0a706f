"""What others published on throughput and overflow, beside this theory and an engine.

- arXiv 2605.04595: throughput is at most mu = M / (mean of what is held x lifetime). That mean is
  A(1), so mu is the u of a full server's equilibrium.
- arXiv 2604.11001: overflows decay exponentially with the slack of a rate limit.
- arXiv 2504.07347: a server that never leaves work undone reaches the throughput there is.
"""

from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import fluidkv as fk
from fluidkv.footprints import OpenMemory
from fluidkv.footprints.second_moments import mean_weights
from tests.answers.study.test_swing import recorded
from tests.footprints.test_noise import server_of

BLOCK = 16
MIXED = [(200 + 9 * k, 5 + (7 * k) % 36) for k in range(20)]
WIDE = [(20 + 30 * k, 2 + (11 * k) % 60) for k in range(30)]


def footprint(lengths: list[tuple[int, int]]) -> fk.FootprintMix:
    stored = fk.Workload.from_lengths([(i - 1, o) for i, o in lengths])
    return fk.footprint_of(stored, block=BLOCK)


def engine(
    lengths: list[tuple[int, int]],
    capacity: int,
    arrivals: float | None = None,
    rules: str = "vllm",
) -> xr.Dataset:
    """10,000 iterations, the first tenth left out: always full, or Poisson."""
    rng, iterations = np.random.default_rng(1), 10_000
    weights = mean_weights(footprint(lengths))
    rate = arrivals or 1.3 * float(capacity / weights.lifetime_memory)
    chosen = rng.integers(0, len(lengths), int(rate * iterations))
    inputs, outputs = np.array(lengths)[chosen].T
    times = np.sort(rng.integers(0, iterations, len(chosen))) if arrivals else None
    requests = fk.Requests(inputs, outputs, arrival=times)
    server = fk.Server(rules, fk.Limits(capacity, block_size=BLOCK))
    run = fk.serve(requests, server, iterations=iterations, keep_requests=False)
    return run.isel(window=slice(iterations // 10, None))


def throughput(
    lengths: list[tuple[int, int]], running: float, rules: str = "vllm"
) -> tuple[float, float, float, str]:
    """mu, mu less slack and what the engine completes an iteration; and the verdict."""
    server = server_of(footprint(lengths), running)
    found = fk.noise(server)
    bound = float(found.stability.equilibrium.rate)
    whole = bound * (1 - found.slack.mean / float(server.capacity))
    run = engine(lengths, int(server.capacity), rules=rules)
    return bound, whole, float(run.completed.mean()), str(found.stability.verdict)


@pytest.mark.parametrize(("lengths", "running"), [(MIXED, 100), (MIXED, 400), (WIDE, 200)])
def test_stable_engines_complete_the_published_bound_less_slack(lengths, running) -> None:
    bound, whole, done, verdict = throughput(lengths, running)
    assert verdict == "stable"
    assert done <= bound * 1.002  # drawn lengths are as much shorter than the mix
    assert done == pytest.approx(whole, rel=0.01)


def test_what_an_unstable_engine_completes_depends_on_what_it_computes_again() -> None:
    """It is full, and leaves no work undone. vLLM's rules lose an iteration at an eviction, and do
    not fall below the bound; where requests restart, outputs are lost, and throughput with them.
    """
    bound, whole, resumed, verdict = throughput([(100, 24)], 200)
    assert verdict == "unstable"
    assert resumed == pytest.approx(whole, rel=0.01)
    restarted = throughput([(100, 24)], 200, "restart")[2]
    assert restarted < 0.97 * whole < bound


def overflows(slack: float, capacity: int) -> tuple[float, float, float]:
    """Chances that memory overflows: predicted, of runs, and of an engine's iterations to evict."""
    mix = footprint(MIXED)
    rate = (1 - slack) * float(capacity / mean_weights(mix).lifetime_memory)
    runs = fk.simulate_footprints(
        fk.FullServer(mix, capacity), arrivals=rate, iterations=20_000, runs=16
    )
    run = engine(MIXED, capacity, rate)
    return (
        OpenMemory(mix, rate).overflow(capacity),
        float((runs.used > capacity).mean()),
        float((run.preempt > 0).mean()),
    )


def test_overflows_decay_exponentially_in_memory_and_in_slack_squared() -> None:
    """log P = -I(slack) M: twice the memory the exponent, twice the slack four times."""
    mix = footprint(MIXED)
    held = float(mean_weights(mix).lifetime_memory)

    def exponent(slack: float, capacity: float) -> float:
        """From memory to twice as much: what is left of the logarithm besides its root."""
        small, large = (
            OpenMemory(mix, (1 - slack) * M / held).overflow(M) for M in (capacity, 2 * capacity)
        )
        return np.log(small / large) - np.log(2) / 2

    assert exponent(0.2, 128_000) == pytest.approx(2 * exponent(0.2, 64_000), rel=0.05)
    assert exponent(0.2, 128_000) == pytest.approx(4 * exponent(0.1, 128_000), rel=0.15)


@pytest.mark.parametrize("slack", [0.05, 0.1, 0.15])
def test_overflows_below_capacity_are_those_of_runs(slack: float) -> None:
    predicted, run, evicting = overflows(slack, 32_000)
    assert predicted == pytest.approx(run, rel=0.15)
    # the engine keeps whom it has no room for waiting: it evicts less than memory would overflow
    assert evicting < predicted


# --- recorded engines ---------------------------------------------------------------------------

PAGE = (Path(__file__).parents[2] / "docs" / "noise.md").read_text(encoding="utf-8")
RECORDED = {
    "vllm/homogeneous_bs1.json": "vLLM 0.33 scheduler, 20 in, 20 out",
    "vllm/homogeneous_bs16.json": "the same in blocks of 16",
    "vllm/watermark_05.json": "the same with a watermark of 5 %",
    "vllm/long_outputs_bs1.json": "10 in, 40 out",
    "vllm/budget_256.json": "the same with 256 tokens a step",
    "vllm/four_class_bs16_rr.json": "30 in, four lengths in turn, blocks of 16",
    "vllm/two_class_bs1_iid.json": "30 in, two lengths, drawn",
    "vllm_live/A_one_class_64_128_first.json": "vLLM 0.32 server, 64 in, 128 out",
    "vllm_live/A_watermark_05.json": "the same with a watermark of 5 %, on the server",
    "vllm_live/B_mix_318_9_14.json": "318 in, 9 and 14 out in turn",
}
UNBOUNDED = 10_000  # tokens a step: a budget that no step of these logs comes near


def against_recorded(name: str) -> tuple[float, float, float, float | None]:
    """Served an iteration; mu, mu less slack and watermark, and the token budget, over it.

    Served are tokens over those of a request: completions would count what was begun before.
    """
    columns, server, log = recorded(name)
    weights, slack = mean_weights(server.footprint), fk.noise(server).slack.mean
    done = float(columns["sched_reqs"].mean() / float(weights.mean_lifetime))
    spared = int(log["watermark"] * (log["usable_blocks"] + 1)) * log["block_size"]
    held = float(weights.lifetime_memory)
    mu, full = (float(server.capacity) - less for less in (0.0, slack + spared))
    budget = None
    if log["max_num_batched_tokens"] < UNBOUNDED:
        lengths = log.get("input_lengths") or [log["input_length"]]
        tokens = np.mean(lengths) + np.mean(log["output_lengths"])
        budget = log["max_num_batched_tokens"] / float(tokens) / done
    return done, mu / held / done, full / held / done, budget


def row(name: str, title: str) -> str:
    done, mu, full, budget = against_recorded(name)
    last = "" if budget is None else f"{budget:.2f}"
    return f"| {title} | {done:.3f} | {mu:.3f} | {full:.3f} | {last} |"


@pytest.mark.parametrize("name", RECORDED)
def test_the_page_has_what_recorded_engines_complete(name: str) -> None:
    assert row(name, RECORDED[name]) in PAGE


def test_mu_is_a_bound_and_less_slack_nearer_to_recorded_engines() -> None:
    ratios = np.array([against_recorded(name)[1:3] for name in RECORDED])
    off = np.abs(ratios - 1)
    assert ratios[:, 0].min() > 1
    assert f"by {100 * off[:, 0].min():.1f} to {100 * off[:, 0].max():.1f} %" in PAGE
    nearer = int((off[:, 1] < off[:, 0]).sum())
    assert f"nearer on {nearer} of the {len(RECORDED)}" in PAGE


def test_a_recorded_load_evicts_less_than_memory_would_overflow() -> None:
    """The one log below capacity, by its requests a step."""
    columns, server, log = recorded("vllm/poisson_095.json")
    mu = float(server.capacity / mean_weights(server.footprint).lifetime_memory)
    rate = len(log["output_lengths"]) / len(log["arrived_by_step"])
    predicted = OpenMemory(server.footprint, rate).overflow(float(server.capacity))
    text = " ".join(PAGE.split())
    evicting = float((columns["preempt"] > 0).mean())
    assert f"overflows in {predicted:.2f} of iterations" in text
    assert f"evicts in {evicting:.2f} of those in which requests wait" in text
    assert f"Poisson arrivals at {100 * rate / mu:.0f} % of mu" in text
