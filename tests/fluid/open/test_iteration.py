"""The open step against the literal model, on drawn systems: one compiled shape for a rule."""

from functools import partial
from itertools import product

import jax
import numpy as np
import pytest
from hypothesis import given

from fluidkv.exact.open_mass import iterate_open
from fluidkv.fluid import class_model, open_step
from fluidkv.fluid.open.iteration import OpenModel, OpenState
from tests.fluid.padded import padded, rectangle
from tests.strategies import open_states

EPS = np.finfo(np.float64).eps
jitted = jax.jit(open_step)


@pytest.mark.daily(2)
@pytest.mark.parametrize(
    ("selection", "blocked"), list(product(("queued", "shares"), ("wait", "lost")))
)
def test_the_step_is_the_literal_model(selection, blocked):
    @given(open_states())
    def check(case):
        system, state, queue, arrivals, cap = case
        mass = padded(class_model(system))
        own, limit = len(queue), np.inf if cap is None else float(cap)
        row = partial(np.pad, pad_width=(0, len(mass.shares) - own))
        begun = OpenState(rectangle(state), row(np.array(queue, float)))
        for cap_on in ("total", "class"):
            caps = (limit, np.full(mass.shares.shape, np.inf))
            if cap_on == "class" and cap is not None:
                caps = (np.inf, limit * mass.shares)
            rates = row(np.array(arrivals, float))
            model = OpenModel(mass, rates, *caps, selection=selection, blocked=blocked)
            with jax.enable_x64(True):
                after, flows = jitted(model, begun)
            rules = {"cap_on": cap_on, "selection": selection, "blocked": blocked}
            want = iterate_open(system, state, queue, arrivals, cap=cap, **rules)
            # Sums of at most (classes x stages) products and a quotient, of numbers below the
            # size; every quantity of a step is continuous in its start.
            size = float(system.capacity) + max(float(q) for q in [*want.queue, *queue])
            near = 8 * (system.workload.longest_decode * own + 4) * size * EPS
            for name in ("completed", "evicted", "admitted", "lost"):
                wanted = [float(x) for x in getattr(want, name)]
                np.testing.assert_allclose(getattr(flows, name)[:own], wanted, rtol=0, atol=near)
            queue_wanted = [float(x) for x in want.queue]
            np.testing.assert_allclose(after.queue[:own], queue_wanted, rtol=0, atol=near)
            np.testing.assert_allclose(after.masses, rectangle(want.state), rtol=0, atol=near)

    check()
