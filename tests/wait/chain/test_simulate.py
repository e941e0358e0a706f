"""Counts against single prompts, compiled against literal, and the law of what is drawn inside."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr
from scipy import stats

from fluidkv.errors import InputError
from fluidkv.runs.rates import RateSteps
from fluidkv.runs.requests import Requests
from fluidkv.serving.clock import IterationClock
from fluidkv.wait.chain import rates
from fluidkv.wait.chain.runs import CHAIN_RECORDS
from fluidkv.wait.chain.simulate import simulate_chain
from fluidkv.wait.model import PromptType, WaitSystem
from fluidkv.wait.policy import NestedWait, Wait
from fluidkv.wait.runs.reference import WaitEngine
from fluidkv.wait.segments import Segments
from tests.wait.chain.reference import Counts, Draws, chain_reference
from tests.wait.chain.test_draws import uniform

TYPES = (PromptType(4, 3, 1), PromptType(4, 3, 3), PromptType(2, 3, 6))
SYSTEM = WaitSystem(TYPES, Fraction(1, 2), Fraction(1, 500))
PREFILLED = WaitSystem(TYPES, Fraction(1, 2), Fraction(1, 500), Fraction(1, 300))
SEGMENTS = Segments.of(SYSTEM)
NESTED, EACH = (8, 6, 3), (4, 5, 3)  # thresholds; neither strict nor stable everywhere
STEPS = RateSteps((0, 9, 30), (1, 0, 1.5))
CONSTANT = RateSteps((0, 9, 30), (1, 1, 1))  # the law without steps, by the code for them


def _chain(model: Segments | WaitSystem, **kwargs: Any) -> xr.Dataset:
    """`simulate_chain`; of at most 128 runs, with all records or none, so that all tests of a model
    share a compilation."""
    if isinstance(model, Segments):
        kwargs = {"base": SYSTEM.base, "per_kv_token": SYSTEM.per_kv_token} | kwargs
    thresholds = kwargs.pop("thresholds", NESTED if isinstance(model, Segments) else EACH)
    return simulate_chain(model, thresholds, **kwargs)


# ------------------------------------------------------------- literal counts and single prompts


def test_the_reference_by_hand() -> None:
    """Half a unit of wait, then 9 prompts with 3 tokens each; 4 of them are done, 5 go on."""
    segments = Segments(3, ends=(1, 3), rates=(Fraction(3), Fraction(1)))
    draws = [Draws(0.5, (9, 0), (9, 0)), Draws(0, (0, 0), (2, 5))]
    found = list(chain_reference(segments, (9, 4), IterationClock(1), draws))
    assert found[0].time == 1.5
    assert [(one.kv_tokens, one.completed) for one in found] == [(27, 0), (63, 4)]


def test_counts_follow_single_prompts_when_told_what_they_drew() -> None:
    for seed in range(2):
        requests = _requests(seed, 800)
        for model, policy in (
            (SEGMENTS, NestedWait(SEGMENTS.ends, NESTED)),
            (SYSTEM, Wait(EACH)),
        ):
            draws, seen = _run_of_prompts(requests, policy)
            counted = list(chain_reference(model, policy.thresholds, SYSTEM.clock, draws))
            assert len(counted) > 80
            for count, iteration in zip(counted, seen, strict=True):
                assert count == iteration


def _requests(seed: int, size: int) -> Requests:
    random = np.random.default_rng(seed)
    rate = [float(each.arrival_rate) for each in TYPES]
    kind = random.choice(len(TYPES), size, p=np.array(rate) / sum(rate))
    outputs = np.array([each.output_length for each in TYPES])[kind]
    arrival = np.cumsum(random.exponential(1 / sum(rate), size))
    return Requests(3, outputs, arrival=arrival, class_index=kind)


def _run_of_prompts(
    requests: Requests, policy: NestedWait | Wait
) -> tuple[list[Draws], list[Counts]]:
    """Iterations of the literal engine, and what chance decided in each."""
    engine = WaitEngine(requests, policy, SYSTEM.clock)
    starts = policy.starts if isinstance(policy, NestedWait) else None

    def segments() -> tuple[int, ...]:
        prompts = [*engine.inside, *engine.waiting]
        if starts is None:
            waits = [p.type for p in prompts if p.stage == 0]
            return tuple(waits.count(j) for j in range(len(TYPES)))
        return tuple(sum(p.stage == start for p in prompts) for start in starts)

    draws, counts = [], []
    while True:
        engine.arrive()
        queue, before = segments(), engine.now
        batch = engine.select()
        if batch is None:
            return draws, counts
        ready, start = segments(), engine.now
        first = {p.index for p in batch}
        step = engine.step()  # selects the same batch again
        assert step is not None
        engine.arrive()
        left = [0] * len(ready)
        for k, n in enumerate(policy.thresholds):
            where = k if starts is None else starts[k]
            key = "type" if starts is None else "stage"
            took = sum(
                getattr(p, key) - (0 if starts is None else 1) == where
                and p.stage == (1 if starts is None else where + 1)
                for p in engine.all
                if p.index in first
            )
            assert took in (0, n)
            left[k] = ready[k] - took
        entered = tuple(after - rest for after, rest in zip(segments(), left, strict=True))
        waited = tuple(b - a for a, b in zip(queue, ready, strict=True))
        draws.append(Draws(start - before, waited, entered))
        names = ("joined", "kv_tokens", "held_tokens", "completed", "new_outputs")
        # The clock as the chain adds it up: the wait as a duration, rounded once more.
        joined, kv, held, done, outputs = (step[name] for name in names)
        now: Any = pytest.approx(engine.now, rel=1e-12)
        counts.append(Counts(queue, joined, kv, held, done, outputs, now))


# ----------------------------------------------------------------- compiled counts and literal


@pytest.mark.daily(2)
@pytest.mark.parametrize(
    ("model", "steps", "prefill"),
    [
        (SEGMENTS, None, None),
        (SEGMENTS, STEPS, None),
        (SEGMENTS, None, Fraction(1, 300)),
        (SEGMENTS, STEPS, Fraction(1, 300)),
        (SYSTEM, STEPS, None),
        (PREFILLED, STEPS, None),  # a system has a prefill cost of its own
    ],
    ids=["segments", "steps", "prefill", "steps, prefill", "types, steps", "types, steps, prefill"],
)
def test_compiled_counts_equal_literal_ones(
    model: Segments | WaitSystem, steps: RateSteps | None, prefill: Fraction | None
) -> None:
    nested = isinstance(model, Segments)
    thresholds = NESTED if nested else EACH
    own = {} if prefill is None else {"per_prefill_token": prefill}
    found = _chain(model, runs=3, iterations=230, rate_steps=steps, record=CHAIN_RECORDS, **own)
    clock = replace(SYSTEM.clock, per_prefill_token=float(prefill or 0)) if nested else model.clock
    for run in found.run.values:
        one = found.isel(run=run)
        draws = [
            Draws(float(w), _ints(came), _ints(entered))
            for w, came, entered in zip(
                one.wait.values, one.waited.values, one.entered.values, strict=True
            )
        ]
        literal = list(chain_reference(model, thresholds, clock, draws))
        assert [count.queue for count in literal] == [_ints(q) for q in one.each_queue.values]
        for name in ("joined", "kv_tokens", "held_tokens"):
            assert [getattr(count, name) for count in literal] == one[name].values.tolist()
        # The same sums in the same order, but for a fused multiply and add.
        np.testing.assert_allclose([c.time for c in literal], one.each_time.values, rtol=1e-13)
        queues = np.array([count.queue for count in literal])
        assert one.mean_queue.values.tolist() == queues.mean(axis=0).tolist()
        assert one.max_queue.values.tolist() == queues.max(axis=0).tolist()
        assert one.peak_held == max(count.held_tokens for count in literal)
        assert one.completed == sum(count.completed for count in literal)
        assert one.output_tokens == sum(count.outputs for count in literal)
        assert one.stuck == sum(draw.wait > 0 for draw in draws) > 0
        assert one.idle_time == pytest.approx(sum(draw.wait for draw in draws), rel=1e-12)


def _ints(values: np.ndarray) -> tuple[int, ...]:
    return tuple(values.astype(int).tolist())


@pytest.mark.thorough
def test_a_run_depends_on_its_number_alone() -> None:
    many = _chain(SEGMENTS, runs=130, iterations=40)
    few = _chain(SEGMENTS, runs=2, iterations=40)
    assert many.isel(run=slice(2)).identical(few)
    timed = _chain(SEGMENTS, runs=2, iterations=40, record=CHAIN_RECORDS)
    assert (timed.queue == few.queue).all()  # when waits are drawn changes the clock only
    assert not (timed.idle_time == few.idle_time).any()
    assert not few.queue.equals(_chain(SEGMENTS, runs=2, iterations=40, seed=1).queue)


def test_a_run_ends_at_the_first_end_after_its_horizon() -> None:
    whole = _chain(SEGMENTS, runs=5, iterations=60, record=CHAIN_RECORDS)
    cut = _chain(SEGMENTS, runs=5, horizon=20.0, record=CHAIN_RECORDS)
    ends = whole.each_time.values
    assert (cut.iterations == (ends < 20).sum(axis=1) + 1).all()
    assert (cut.time.values == ends[np.arange(5), cut.iterations.values - 1]).all()
    assert np.isnan(cut.each_time.values[:, -1]).any()  # not all ended in the same iteration


def test_the_first_excess_is_dated() -> None:
    level = 1.1 * sum(n * float(cost) for n, cost in zip(NESTED, SEGMENTS.costs, strict=True))
    found = _chain(SEGMENTS, runs=4, iterations=200, memory=level, record=CHAIN_RECORDS)
    above = found.held_tokens.values > level
    assert above.any(axis=1).all()
    first = np.arange(4), above.argmax(axis=1)
    duration = 0.5 + found.kv_tokens.values / 500
    start = (found.each_time.values - duration)[first]
    np.testing.assert_allclose(found.exceeded, start, rtol=1e-12)  # sums of some hundred roundings
    never = _chain(SEGMENTS, runs=4, iterations=200, memory=1e6, record=CHAIN_RECORDS)
    assert np.isnan(never.exceeded).all()


def test_a_level_that_is_reached_is_not_exceeded() -> None:
    run = partial(_chain, SEGMENTS, runs=4, iterations=200, record=CHAIN_RECORDS)
    peak = float(run().peak_held.max())
    for level, dated in ((peak, False), (peak - 1, True)):
        found = run(memory=level)
        assert bool(found.exceeded.notnull().any()) == dated


def test_the_mean_number_in_the_system_is_that_of_the_recorded_arrivals() -> None:
    """Who waits with w - 1 others comes, expected, at the w-th parts of the wait."""
    found = _chain(SEGMENTS, runs=2, iterations=230, record=CHAIN_RECORDS)
    for run in (0, 1):
        one = found.isel(run=run)
        rows = (one.wait.values, one.waited.values, one.entered.values)
        draws = [Draws(float(w), _ints(c), _ints(e)) for w, c, e in zip(*rows, strict=True)]
        literal = chain_reference(SEGMENTS, NESTED, SYSTEM.clock, draws)
        inside, area = 0, 0.0
        for draw, count in zip(draws, literal, strict=True):
            duration = 0.5 + count.kv_tokens / 500
            waited, came = draw.waited[0], draw.entered[0]
            area += draw.wait * (inside + (waited - 1) / 2)
            area += duration * (inside + waited + came / 2)
            inside += waited + came - count.completed
        assert float(one.in_system * one.time) == pytest.approx(area, rel=1e-12)


def test_waits_drawn_together_count_those_who_wait() -> None:
    one = _chain(SEGMENTS, runs=3, iterations=1)
    n, duration = NESTED[0], 0.5 + 3 * NESTED[0] / 500
    area = one.idle_time * (n - 1) / 2 + duration * (n + (one.arrived - n) / 2)
    np.testing.assert_allclose(one.in_system * one.time, area, rtol=1e-12)


def test_waits_drawn_together_take_as_long_as_one_by_one() -> None:
    """Fails for right samplers once in 1e6 seeds."""
    together = _chain(SEGMENTS, runs=128, iterations=30)
    apart = _chain(SEGMENTS, runs=128, iterations=30, record=CHAIN_RECORDS, seed=9)
    for name in ("time", "in_system"):
        assert _same_law(together[name].values, apart[name].values)


# ------------------------------------------------------------------------------------------ laws


def test_what_is_drawn_inside_has_the_law_given_the_state() -> None:
    found = _chain(SEGMENTS, runs=128, iterations=400, record=CHAIN_RECORDS)
    last = slice(50, None)  # every segment full: tables; earlier iterations search
    kv = found.kv_tokens.values
    mean = 10 * (0.5 + kv / 500)
    for part in (slice(0, 12), last):
        arrived = found.entered.values[:, part, 0]
        _agrees(arrived.ravel(), lambda k, m: stats.poisson.cdf(k, m), mean[:, part].ravel())
    for segment in (1, 2):
        ran = found.joined.values[:, last] >= segment
        goes_on = found.entered.values[:, last, segment][ran]
        n, p = NESTED[segment - 1], float(SEGMENTS.thinning[segment - 1])
        _agrees(goes_on, lambda k, q, n=n: stats.binom.cdf(k, n, q), np.full(goes_on.size, p))
    short = (NESTED[0] - found.each_queue.values[..., 0]).clip(0)
    assert (found.waited.values[..., 0] == short).all()
    u = stats.gamma.cdf(10 * found.wait.values[short > 0], short[short > 0])
    assert uniform(u)


def _agrees(drawn: np.ndarray, cdf: Callable[..., np.ndarray], parameter: np.ndarray) -> None:
    """A randomized probability transform is uniform; a right sampler fails once in 1e6 seeds."""
    low, high = cdf(drawn - 1, parameter), cdf(drawn, parameter)
    u = low + (high - low) * np.random.default_rng(0).random(drawn.size)
    assert uniform(u)


def _same_law(a: np.ndarray, b: np.ndarray) -> bool:
    found: Any = stats.ks_2samp(a, b)
    return found.pvalue > 1e-6


@pytest.mark.parametrize("model", [SEGMENTS, SYSTEM], ids=["segments", "types"])
def test_runs_have_the_law_of_runs_of_single_prompts(model: Segments | WaitSystem) -> None:
    """Numbers of a run to time 15; each test fails for a right chain once in 1e6 seeds."""
    nested = isinstance(model, Segments)
    policy = NestedWait(SEGMENTS.ends, NESTED) if nested else Wait(EACH)
    chain = xr.concat(
        [
            _chain(
                model, runs=128, horizon=15.0, seed=seed, record=CHAIN_RECORDS,
                rate_steps=None if nested else CONSTANT,
            )
            for seed in range(8)
        ],
        "run", join="outer",
    )  # fmt: skip
    prompts = []
    for seed in range(60):
        engine, steps = WaitEngine(_requests(100 + seed, 400), policy, SYSTEM.clock), []
        while engine.now < 15.0:
            steps.append(engine.step())
        assert engine.arrived < 400  # or the end of the table would bend the law
        left = [p.last_token_at if p.finished else engine.now for p in engine.all]
        present = (np.array(left, float) - [p.arrival for p in engine.all]).clip(0).sum()
        peak = max(step["held_tokens"] for step in steps)
        done = sum(step["completed"] for step in steps)
        prompts.append((peak, done, engine.now, len(steps), present / engine.now))
    columns = np.array(prompts, float).T
    for seen, name in zip(columns, ("peak_held", "completed", "time", "iterations"), strict=False):
        assert _same_law(seen, chain[name].values)
    # The chain's mean number in the system is expected given its counts: only means agree.
    error = np.hypot(columns[4].std() / 60**0.5, float(chain.in_system.std()) / 1024**0.5)
    assert abs(columns[4].mean() - float(chain.in_system.mean())) < 5 * error


def test_rate_steps_measure_time_by_the_factor() -> None:
    steps = RateSteps((0, 2, 5, 6), (1, 0, 3, 0.5))
    begin = np.array([0.5, 0.5, 1.0, 4.0, 5.5, 7.0])
    end = np.array([1.5, 9.0, 3.0, 4.5, 5.75, 9.0])
    grid = [np.linspace(a, b, 200_001) for a, b in zip(begin, end, strict=True)]
    factor = [np.array(steps.factors)[np.searchsorted(steps.times, g, "right") - 1] for g in grid]
    units = [np.trapezoid(f, g) for f, g in zip(factor, grid, strict=True)]
    rest = [
        np.trapezoid(f * (g[-1] - g), g) / u if u > 1e-9 else (g[-1] - g[0]) / 2
        for f, g, u in zip(factor, grid, units, strict=True)
    ]
    with jax.enable_x64(True):
        of = rates.pieces_of(steps)
        a, width = jnp.asarray(begin), jnp.asarray(end - begin)
        # The trapezoid rule is off by a step times a jump: 4e-5 * 3.
        np.testing.assert_allclose(jax.jit(rates.elapsed)(of, a, width), units, atol=2e-4)
        np.testing.assert_allclose(jax.jit(rates.mean_rest)(of, a, width), rest, atol=2e-4)
        grown = jax.jit(rates.elapsed)(of, a, width)
        moving = np.asarray(grown) > 0
        found = begin + np.asarray(jax.jit(rates.lasting)(of, a, grown))
    # Where the factor is 0 just before `end`, Lambda reaches its value earlier, or at the next
    # piece; such an end is not among these.
    inside = moving & ~np.isin(end, [3.0, 4.5])
    np.testing.assert_allclose(found[inside], end[inside], rtol=1e-14)


# ---------------------------------------------------------------------------------------- refusals


def _fast(rate: int) -> Segments:
    return Segments(1, (2,), (Fraction(rate),))


_FAST = WaitSystem([PromptType(10**10, 1, 1)], 1, 0)


@pytest.mark.parametrize(
    ("changed", "argument"),
    [
        ({"thresholds": (8, 6)}, "thresholds"),
        ({"thresholds": (8, 0, 3)}, "thresholds"),
        ({"thresholds": (2**16, 6, 3)}, "thresholds"),
        ({"base": None}, "base"),
        ({"base": 0.5}, "base"),
        ({"model": SYSTEM, "thresholds": EACH, "base": 1}, "base"),
        ({"model": 3, "thresholds": NESTED}, "model"),
        ({"iterations": None}, "iterations"),
        ({"iterations": 0}, "iterations"),
        ({"horizon": -1.0}, "horizon"),
        ({"memory": float("inf")}, "memory"),
        ({"thresholds": 3}, "thresholds"),
        ({"horizon": "a"}, "horizon"),
        ({"horizon": True}, "horizon"),
        ({"memory": "a"}, "memory"),
        ({"runs": 0}, "runs"),
        ({"runs": -1}, "runs"),
        ({"seed": 10**30}, "seed"),
        ({"rate_steps": ((0,), (1,))}, "rate_steps"),
        ({"record": 3}, "record"),
        # 3e9 would come, and 2e10: more than 32 bits hold. Then more than a draw searches.
        ({"model": _fast(10**6), "thresholds": (1,), "base": 1, "iterations": 3000}, "iterations"),
        (
            {"model": _fast(10**6), "thresholds": (1,), "iterations": None, "horizon": 3e3},
            "horizon",
        ),
        ({"model": _FAST, "thresholds": (1,), "iterations": 2}, "thresholds"),
        ({"model": _fast(10**8), "thresholds": (1,), "iterations": 2}, "thresholds"),
        ({"seed": -1}, "seed"),
        ({"record": ("stages",)}, "record"),
    ],
)
def test_bad_input_is_named(changed: dict[str, Any], argument: str) -> None:
    with pytest.raises(InputError, match=f"^{argument}: "):
        _chain(**{"model": SEGMENTS, "iterations": 5} | changed)


@pytest.mark.parametrize(
    ("times", "factors"),
    [
        ((1,), (1,)),
        ((0, 0), (1, 1)),
        ((0, 1), (1,)),
        ((0,), (0,)),
        ((), ()),
        (None, (1,)),
        ("ab", (1,)),
        ((0,), None),
        ((0,), ("a",)),
        ((0,), (10**400,)),
    ],
)
def test_bad_rate_steps_are_named(times: Any, factors: Any) -> None:
    with pytest.raises(InputError):
        RateSteps(times, factors)


def test_progress_adds_up_and_an_error_in_it_ends_the_run() -> None:
    told: list[tuple[int, int]] = []
    _chain(SEGMENTS, runs=3, iterations=1100, on_progress=lambda *done: told.append(done))
    assert told[-1] == (3300, 3)
    assert told == sorted(told)

    def interrupted(iterations: int, ended: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        _chain(SEGMENTS, iterations=10**8, on_progress=interrupted)
