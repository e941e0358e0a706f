"""One row, stage by stage: the plain map, whatever is recorded and grouped."""

from fractions import Fraction
from itertools import islice

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fluidkv.errors import InputError
from fluidkv.exact.mass import iterates
from fluidkv.fluid import class_model, cohort_model, perturbed_starts, simulate
from fluidkv.fluid.model import MassModel, has_one_row
from fluidkv.fluid.one_row import engine
from fluidkv.fluid.one_row.engine import advance_row
from fluidkv.fluid.recorded import RECORDS
from fluidkv.workload import RequestClass, System, Workload
from tests.strategies import systems

EPS = np.finfo(float).eps
ENDS = range(2, 41, 2)
_TWO = (RequestClass(100, 2, Fraction(1, 2)), RequestClass(100, 3, Fraction(1, 2)))
STABLE = System(Workload(_TWO), 3000)
MIXED = System(Workload(tuple(RequestClass(9, d, Fraction(1, 20)) for d in ENDS)), 3000)


def starts(system: System, count: int, size: float = 0.5) -> tuple[MassModel, np.ndarray]:
    model = cohort_model(system)
    return model, np.asarray(perturbed_starts(jax.random.key(3), model, count=count, size=size))


def same(one, other) -> bool:
    return one[1].keys() == other[1].keys() and all(
        np.array_equal(a, b)
        for a, b in ((one[0], other[0]), *((one[1][n], other[1][n]) for n in one[1]))
    )


@settings(max_examples=6)  # the plain map compiles for each shape
@given(systems(), st.integers(1, 5))
def test_it_agrees_with_the_plain_map(system, count):
    # Three iterations, as in tests/fluid/positions/test_engine.py, which derives the tolerance.
    model, state = starts(system, count)
    row, plain = (
        simulate(model, state, iterations=3, record=RECORDS, engine=name)
        for name in ("row", "plain")
    )
    tolerance = 1e4 * EPS * float(system.capacity)
    for name in (*RECORDS, "final_state"):
        if name != "empty_stages":  # whether a stage that rounding leaves is empty
            np.testing.assert_allclose(row[name], plain[name], rtol=0, atol=tolerance)


def test_records_and_groups_change_no_bit(monkeypatch):
    model, state = starts(MIXED, 70)
    fine = advance_row(model, state, iterations=120, record=RECORDS, every=1)
    coarse = advance_row(model, state, iterations=120, record=RECORDS, every=40)
    assert np.array_equal(fine[1]["state"][:, 39::40], coarse[1]["state"])
    assert np.array_equal(fine[1]["empty_stages"][:, 39::40], coarse[1]["empty_stages"])
    assert np.array_equal(advance_row(model, state, iterations=120)[0], fine[0])
    some = advance_row(model, state, iterations=120, record=("evicted",), every=40)
    assert np.array_equal(some[1]["evicted"], coarse[1]["evicted"])
    monkeypatch.setattr(engine, "_SLOTS", 3)
    monkeypatch.setattr(engine, "_CALL", 3 * 40 * 50)  # calls that end amid a group's windows
    assert same(advance_row(model, state, iterations=120, record=RECORDS, every=40), coarse)
    assert np.array_equal(advance_row(model, state, iterations=119)[0], advance_to(model, state))


def advance_to(model: MassModel, state: np.ndarray) -> np.ndarray:
    return advance_row(model, state, iterations=119, record=("memory",), every=119)[0]


def test_memory_stays_full_requests_are_conserved_and_what_evicts_nothing_evicts_exactly_nothing():
    model, state = starts(MIXED, 8, size=1.0)
    found = simulate(model, state, iterations=4000, record=RECORDS, every=20, engine="row")
    assert np.abs(found.memory - 3000).max() <= 64 * EPS * 3000
    flying = found.in_flight.values[..., 0]
    before = np.concatenate([(state * model.survival).sum((1, 2))[:, None], flying[:, :-1]], 1)
    flows = {n: found[n].values[..., 0] for n in ("admitted", "completed", "evicted")}
    balance = before + flows["admitted"] - flows["completed"] - flows["evicted"] - flying
    assert np.abs(balance).max() <= 1e4 * EPS * 3000  # sums of 20 iterations of 40 stages
    model, state = starts(STABLE, 8, size=1e-3)
    calm = simulate(model, state, iterations=400, record=("evicted",), engine="row").evicted
    assert (calm == 0).all()


def test_an_empty_stage_is_exactly_empty():
    system = System(Workload((RequestClass(2, 3),)), 24)
    literal = [Fraction(5, 2), Fraction(2), Fraction(17, 10)]
    model = class_model(system)
    found = simulate(
        model, [[float(m) for m in literal]], iterations=40, record=("empty_stages",), engine="row"
    )
    states = islice(iterates(system, [literal]), 1, 41)
    empty = [sum(not m for m in state[0]) for state in states]
    assert found.empty_stages.values[0].tolist() == empty
    assert empty[-1] > empty[0]


def test_several_rows_are_refused():
    model = class_model(MIXED)
    assert not has_one_row(model)
    with pytest.raises(InputError, match=r"^engine: got 'row'; allowed: auto or plain for a model"):
        simulate(model, np.zeros(model.weights.shape), iterations=2, engine="row")
