"""The block-end map in JAX against the exact one, and against the physical engine."""

from fractions import Fraction

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fluidkv.errors import InputError
from fluidkv.exact.one_class.blocks import BlockEnd, block_step, new_batch
from fluidkv.fluid import scan_blocks, simulate
from fluidkv.fluid.one_class.blocks import KEPT
from fluidkv.workload import RequestClass, System, Workload
from tests.strategies import positive_rationals

BLOCKS = 12
GAPS = [(1, 1, 1), (2, 1), (3,), (1, 3, 2), (2, 2, 1, 1, 4), (1,)]  # few shapes: few compilations


scan = jax.jit(scan_blocks, static_argnums=(0, 3))


@pytest.fixture(autouse=True)
def double_precision():
    with jax.enable_x64(True):
        yield


def iterations_of(gaps, blocks):
    return np.cumsum([gaps[-1 - k % len(gaps)] for k in range(blocks)])


@st.composite
def block_ends(draw, gaps):
    """A system and a block-end on its boundary, exact."""
    l0, l1 = draw(st.integers(1, 6)), sum(gaps)
    capacity = l0 + l1 + draw(positive_rationals)
    raw = [draw(positive_rationals) for _ in gaps]
    used = sum((l0 + sum(gaps[: h + 1])) * x for h, x in enumerate(raw))
    system = System(Workload((RequestClass(l0, l1),)), capacity)
    return system, BlockEnd(0, gaps, tuple(x * capacity / used for x in raw))


@pytest.mark.parametrize("gaps", GAPS)
def test_every_block_equals_the_exact_map(gaps):
    @given(block_ends(gaps))
    def check(system_and_end):
        system, end = system_and_end
        l0 = system.workload.classes[0].input_length
        masses = np.array([[float(y)] for y in end.masses])
        left, new = scan(gaps, float(l0), masses, BLOCKS)
        iterations = iterations_of(gaps, BLOCKS)
        rounding = 8 * np.finfo(float).eps * float(sum(end.masses))  # of one block, of all sums
        errors = [rounding] * len(gaps)
        for k in range(BLOCKS):
            exact, gap = new_batch(l0, end), end.gaps[-1]
            # what (16) makes of the errors so far, youngest first, if all add up
            error = ((l0 + sum(gaps)) * errors[-1] + gap * sum(errors[:-1])) / (l0 + gap)
            error += (k + 2) * rounding  # the running sum has rounded k times
            assert abs(float(new[k, 0]) - float(exact)) <= error
            following = block_step(l0, end)
            if abs(exact) <= error:  # the sign is not decided in floats
                return
            if following is None:
                assert left.lost.item() == k + 1
                return
            assert iterations[k] == following.iteration
            end, errors = following, [error, *errors[:-1]]
        assert left.lost.item() == KEPT

    check()


def test_it_is_the_physical_engine_at_block_ends():
    gaps, l0, capacity = (4, 1, 3, 1), 5, 1000.0
    system = System(Workload((RequestClass(l0, 9),)), Fraction(1000))
    rng = np.random.default_rng(0)
    masses = np.array(gaps) * (1 + 0.02 * rng.uniform(-1, 1, (16, 4)))
    masses *= capacity / (masses @ (l0 + np.cumsum(gaps)))[:, None]
    left, new = scan(gaps, float(l0), masses.T, 8)
    start = np.zeros((16, 1, 9))
    start[:, 0, np.cumsum(gaps) - 1] = masses
    states = simulate(system, start, iterations=18, record="state")["state"].values[:, :, 0]
    assert np.all(left.lost == KEPT)
    for k, n in enumerate(iterations_of(gaps, 8)):
        youngest = np.argmax(states[:, n - 1] > 0, axis=1)
        assert set(youngest) == {gaps[(3 - k) % 4] - 1}
        # By (16) the largest error grows at most (14 + 3 g)/(5 + g) < 3-fold a block: 7,000-fold in
        # all, from some 1e-15 of rounding a block.
        np.testing.assert_allclose(states[np.arange(16), n - 1, youngest], new[k], rtol=1e-10)


def test_a_lost_support_stops_that_trajectory_only():
    # l0 = 1, l1 = 2, M = 9. (3, 1) executes to exactly M: nothing is admitted. (1, 7/3) goes on.
    left, new = scan((1, 1), 1.0, np.array([[3.0, 1.0], [1.0, 7 / 3]]), 2)
    assert left.lost[0] == 1
    assert new[0, 0] == 0
    assert np.isnan(new[1, 0])
    assert left.masses[:, 0].tolist() == [3, 1]
    assert not np.isnan(new[0, 1])


@pytest.mark.parametrize(
    ("gaps", "masses", "blocks", "named"),
    [
        ((), [[1.0]], 3, "gaps"),
        ((0, 3), [[1.0], [1.0]], 3, "gaps"),
        ((2, 1), [[1.0], [1.0], [1.0]], 3, "masses"),
        ((2, 1), [1.0, 1.0], 3, "masses"),
        ((2, 1), [[3.5], [2.0]], 0, "blocks"),
    ],
)
def test_bad_input_is_refused_while_tracing(gaps, masses, blocks, named):
    with pytest.raises(InputError) as caught:
        scan(gaps, 2.0, np.array(masses), blocks)
    assert caught.value.argument == named
