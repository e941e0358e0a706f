"""Survival weights and equilibrium, against the sums that define them."""

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from fluidkv.exact.survival import eviction_free_equilibrium, survival_weights
from fluidkv.workload import RequestClass, System, Workload
from tests.strategies import homogeneous_systems, systems, workloads

scales = st.fractions(min_value=Fraction(1, 8), max_value=8, max_denominator=8)


@given(workloads(), scales)
def test_weights_are_their_definition(workload, scale):
    weights = survival_weights(workload, input_scale=scale)
    for s in range(weights.ages):
        alive = [c for c in workload.classes if c.decode_length > s]
        assert Fraction(weights.requests[s], weights.denominator) == sum(c.share for c in alive)
        assert Fraction(weights.memory[s], weights.denominator) == sum(
            c.share * (c.input_length * scale + 1 + s) for c in alive
        )
    assert weights.ages == workload.longest_decode


@given(systems())
def test_equilibrium_fills_memory_exactly(system):
    """Equation (8): sum over classes of p_k x* C_k = M."""
    rate = eviction_free_equilibrium(system).rate
    memory = sum(
        c.share * rate * c.decode_length * (c.input_length + Fraction(c.decode_length + 1, 2))
        for c in system.workload.classes
    )
    assert memory == system.capacity


@given(homogeneous_systems)
def test_one_class_gives_equation_4(system):
    (c,) = system.workload.classes
    l0, l1 = c.input_length, c.decode_length
    equilibrium = eviction_free_equilibrium(system)
    assert equilibrium.rate == 2 * system.capacity / (l1 * (2 * l0 + l1 + 1))
    assert equilibrium.in_flight == l1 * equilibrium.rate


def test_a_class_split_in_two_changes_nothing():
    whole = Workload((RequestClass(3, 4),))
    split = Workload((RequestClass(3, 4, Fraction(1, 3)), RequestClass(3, 4, Fraction(2, 3))))
    assert eviction_free_equilibrium(System(whole, 50)) == eviction_free_equilibrium(
        System(split, 50)
    )
