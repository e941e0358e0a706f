"""The best that a policy can do without foreseeing outputs."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from fluidkv.errors import InputError
from fluidkv.wait.model import PromptType, WaitSystem
from fluidkv.wait.theory import best_blind
from fluidkv.wait.theory.best_blind import attained_blind_throughput, best_blind_throughput
from fluidkv.wait.theory.fluid import fluid_equilibrium

TWO_TYPES = [PromptType(1, 1, 1), PromptType(1, 1, 2)]
ROUNDING = Fraction(1, 10**10)  # of h, whose effect on the bounds is below that


def test_three_tokens_by_hand() -> None:
    """Start one beside each that emits; who goes on then takes all, which evicts the newcomer.

    From one prompt after its prefill: one iteration, reward 1/2; with probability 1/2 two more (the
    second token, then a prefill), reward 2. So 3/2 tokens in 2 iterations.
    """
    found = best_blind_throughput(WaitSystem(TWO_TYPES, 1, 0), 3)
    assert Fraction(3, 4) - ROUNDING < found.attained <= Fraction(3, 4)
    assert Fraction(3, 4) <= found.at_most < Fraction(3, 4) + ROUNDING


def test_one_type_fills_memory() -> None:
    """Nothing to foresee: 12 tokens carry 4 prompts a stage."""
    found = best_blind_throughput(WaitSystem([PromptType(1, 1, 1)], 1, 0), 12)
    assert 4 - ROUNDING < found.attained <= 4 <= found.at_most < 4 + ROUNDING


def test_to_remember_whom_one_evicted_is_worth_something() -> None:
    """With 6 tokens a policy that does has 72/41, more than any that forgets."""
    found = best_blind_throughput(WaitSystem(TWO_TYPES, 1, 0), 6, prices=[Fraction(1, 4)])
    assert found.attained <= Fraction(7, 4) < Fraction(72, 41) < found.at_most
    assert found.at_most < Fraction(176, 100)


@pytest.mark.parametrize("price", [0, Fraction(1, 2), 1])
def test_any_price_gives_a_bound(price: Fraction) -> None:
    found = best_blind_throughput(WaitSystem(TWO_TYPES, 1, 0), 6, prices=[price])
    assert found.at_most > Fraction(72, 41)


@pytest.mark.parametrize(("base", "per_kv_token"), [(1, 0), (Fraction(1, 2), Fraction(1, 12))])
def test_bounds_hold_whatever_was_found_in_floats(
    base: Fraction, per_kv_token: Fraction, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a bad policy and bad h both bounds move outwards, never inwards."""
    system = WaitSystem(TWO_TYPES, base, per_kv_token)
    good = best_blind_throughput(system, 5)
    solve = best_blind._solve
    rng = np.random.default_rng(0)

    def worse(*args: object) -> tuple[np.ndarray, np.ndarray]:
        policy, values = solve(*args)  # type: ignore[arg-type] (passed on as they came)
        return policy, values + rng.normal(0, 1e-7, values.shape)

    monkeypatch.setattr(best_blind, "_solve", worse)
    bad = best_blind_throughput(system, 5, prices=good.prices)
    assert bad.attained < good.attained - ROUNDING
    assert bad.at_most > good.at_most + ROUNDING


def test_a_policy_played_with_drawn_outputs_stays_below_the_bound() -> None:
    """Played with drawn outputs, by another reading of the rules; five standard errors."""
    system = WaitSystem(TWO_TYPES, 1, 0)
    policy, rng, batches = _greedy(6), np.random.default_rng(1), 40_000
    emitted = np.zeros(batches)
    held = (0, 0)
    for n in range(batches):
        held, emitted[n] = policy(held, rng)
    mean, error = (
        emitted.mean(),
        emitted.reshape(-1, 100).mean(axis=1).std() / (batches / 100) ** 0.5,
    )
    found = best_blind_throughput(system, 6, prices=[Fraction(1, 4)])
    assert mean < float(found.at_most) + 5 * error


def _greedy(memory: int):
    """Longest first, then newcomers in what is left; who does not fit is evicted."""

    def step(held: tuple[int, int], rng: np.random.Generator) -> tuple[tuple[int, int], float]:
        second = min(held[1], memory // 3)
        first = min(held[0], (memory - 3 * second) // 2)
        new = memory - 3 * second - 2 * first
        on = int(rng.binomial(first, 0.5))
        return (new, on), 2 * second + first - on

    return step


def test_the_papers_instance_loses_a_tenth() -> None:
    system = WaitSystem(TWO_TYPES, 1, 0)
    target = fluid_equilibrium(system)
    assert (target.memory, target.throughput) == (9, 3)
    attained = [attained_blind_throughput(system, memory) for memory in (9, 10)]
    assert abs(attained[0] - Fraction(15957, 5897)) < ROUNDING
    assert attained[0] < target.throughput < attained[1]


def test_more_memory_is_never_worse() -> None:
    system = WaitSystem(TWO_TYPES, 1, Fraction(1, 20))
    found = [attained_blind_throughput(system, memory) for memory in range(3, 12)]
    assert all(a <= b + ROUNDING for a, b in itertools.pairwise(found))


@pytest.mark.parametrize(
    ("types", "capacity", "argument"),
    [
        (TWO_TYPES, 2, "capacity"),
        (TWO_TYPES, 80, "capacity"),
        (TWO_TYPES, 10**13, "capacity"),
        ([PromptType(1, 1, 10**7)], 10**8, "capacity"),
        ([PromptType(1, 1, 1), PromptType(1, 2, 1)], 9, "input_length"),
    ],
)
def test_refused(types: list[PromptType], capacity: int, argument: str) -> None:
    with pytest.raises(InputError, match=f"^{argument}: "):
        best_blind_throughput(WaitSystem(types, 1, 0), capacity)


def test_prices_are_one_for_each_length_that_can_be_known() -> None:
    with pytest.raises(InputError, match="1, one for each j"):
        best_blind_throughput(WaitSystem(TWO_TYPES, 1, 0), 6, prices=[1, 1])
    with pytest.raises(InputError, match="at least 0"):
        best_blind_throughput(WaitSystem(TWO_TYPES, 1, 0), 6, prices=[-1])
