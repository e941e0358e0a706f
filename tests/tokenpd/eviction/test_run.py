"""Runs of policies: what they keep, what is refused, what is told."""

import re
from dataclasses import replace
from fractions import Fraction
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fluidkv.errors import InputError
from fluidkv.runs.precision import in_float64, random_key
from fluidkv.tokenpd import AtWriting, Pricing, evict, policies, policy
from fluidkv.tokenpd.attention.weights import Attention
from fluidkv.tokenpd.eviction.optimum import attainable_mass
from fluidkv.tokenpd.eviction.policy import Choice, EvictionPolicy, Scope
from fluidkv.tokenpd.eviction.run import EvictionRun
from fluidkv.tokenpd.eviction.scorers import NEVER, LastUsed, Persistence, Return, Votes, Written
from fluidkv.tokenpd.seen import Seen
from tests.tokenpd.eviction.cases import Foresight, drawn_attention

NOBODY = Attention(np.zeros((0, 4, 4)), *[np.zeros(0, int)] * 4)
PRICING = Pricing(step=0.25, start=1 / 32)


def even(length: int = 6) -> Attention:
    """Three streams whose rows give all keys the same. Shapes are those of other tests."""
    weights = np.zeros((3, 9, 9), np.float32)
    for query in range(length):
        weights[:, query, : query + 1] = 1 / (query + 1)
    ones = np.ones(3, int)
    return Attention(weights, 2 * ones, length * ones, 0 * ones, np.arange(3))


def kept(policy: EvictionPolicy, budgets: tuple[int, int]) -> tuple[EvictionRun, np.ndarray]:
    run = evict(even(), budgets, policy, record=True)
    assert run.masks is not None
    return run, run.masks


def test_first_in_first_out_keeps_a_sliding_window() -> None:
    run, masks = kept(policies()["fifo"], (6, 9))
    for round_ in range(4):
        for mask in masks[0, round_]:
            np.testing.assert_array_equal(np.flatnonzero(mask), [round_, round_ + 1])
    assert run.kept[0].tolist() == [6, 6, 6, 6, 0]
    assert run.used[0].tolist() == [6, 9, 9, 9, 9]
    # Two kept keys and the row's own, of 3, 4, 5 and 6 keys that each have the same.
    np.testing.assert_allclose(run.mass[0, 1:, 0], [1, 3 / 4, 3 / 5, 3 / 6], rtol=1e-6)


def test_a_key_with_just_its_share_is_not_used() -> None:
    """Of four keys, one with a half, one with a quarter; the last one is new."""
    with in_float64():
        weights = jnp.array([[1 / 2, 1 / 4, 1 / 8, 1 / 8]])
        zero, there = jnp.zeros_like(weights), jnp.ones_like(weights, bool)
        query, now, prompt = (jnp.array([each]) for each in (3, 7, 1))
        seen = Seen(weights, there, query, now, prompt, zero, zero)
        before = jnp.array([[2, 2, 2, NEVER]])
        for multiple, after in ((1.0, [7, 2, 2, 7]), (1.5, [7, 2, 2, 7]), (2.0, [2, 2, 2, 7])):
            assert LastUsed(multiple).observe(before, seen)[0].tolist() == after


def test_sinks_stay_beside_the_window() -> None:
    _, masks = kept(replace(policies()["streaming-llm"], sinks=1), (6, 9))
    for round_ in range(4):
        np.testing.assert_array_equal(np.flatnonzero(masks[0, round_, 0]), [0, round_ + 1])


def test_what_is_left_over_of_shares_goes_to_the_first_streams() -> None:
    _, masks = kept(policies()["fifo"], (7, 2))
    held = masks.sum(-1)
    assert held[0, 1].tolist() == [3, 2, 2]
    assert held[1, 1].tolist() == [1, 1, 0]  # below one token for each stream


def test_a_budget_above_everything_keeps_everything() -> None:
    run, _ = kept(policies()["fifo"], (2**40, 2**60))
    assert run.kept.tolist() == [[6, 9, 12, 15, 0]] * 2
    np.testing.assert_array_equal(run.mass.sum(2), run.rows)


def test_rows_that_were_rounded_can_give_all_and_no_more() -> None:
    rounded = replace(even(), weights=even().weights * np.float32(0.9995))
    rows, most = attainable_mass(rounded, np.array([1000]))
    np.testing.assert_allclose(most[0], rows, rtol=1e-12)


def test_streams_that_generate_nothing_have_no_mean() -> None:
    whole = replace(even(), length=even().prompt)
    run = evict(whole, (6, 9), policies()["fifo"], record=True)
    assert run.rows.sum() == 0
    assert run.used.tolist() == [[6], [6]]
    assert np.isnan([run.mean_mass, run.mean_error, run.mean_optimum]).all()


def test_full_keeps_all_whatever_the_budget() -> None:
    attention = drawn_attention(5)
    run = evict(attention, [1, 2], policies()["full"])
    np.testing.assert_allclose(run.mean_mass, 1.0)
    assert run.error.max() == 0
    assert (run.kept > 2).any()


@pytest.mark.thorough
def test_what_does_not_come_back_is_never_recomputed() -> None:
    attention, drawn = drawn_attention(2), policies()["random-pooled"]
    keys = [random_key(seed) for seed in (0, 1)]
    assert evict(attention, 4, drawn, key=keys, record=True).recomputed.sum() == 0
    again = evict(attention, 4, drawn, key=keys, record=True, comes_back=True)
    assert (again.recomputed.sum(1) > 0).all()


def test_runs_are_their_own_whatever_is_computed_with_them() -> None:
    attention = drawn_attention(3)
    keys = [random_key(seed) for seed in range(3)]
    drawn, fifo = policies()["random-pooled"], policies()["fifo"]
    first = evict(attention, 4, drawn, key=keys[:2], record=True)
    second = evict(attention, 4, drawn, key=keys[1:], record=True)
    order = [fifo, drawn, fifo, drawn]
    mixed = evict(attention, [5, 4, 3, 4], order, key=[keys[0], *keys], record=True)
    plain = evict(attention, [5, 3], fifo, record=True)
    masks = [run.masks for run in (first, second, mixed, plain)]
    assert all(one is not None for one in masks)
    one, two, both, windows = (np.asarray(each) for each in masks)
    assert (one[0] != one[1]).any()
    np.testing.assert_array_equal(one[1], two[0])
    np.testing.assert_array_equal(both, np.stack([windows[0], one[0], windows[1], two[1]]))


def test_progress_is_told_to_the_end() -> None:
    told: list[tuple[int, int]] = []

    def tell(rounds: int, runs: int) -> None:
        told.append((rounds, runs))

    evict(even(), [3, 4], policies()["fifo"], record=True, on_progress=tell)
    assert told[-1] == (2 * even().rounds, 2)


def test_an_interrupt_ends_a_run() -> None:
    def interrupt(rounds: int, runs: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        evict(even(), [3, 4], policies()["fifo"], record=True, on_progress=interrupt)


def test_names() -> None:
    known = policies(Foresight(), PRICING)
    assert all(one.name == name for name, one in known.items())
    assert set(policies()) < set(policies(Foresight())) < set(known)
    assert policy("h2o", sinks=2) == replace(known["h2o"], sinks=2)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda: evict(even(), 0, policies()["fifo"]), "budget: got 0"),
        (lambda: evict(even(), [3, 0], policies()["fifo"]), "budget: got 0"),
        (lambda: evict(even(), 2.5, policies()["fifo"]), "budget: got 2.5"),  # pyright: ignore[reportArgumentType]  # refused
        (lambda: evict(even(), 2, policies()["fifo"], delay=-1), "delay: got -1"),
        (lambda: evict(even(), 2, "fifo"), "policy: got 'fifo'"),  # pyright: ignore[reportArgumentType]  # refused
        (lambda: evict(np.zeros(3), 2, policies()["fifo"]), "attention: got"),  # pyright: ignore[reportArgumentType]  # refused
        (lambda: evict(even(), [2, 3], [policies()["fifo"]] * 3), "2 of them"),
        (lambda: evict(even(), 2**62, policies()["fifo"]), "at most 1844674407370955161, for sums"),
        (lambda: evict(NOBODY, 2, policies()["fifo"]), "attention: got 'no stream'"),
        (lambda: evict(even(), 2, policies()["random"], key=3), "key: got 3"),  # pyright: ignore[reportArgumentType]  # refused
        (lambda: evict(even(), 2, policies()["random"], key=jax.random.PRNGKey(0)), "key: got Arr"),
        (lambda: policy("full-pooled"), "allowed: fifo, fifo-pooled"),
        (lambda: policy("return-pooled"), "allowed: with a predictor"),
        (lambda: policies(Foresight(), 3), "pricing: got 3"),  # pyright: ignore[reportArgumentType]  # refused
        (lambda: Return(None), "predictor: got None"),  # pyright: ignore[reportArgumentType]  # refused
        (lambda: Return(Foresight(), -1.0), "risk_aversion: got -1.0"),
        (lambda: AtWriting(None), "predictor: got None"),  # pyright: ignore[reportArgumentType]  # refused
        (lambda: LastUsed(-1.0), "multiple: got -1.0"),
        (lambda: Votes(0), "window: got 0"),
        (lambda: Votes(1, 0), "kernel: got 0"),
        (lambda: Persistence(0), "history: got 0"),
        (lambda: evict(even(), 2, EvictionPolicy("x", None)), "score of x: got None"),
        (lambda: policy("fifi"), "policy: got 'fifi'; allowed: fifo"),
        (lambda: policy("token-pd"), "allowed: with a predictor and a pricing"),
        (lambda: policy("fifo", size=3), "changes: got 'size'"),
    ],
)
def test_wrong_input_is_one_line(wrong: Any, said: str) -> None:
    with pytest.raises(InputError, match=re.escape(said)):
        wrong()


@pytest.mark.parametrize(
    "fields",
    [
        {"sinks": -1},
        {"window": -1},
        {"window_share": Fraction(3, 2)},
        {"window_share": 0.5},
        {"choice": Choice.PRICE, "scope": Scope.POOLED},
        {"choice": Choice.HEAP},
        {"pricing": PRICING},
        {"choice": Choice.PRICE, "pricing": PRICING},
    ],
)
def test_policies_that_contradict_themselves_are_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        EvictionPolicy("wrong", Written(), **fields)
