"""WAIT, equation (11): the thresholds that satisfy it have a least one, the fluid equilibrium.

Real vectors, rational arithmetic; the cases are a sample. The paper asks for (11) and for
M >= M*; the last two tests say what whole prompts add to that.
"""

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from fluidkv.wait.model import PromptType, WaitSystem
from fluidkv.wait.theory.fluid import fluid_equilibrium
from fluidkv.wait.theory.thresholds import integer_thresholds, minimal_thresholds
from tests.wait.test_model import loads, wait_systems

amounts = st.one_of(st.just(Fraction(0)), st.fractions(0, 9, max_denominator=6))


def batch(system, n):
    """Memory of a batch of n at each stage, and the time it takes; its newcomers are prefilled."""
    tokens = sum(
        k * sum(each.input_length + stage for stage in range(each.output_length + 1))
        for k, each in zip(n, system.types, strict=True)
    )
    prefill = sum(k * each.input_length for k, each in zip(n, system.types, strict=True))
    added = system.per_kv_token * tokens + system.per_prefill_token * prefill
    return tokens, system.base + added


def feasible(system, n):
    """(11) without the memory."""
    _, time = batch(system, n)
    return all(k >= each.arrival_rate * time for k, each in zip(n, system.types, strict=True))


def solution(draw, system):
    """A vector that satisfies (11): every one is K n* and more in some types, K large enough.

    With n = K n* + x the slack of type j is lambda_j ((K - 1) d0 - sum of x (d1 c + d2 l)) + x_j.
    """
    count = len(system.types)
    more = draw(st.lists(amounts, min_size=count, max_size=count))
    _, time = batch(system, more)
    spare = min(x / each.arrival_rate for x, each in zip(more, system.types, strict=True))
    least = 1 + (time - system.base - spare) / system.base
    factor = max(Fraction(0), least) + draw(st.sampled_from([Fraction(0), Fraction(0), 1]))
    base = fluid_equilibrium(system).per_stage
    n = [factor * k + x for k, x in zip(base, more, strict=True)]
    assert feasible(system, n)
    return n


@st.composite
def solutions(draw, count):
    system = draw(wait_systems())
    return system, *(solution(draw, system) for _ in range(count))


@given(solutions(2))
def test_the_least_of_two_solutions_is_one(case):
    system, a, b = case
    assert feasible(system, [min(pair) for pair in zip(a, b, strict=True)])


@given(solutions(1))
def test_no_solution_is_below_the_equilibrium_in_any_type(case):
    system, n = case
    assert all(k >= least for k, least in zip(n, minimal_thresholds(system), strict=True))
    assert batch(system, n)[0] >= fluid_equilibrium(system).memory


@given(wait_systems(), st.data())
def test_what_is_below_the_equilibrium_in_some_type_is_no_solution(system, data):
    """The same, from the other side: the vectors are any, not built from the equilibrium's."""
    count = len(system.types)
    n = data.draw(st.lists(amounts.map(lambda x: 9 * x), min_size=count, max_size=count))
    low = data.draw(st.integers(0, count - 1))
    part = data.draw(st.sampled_from([Fraction(0), Fraction(1, 2), Fraction(999, 1000)]))
    n[low] = part * minimal_thresholds(system)[low]
    assert not feasible(system, n)


@given(wait_systems())
def test_the_equilibrium_satisfies_11_with_equality(system):
    least = minimal_thresholds(system)
    _, time = batch(system, least)
    assert list(least) == [each.arrival_rate * time for each in system.types]


@given(solutions(1), st.fractions(1, 5))
def test_every_multiple_of_a_solution_is_one(case, factor):
    system, n = case
    assert feasible(system, [factor * k for k in n])


@given(wait_systems(loads=st.one_of(st.just(Fraction(1)), loads.map(lambda x: 1 + x))), st.data())
def test_at_a_load_of_1_or_more_nothing_satisfies_11(system, data):
    """Not even in the proportions of the rates, where the arrivals of all types grow alike."""
    count = len(system.types)
    more = data.draw(st.lists(amounts, min_size=count, max_size=count))
    factor = data.draw(st.sampled_from([0, 1, 10**6]))
    n = [factor * each.arrival_rate + x for x, each in zip(more, system.types, strict=True)]
    assert not feasible(system, n)


@given(wait_systems(), st.booleans())
def test_whole_thresholds_need_a_bounded_part_more_than_the_equilibrium(system, strict):
    """max(M*, C) <= M <= (1 + (d1 C + d2 L) / d0) M* + C, with C the sum of c, L of inputs."""
    found = integer_thresholds(system, strict=strict)
    least, costs = fluid_equilibrium(system).memory, sum(t.lifetime_cost for t in system.types)
    assert feasible(system, found.thresholds)
    _, time = batch(system, [1] * len(system.types))
    bound = time / system.base * least + costs
    assert max(least, costs) <= found.memory <= bound


def test_memory_for_the_equilibrium_can_be_too_little_for_whole_prompts():
    """So `M >= M*` is not enough for (11) in whole thresholds: here M* = 1/2 and they need 3."""
    system = WaitSystem([PromptType(1, 1, 1)], Fraction(1, 12), Fraction(1, 6))
    assert fluid_equilibrium(system).memory == Fraction(1, 2)
    assert integer_thresholds(system).memory == 3
