"""States from which no eviction can come: radius and modes, of one system and of many."""

from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from fluidkv.exact import mass
from fluidkv.exact.survival import survival_weights
from fluidkv.fluid import cohort_model
from fluidkv.fluid.outcomes.eviction_free import eviction_free_radius, rule_of, rules_of
from fluidkv.runs.batch import power_of_two
from fluidkv.runs.interpreted import interpreted
from fluidkv.systems import Systems
from tests.fluid.outcomes.cases import COMMON, COPRIME, memory_shares, mixed, states_of


@pytest.mark.parametrize("system", [COPRIME, mixed(5, 9, "1/2", 80), mixed(2, 7, "1/2", 18)])
def test_no_eviction_comes_from_within_the_radius(system):
    # Corners of the cube of that radius are its worst points; no memory constraint is put on them.
    weights = cohort_model(system).weights[0]
    radius = eviction_free_radius(weights)
    assert radius is not None
    phi = np.eye(weights.size, k=-1)
    phi[0, :-1], phi[0, -1] = -weights[1:] / weights[0], 0.0
    row, worst = phi[0], 0.0
    for _ in range(20_000):
        worst = max(worst, np.abs(row).sum())
        row = row @ phi
    # x* (1 + sum of |row| * deviation) > 0, and the radius is not smaller than it need be.
    assert worst * radius < 1
    assert worst * radius > 1 - 1e-5


@pytest.mark.parametrize("system", [COPRIME, mixed(5, 9, "1/2", 65), mixed(2, 7, "1/2", 18)])
def test_modes_foretell_the_admissions(system):
    # 40 iterations of the literal model from a start near the equilibrium, in rationals.
    modes = rule_of(cohort_model(system).weights[0]).modes
    assert modes is not None
    weights = survival_weights(system.workload)
    rate = system.capacity / weights.lifetime_memory
    cohorts = [rate * (1 + Fraction((-1) ** s * (s + 1), 100)) for s in range(weights.ages)]
    used = sum(memory_shares(system, cohorts))
    cohorts = [y / used for y in cohorts]
    parts = modes.parts @ np.array([float(y / rate) - 1 for y in cohorts])
    assert np.abs(parts).sum() < 1  # so that no eviction comes
    state = states_of(system, cohorts)
    for k in range(1, 41):
        step = mass.iterate(system, state)
        state = step.state
        foretold = (parts * modes.multipliers**k).sum().real
        # Eigenvectors of condition below 1e4 here, 1e-16 each.
        assert foretold == pytest.approx(float(sum(step.admitted) / rate) - 1, abs=1e-10)
        assert not any(x for row in step.evicted for x in row)


@pytest.mark.parametrize("system", [COMMON, mixed(2, 7, "1/2", 17)])
def test_there_is_no_rule_where_the_equilibrium_is_unstable(system):
    weights = cohort_model(system).weights[0]
    assert eviction_free_radius(weights) is None
    assert rule_of(weights) == (None, None)


def says(looks, system, deviations):
    """Of each state what a look says: x* (1 + deviation) are its masses, of x* = 1."""
    is_free = interpreted("fluidkv.fluid.labels.looks")._is_free
    count, stages = deviations.shape
    fields = SimpleNamespace(best=np.ones(len(looks["rule"])), **looks)
    mass = np.zeros((count, power_of_two(stages)))
    mass[:, -np.arange(stages) % mass.shape[1]] = 1.0 + deviations
    return np.array(
        [
            is_free(SimpleNamespace(counts=[0], mass=row, system=which), fields, stages)
            for row, which in zip(mass, system, strict=True)
        ]
    )


def deviations(random, rule, ages):
    """Half of them where the rule just says yes, half where it just does not."""
    drawn = random.normal(size=(40, ages))
    if rule.modes is not None:
        reach = np.abs(drawn @ rule.modes.parts.T).sum(axis=1)
    else:
        reach = np.abs(drawn).max(axis=1) / (rule.radius or 1.0)
    return drawn / reach[:, None] * np.repeat([1 - 1e-5, 1 + 1e-5], 20)[:, None]


@pytest.mark.parametrize("radius", [None, 0.25])
def test_many_systems_are_asked_as_each_alone(radius):
    """By modes, without a rule, and one that differs in capacity alone; rows in disorder."""
    systems = [COPRIME, COMMON, mixed(5, 9, "1/2", 65), mixed(2, 3, "1/2", 50, 999)]
    weights = cohort_model(Systems.of(systems)).weights[:, 0]
    rules, looks = rules_of(weights, radius)
    own = [rule_of(row[row > 0]) for row in weights] if radius is None else rules
    assert [rule.name for rule in rules] == [rule.name for rule in own]
    assert rules[0] is rules[3]
    random = np.random.default_rng(3)
    state = np.zeros((4, 40, 9))
    for i, rule in enumerate(own):
        ages = np.count_nonzero(weights[i])
        state[i, :, :ages] = deviations(random, rule, ages)
    order = random.permutation(160)
    system, deviation = np.repeat(np.arange(4), 40)[order], state.reshape(160, 9)[order]
    free = np.empty(160, bool)
    free[order] = says(looks, system, deviation)
    named = np.array([rule.name != "none" for rule in own])
    assert np.array_equal(free.reshape(4, 40), named[:, None] & np.repeat([True, False], 20))


def test_a_rule_of_a_radius_holds_where_modes_cannot_be_told_apart():
    """Equal weights: Phi is nilpotent but for its first row, with a defective eigenvalue 0."""
    (rule,), looks = rules_of(np.array([[1.0, 1e-9, 1e-9, 1e-9]]))
    assert rule.name == "radius"
    radius = rule.radius
    assert radius is not None
    inside = np.full((1, 4), radius * (1 - 1e-9))
    system = np.zeros(1, np.int64)
    assert says(looks, system, inside).all()
    assert not says(looks, system, inside * 1.1).any()
    late = np.array([[0.0, 0.0, 0.0, 1.1 * radius]])
    assert not says(looks, system, late).any()
