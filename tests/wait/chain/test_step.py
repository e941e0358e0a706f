"""The step of WAIT as a pure map: masses against exact ones, counts against masses and calls."""

import dataclasses
from fractions import Fraction
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fluidkv.errors import InputError
from fluidkv.fluid.driver import rollout
from fluidkv.runs.rates import RateSteps
from fluidkv.runs.words import run_keys
from fluidkv.wait.chain.counts import CountState, count_chain
from fluidkv.wait.chain.masses import FluidChain, FluidState, fluid_chain
from fluidkv.wait.chain.model import clock_of, shapes
from fluidkv.wait.chain.runs import CHAIN_RECORDS
from fluidkv.wait.chain.simulate import simulate_chain
from fluidkv.wait.chain.step import empty, step
from fluidkv.wait.model import PromptType, WaitSystem
from fluidkv.wait.segments import Segments
from fluidkv.wait.theory.fluid import fluid_equilibrium
from tests.wait.chain.reference import Draws, chain_reference

SEGMENTS = Segments(3, (1, 3, 6), (Fraction(10), Fraction(6), Fraction(2)))
SYSTEM = WaitSystem(
    (PromptType(4, 3, 1), PromptType(4, 3, 3), PromptType(2, 3, 6)),
    Fraction(1, 2),
    Fraction(1, 500),
    Fraction(1, 300),
)
CLOCK: dict[str, Any] = {"base": Fraction(1, 2), "per_kv_token": Fraction(1, 500)}
ALL = tuple(CHAIN_RECORDS)
"""Records of most calls, also of other modules here, so that these share a compilation."""


pytestmark = pytest.mark.usefixtures("in_64_bits")


@st.composite
def chains(draw: st.DrawFn) -> tuple[Any, tuple[int, ...], dict[str, Any]]:
    """A model of up to three segments or types, thresholds, and the clock of segments."""
    size = draw(st.integers(1, 3))
    whole = st.integers(1, 6)
    thresholds = tuple(draw(st.lists(whole, min_size=size, max_size=size)))
    rate = st.fractions(Fraction(1, 4), 8, max_denominator=4)
    d0, d1 = draw(rate), draw(st.sampled_from((Fraction(0), Fraction(1, 64), Fraction(3, 1000))))
    if draw(st.booleans()):
        pairs = draw(st.lists(st.tuples(whole, whole), min_size=size, max_size=size, unique=True))
        types = tuple(PromptType(draw(rate), *pair) for pair in pairs)
        return WaitSystem(types, d0, d1), thresholds, {}
    ends = sorted(draw(st.sets(st.integers(1, 9), min_size=size, max_size=size)))
    rates = sorted(draw(st.lists(rate, min_size=size, max_size=size)), reverse=True)
    clock = {"base": d0, "per_kv_token": d1}
    return Segments(draw(whole), tuple(ends), tuple(rates)), thresholds, clock


def _exact_means(
    model: Any, thresholds: tuple[int, ...], clock: dict[str, Any], iterations: int
) -> list[Draws]:
    """What the literal chain draws where every draw is its mean, in rationals."""
    nested = isinstance(model, Segments)
    rates = [model.rates[0]] if nested else [each.arrival_rate for each in model.types]
    base, per_kv, per_prefill = (
        (clock["base"], clock["per_kv_token"], 0)
        if nested
        else (model.base, model.per_kv_token, model.per_prefill_token)
    )
    segments = shapes(model, thresholds)
    queue, batches = [Fraction(0)] * len(thresholds), [0] * len(thresholds)
    draws = []
    for _ in range(iterations):
        waits = [max(n - q, 0) / r for n, q, r in zip(thresholds, queue, rates, strict=False)]
        wait = waits[0] if nested else min(waits)
        waited = [r * wait for r in rates] + [Fraction(0)] * (len(queue) - len(rates))
        ready = [q + w for q, w in zip(queue, waited, strict=True)]
        joined = [q >= n for q, n in zip(ready, thresholds, strict=True)]
        if nested:
            joined = [all(joined[: k + 1]) for k in range(len(joined))]
        kv = prefill = 0
        passed = [0] * len(queue)
        for k, segment in enumerate(segments):
            if joined[k]:
                batches[k] += 1
                full = min(batches[k], segment.span)
                kv, prefill = kv + segment.tokens(full), prefill + segment.prefill_tokens
                passed[k] = segment.threshold if full == segment.span else 0
        duration = base + per_kv * kv + per_prefill * prefill
        entered = [r * duration for r in rates] + [Fraction(0)] * (len(queue) - len(rates))
        if nested:
            for k, share in enumerate(model.thinning, start=1):
                entered[k] += share * passed[k - 1]
        draws.append(Draws(wait, tuple(waited), tuple(entered)))  # pyright: ignore[reportArgumentType]
        queue = [
            q - (n if j else 0) + e
            for q, n, j, e in zip(ready, thresholds, joined, entered, strict=True)
        ]
    return draws


SEGMENTS_AT_MOST, STAGES_AT_MOST = 3, 10  # of `chains`


def _wide(chain: FluidChain) -> FluidChain:
    """A chain with room for the largest that is drawn, so that all share a compilation: segments
    that it does not have are never reached."""
    more = SEGMENTS_AT_MOST - len(chain.threshold)
    fill = {"threshold": 1e9, "span": 1}

    def wide(path: Any, row: Any) -> np.ndarray:
        return (
            np.pad(row, (0, more), constant_values=fill.get(path[0].name, 0)) if row.ndim else row
        )

    wider = jax.tree_util.tree_map_with_path(wide, chain)
    return dataclasses.replace(wider, stages=STAGES_AT_MOST)


@given(chains())
@settings(max_examples=25)
def test_masses_are_the_literal_chain_with_every_draw_its_mean(drawn: Any) -> None:
    """Exactly as long as no queue is within rounding of a threshold that it misses or reaches."""
    model, thresholds, clock = drawn
    chain = _wide(fluid_chain(model, thresholds, **clock))
    literal_clock = clock_of(model, clock.get("base"), clock.get("per_kv_token"), None)
    draws = _exact_means(model, thresholds, clock, 24)
    state = empty(chain)
    for mean, count in zip(
        draws, chain_reference(model, thresholds, literal_clock, draws), strict=True
    ):
        queue = [float(q) for q in count.queue]
        masses = np.asarray(state.masses)
        np.testing.assert_allclose(masses[: len(queue), 0], queue, rtol=1e-10, atol=1e-10)
        assert not masses[len(queue) :].any()
        ready = np.array([float(q + w) for q, w in zip(count.queue, mean.waited, strict=True)])
        if (np.abs(ready - thresholds) < 1e-9).sum() > (mean.wait > 0):
            return  # at a threshold by chance: rounding decides
        state, flows = _step(chain, state)
        for name in ("kv_tokens", "held_tokens", "completed", "outputs"):
            expected = float(getattr(count, name))
            assert getattr(flows, name).item() == pytest.approx(expected, rel=1e-10, abs=1e-10)
        assert flows.wait.item() == pytest.approx(float(mean.wait), rel=1e-9, abs=1e-10)
        assert state.time.item() == pytest.approx(float(count.time), rel=1e-10)


_step = jax.jit(step)


@given(
    st.lists(st.tuples(st.integers(1, 8), st.integers(1, 6)), min_size=1, max_size=3, unique=True)
)
@settings(max_examples=20)
def test_the_equilibrium_is_a_fixed_point(lengths: list[tuple[int, int]]) -> None:
    """WAIT, section 3: thresholds n* = lambda tau* and n* at every stage, in tau* iterations."""
    types = tuple(PromptType(2 + k, *pair) for k, pair in enumerate(lengths))
    system = WaitSystem(types, 1, Fraction(1, 1000), Fraction(1, 3000))
    balance = fluid_equilibrium(system)
    levels = np.array([float(n) for n in balance.per_stage])
    chain = _wide(fluid_chain(system, levels))
    stages, held = np.arange(chain.stages), np.zeros(len(chain.threshold))
    held[: len(levels)] = levels
    # A little more waits than joins, so that rounding never keeps a type out.
    masses = held[:, None] * (stages < chain.span[:, None]) + 1e-6 * (stages == 0)
    state, flows = _step(chain, FluidState(jnp.asarray(masses), jnp.float64(0)))
    np.testing.assert_allclose(state.masses, masses, rtol=1e-12, atol=1e-12)
    assert state.time.item() == pytest.approx(float(balance.iteration_time), rel=1e-12)
    assert flows.kv_tokens.item() == pytest.approx(float(balance.memory), rel=1e-12)
    rate = flows.outputs.item() / flows.duration.item()
    assert rate == pytest.approx(float(balance.throughput), rel=1e-12)


CHANGING = RateSteps((0, 9, 30), (1, 0, 1.5))
CONSTANT = RateSteps((0, 9, 30), (1, 1, 1))  # no change, by the code for changes


@pytest.mark.thorough
def test_many_small_prompts_are_masses() -> None:
    """Counts of 400 times the thresholds and rates, over 400: a law of large numbers.

    Thresholds from which no queue is nearer than 1, so that chance changes no batch.
    """
    zeta, fine = 400, Fraction(1, 500 * 400)
    scaled = SYSTEM.scaled(zeta)
    cases = (
        (SEGMENTS, Segments(3, SEGMENTS.ends, tuple(zeta * r for r in SEGMENTS.rates)), None),
        (SYSTEM, WaitSystem(scaled.types, scaled.base, fine, fine * 5 / 3), CONSTANT),
    )
    for (model, large, steps), levels in zip(cases, ((12, 6, 1), (8, 160, 160)), strict=True):
        own = CLOCK if isinstance(model, Segments) else {}
        chain = _wide(fluid_chain(model, levels, **own))
        many = [zeta * n for n in levels]
        clock = own and {**own, "per_kv_token": fine}
        masses = empty(chain)
        for _ in range(12):
            masses, _ = _step(chain, masses)
        options = {"runs": 40, "iterations": 12, "record": ALL, "rate_steps": steps}
        runs = simulate_chain(large, many, **clock, **options)
        # What came in 12 iterations, some 200 prompts, has their number as its variance; less than
        # five errors of a mean of 40 runs.
        off = runs.queue.values.mean(axis=0) / zeta - np.asarray(masses.masses[:, 0])
        assert (np.abs(off) < 5 * (200 / zeta / 40) ** 0.5).all()
        assert runs.time.values.mean() == pytest.approx(masses.time.item(), rel=0.01)


def test_derivatives_of_masses_are_those_of_differences() -> None:
    chain = fluid_chain(SYSTEM, (4, 5, 3))
    masses = np.where(np.arange(chain.stages) < np.asarray(chain.span)[:, None], 2.0, 0.0)
    start = FluidState(jnp.asarray(masses), jnp.float64(0))

    def time(d1: jax.Array) -> jax.Array:
        changed = dataclasses.replace(chain, per_kv_token=d1)
        return rollout(changed, start, 9, step=step).state.time

    @jax.jit
    def lasting(d1: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
        return *jax.jvp(time, (d1,), (jnp.ones_like(d1),)), jax.grad(time)(d1)

    at, by = jnp.float64(0.002), 1e-6
    _, forward, slope = lasting(at)
    assert slope > 100  # tokens computed: longer iterations, in which more prompts come
    differences = (lasting(at + by)[0] - lasting(at - by)[0]).item() / (2 * by)
    assert slope.item() == pytest.approx(differences, rel=1e-6)
    assert forward.item() == pytest.approx(slope.item(), rel=1e-12)


def test_masses_are_conserved_under_rates_that_change() -> None:
    steps = RateSteps((0, 4, 9), (1, 0, 1.5))
    for chain in (
        fluid_chain(SEGMENTS, (8, 6, 3), **CLOCK, rate_steps=steps),
        fluid_chain(SYSTEM, (4, 5, 3), rate_steps=steps),
    ):
        state, came, gone = empty(chain), 0.0, 0.0
        for _ in range(30):
            state, flows = _step(chain, state)
            came, gone = came + flows.arrived.item(), gone + flows.completed.item()
        assert came - gone == pytest.approx(state.masses.sum().item(), rel=1e-12)
        assert gone > 0
        lasted = state.time.item()
        units = sum(
            factor * (min(max(lasted, begin), end) - begin)
            for begin, end, factor in ((0, 4, 1), (9, np.inf, 1.5))
        )
        assert came == pytest.approx(float(np.sum(chain.rate)) * units, rel=1e-9)


@pytest.mark.daily(1)
@pytest.mark.parametrize(
    ("model", "steps"),
    [
        pytest.param(SEGMENTS, None, id="segments: waits together, tables and searches"),
        pytest.param(SYSTEM, CHANGING, id="types: waits one by one, rates that change"),
    ],
)
def test_a_run_stepped_alone_is_that_of_a_call(model: Any, steps: RateSteps | None) -> None:
    own = CLOCK if isinstance(model, Segments) else {}
    call = simulate_chain(
        model, (8, 6, 3), **own, runs=3, iterations=60, record=ALL, rate_steps=steps
    )
    chain = count_chain(model, (8, 6, 3), **own, rate_steps=steps)
    keys = jax.random.wrap_key_data(run_keys(0, np.arange(3)).T, impl="threefry2x32")

    def run(key: jax.Array) -> tuple[CountState, tuple[Any, Any]]:
        def one(state: CountState, _: None) -> Any:
            after, flows = step(chain, state, key)
            return after, (state, flows)

        return jax.lax.scan(one, empty(chain), None, length=60)

    state, (before, flows) = jax.jit(jax.vmap(run))(keys)
    assert np.asarray(before.queue).tolist() == call.each_queue.values.tolist()
    assert np.asarray(flows.waited).tolist() == call.waited.values.tolist()
    assert np.asarray(flows.entered).tolist() == call.entered.values.tolist()
    np.testing.assert_allclose(flows.wait, call.wait.values, rtol=1e-12)
    np.testing.assert_allclose(state.time, call.time.values, rtol=1e-13)
    for name, total in (("arrived", flows.arrived), ("completed", flows.completed)):
        assert np.asarray(total).sum(axis=1).tolist() == call[name].values.tolist()
    assert np.asarray(flows.outputs).sum(axis=1).tolist() == call.output_tokens.values.tolist()


def test_what_a_step_cannot_take_is_named() -> None:
    masses, counts = fluid_chain(SYSTEM, (4, 5, 3)), count_chain(SYSTEM, (4, 5, 3))
    several = jax.random.split(jax.random.key(0))
    no_keys: list[Any] = [None, 3, "0", jnp.ones(()), np.zeros(2), jnp.uint32([[0, 1]]), several]
    cases: tuple[tuple[str, Any], ...] = (
        ("chain", lambda: step(SYSTEM, empty(masses))),  # pyright: ignore[reportArgumentType]
        ("state", lambda: step(masses, empty(counts))),
        ("state", lambda: jax.jit(step)(counts, empty(masses), jax.random.key(0))),
        (
            "state.masses",
            lambda: jax.jit(step)(masses, FluidState(jnp.ones((3, 2)), jnp.float64(0))),
        ),
        *(("key", lambda key=key: step(counts, empty(counts), key)) for key in no_keys),
        ("thresholds", lambda: fluid_chain(SYSTEM, (4, 5))),
        ("thresholds", lambda: fluid_chain(SYSTEM, (4, 5, 0))),
        ("thresholds", lambda: count_chain(SYSTEM, (4, 5, 1.5))),  # pyright: ignore[reportArgumentType]
        ("base", lambda: fluid_chain(SEGMENTS, (4, 5, 3))),
        ("rate_steps", lambda: fluid_chain(SYSTEM, (4, 5, 3), rate_steps=3)),  # pyright: ignore[reportArgumentType]
    )
    for argument, call in cases:
        with pytest.raises(InputError, match=f"^{argument}: "):
            call()
    with pytest.raises(InputError, match="key: got 'key<fry> of shape \\(2,\\)'"):
        jax.jit(step)(counts, empty(counts), several)
    with jax.enable_x64(False), pytest.raises(InputError, match="jax_enable_x64"):
        step(masses, empty(masses))
