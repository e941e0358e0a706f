"""Congestion, Lemma 9: after at most d iterations every state follows the proportions. Exact.

It holds as printed, and more does: a mass that is off the proportions shows only where two classes
can be compared, at stages that both of them have. So the number of iterations is the longest decode
length that is not the last one standing: l1 of the second class from the top (with two classes of
the longest decode length, that length itself). That bound is met.
"""

from fractions import Fraction
from itertools import islice

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from fluidkv.exact.mass import iterate, iterates
from fluidkv.fluid import class_model, cohort_model, simulate
from fluidkv.workload import RequestClass, System, Workload
from tests.strategies import cohort_profiles, feasible_states, systems

HALF = Fraction(1, 2)
PAIR = System(Workload((RequestClass(3, 2, HALF), RequestClass(3, 5, HALF))), Fraction(40))
TWINS = System(Workload((RequestClass(1, 3, HALF), RequestClass(9, 3, HALF))), Fraction(40))


def cohorts(system, state):
    """y with x_kj = p_k y_j, or None where there is none."""
    found = []
    for j in range(system.workload.longest_decode):
        rows = zip(system.workload.classes, state, strict=True)
        ratios = {row[j] / c.share for c, row in rows if j < len(row)}
        if len(ratios) != 1:
            return None
        found.append(ratios.pop())
    return found


def enough(system):
    """The decode length of the second class from the top; 0 with one class."""
    lengths = sorted(c.decode_length for c in system.workload.classes)
    return lengths[-2] if len(lengths) > 1 else 0


@given(systems(), st.data())
@example(PAIR, None)
@example(TWINS, None)
def test_every_feasible_state_enters_the_manifold_and_stays(system, data):
    # Full memory or not; the manifold is entered by the second-longest decode length, and kept.
    if data is None:
        state = [[Fraction(1), *[0] * (c.decode_length - 1)] for c in system.workload.classes]
        state[0][0] = Fraction(0)
    else:
        state = data.draw(feasible_states(system))
    d = system.workload.longest_decode
    for n, reached in enumerate(islice(iterates(system, state), 2 * d + 1)):
        if n >= enough(system):
            assert cohorts(system, reached) is not None


@given(systems(), st.data())
def test_the_manifold_is_forward_invariant(system, data):
    y = data.draw(cohort_profiles(system))
    fill = data.draw(st.fractions(0, 1, max_denominator=8))
    state = [[fill * c.share * m for m in y[: c.decode_length]] for c in system.workload.classes]
    assert cohorts(system, iterate(system, state).state) is not None


@given(systems(), st.data())
def test_the_bound_is_met(system, data):
    # All mass of the class that is second from the top, at stage 0, and little enough that it is
    # never evicted: it stands alone until it completes.
    if enough(system) == 0:
        return
    order = sorted(
        range(len(system.workload.classes)),
        key=lambda k: system.workload.classes[k].decode_length,
    )
    second = system.workload.classes[order[-2]]
    mass = data.draw(st.fractions(Fraction(1, 2), 1, max_denominator=8))
    mass *= system.capacity / (second.input_length + second.decode_length)
    state = [[Fraction(0)] * c.decode_length for c in system.workload.classes]
    state[order[-2]][0] = mass
    reached = next(islice(iterates(system, state), enough(system) - 1, None))
    # LPF evicts what came later first, and this fits by itself, so it is all there.
    assert reached[order[-2]][-1] == mass
    assert cohorts(system, reached) is None


@given(systems(), st.data())
def test_classes_and_cohorts_are_one_dynamics_from_there_on(system, data):
    # The literal class model from any state; from iteration d on the cohort engine from its y.
    d = system.workload.longest_decode
    states = list(islice(iterates(system, data.draw(feasible_states(system))), d + 4))
    y = cohorts(system, states[d])
    assert y is not None
    model = cohort_model(system)
    final = simulate(model, [[float(m) for m in y]], iterations=3, record=()).final_state
    expected = cohorts(system, states[d + 3])
    assert expected is not None
    # Three steps of at most 2 (d + 9) roundings each of capacity in tokens (test_iteration), which
    # the steps in between may at most double twice each.
    tolerance = 4**2 * 3 * 2 * (d + 9) * np.finfo(float).eps * float(system.capacity)
    off = np.abs(final.values[0, 0] - [float(m) for m in expected]) * model.weights[0]
    assert off.max() <= tolerance


@given(systems(), st.data())
def test_the_two_engines_agree_after_d_iterations(system, data):
    # The JAX class model from any state against the JAX cohort model from the literal y.
    d = system.workload.longest_decode
    state = data.draw(feasible_states(system))
    y = cohorts(system, next(islice(iterates(system, state), d, None)))
    start = np.zeros((len(system.workload.classes), d))
    for k, row in enumerate(state):
        start[k, : len(row)] = [float(x) for x in row]
    classes = class_model(system)
    reached = simulate(classes, start, iterations=d, record=()).final_state.values[0]
    assert y is not None
    expected = np.where(classes.weights > 0, classes.shares[:, None] * [float(m) for m in y], 0.0)
    # d steps of 2 (d + K + 8) roundings; one step at most doubles an earlier difference, and a
    # cohort that is evicted no longer carries one. 2^d covers it: d is at most 6 here.
    roundings = 2 * d * (d + len(start) + 8) * 2**d
    tolerance = roundings * np.finfo(float).eps * float(system.capacity)
    assert np.max(np.abs(reached - expected) * classes.weights) <= tolerance
