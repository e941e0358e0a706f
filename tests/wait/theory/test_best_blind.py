"""The best that a policy can do without foreseeing outputs."""

from fractions import Fraction

import pytest

from fluidkv.errors import InputError
from fluidkv.wait.model import PromptType, WaitSystem
from fluidkv.wait.theory import best_blind
from fluidkv.wait.theory.best_blind import best_blind_throughput
from fluidkv.wait.theory.fluid import fluid_equilibrium

TWO_TYPES = [PromptType(1, 1, 1), PromptType(1, 1, 2)]


def test_three_tokens_by_hand() -> None:
    """Start one beside each that emits; who goes on then takes all, which evicts the newcomer.

    From one prompt after its prefill: one iteration, reward 1/2; with probability 1/2 two more (the
    second token, then a prefill), reward 2. So 3/2 tokens in 2 iterations.
    """
    assert best_blind_throughput(WaitSystem(TWO_TYPES, 1, 0), 3).throughput == Fraction(3, 4)


def test_one_type_fills_memory() -> None:
    """Nothing to foresee: 12 tokens carry 4 prompts a stage."""
    found = best_blind_throughput(WaitSystem([PromptType(1, 1, 1)], 1, 0), 12)
    assert found.throughput == 4


def test_foresight_is_worth_a_tenth_on_the_papers_instance() -> None:
    system = WaitSystem(TWO_TYPES, 1, 0)
    memory = fluid_equilibrium(system).memory
    assert memory == 9
    found = best_blind_throughput(system, int(memory))
    assert found.throughput == Fraction(15957, 5897) < fluid_equilibrium(system).throughput == 3


def test_a_policy_that_waits_to_be_optimal_is_not_called_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The exact check refuses a policy that floats did not improve."""
    monkeypatch.setattr(best_blind, "_improved", lambda problem, places, policy, *_: policy)
    with pytest.raises(ArithmeticError):
        best_blind_throughput(WaitSystem(TWO_TYPES, 1, 0), 6)


@pytest.mark.parametrize(
    ("types", "capacity", "argument"),
    [
        (TWO_TYPES, 2, "capacity"),
        (TWO_TYPES, 80, "capacity"),
        ([PromptType(1, 1, 1), PromptType(1, 2, 1)], 9, "input_length"),
    ],
)
def test_refused(types: list[PromptType], capacity: int, argument: str) -> None:
    with pytest.raises(InputError) as refused:
        best_blind_throughput(WaitSystem(types, 1, 0), capacity)
    assert refused.value.argument == argument
