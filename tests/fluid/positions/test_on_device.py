"""The JAX twin against the compiled engine, on the CPU."""

from fractions import Fraction

import jax
import numpy as np

from fluidkv.fluid import uniform_starts
from fluidkv.fluid.positions.engine import advance
from fluidkv.fluid.positions.on_device import follow_jit
from fluidkv.fluid.positions.tables import of_systems
from fluidkv.runs.precision import in_float64
from fluidkv.workload import RequestClass, System, Workload


def test_the_twin_in_jax_agrees_with_the_compiled_engine():
    made = [
        System(Workload((RequestClass(l0, l1),)), Fraction(900)) for l0, l1 in ((20, 9), (3, 5))
    ]
    starts = np.zeros((2, 20, 9))
    for i, system in enumerate(made):
        drawn = uniform_starts(jax.random.key(i), system, count=20)
        starts[i, :, : drawn.shape[1]] = drawn
    starts[:, 0] = 0.0  # an empty server
    starts[:, 1] /= 2  # memory to spare
    lanes = starts.reshape(40, 9)
    inputs, stages = np.repeat([20.0, 3.0], 20), np.repeat([9, 5], 20).astype(np.int32)
    capacity = np.full(40, 900.0)
    for iterations in (1, 2, 7, 30, 600):
        found = advance(
            of_systems(made, by_class=True),
            np.repeat([0, 1], 20),
            lanes[:, None],
            capacity,
            iterations=iterations,
        )
        with in_float64():
            twin = follow_jit(inputs, stages, capacity, lanes.T.copy(), np.int32(iterations))
        # Roundings of 1e-16 of 300 requests, grown by the modes until the last label is alone.
        np.testing.assert_allclose(np.asarray(twin).T, found.state[:, 0], rtol=0, atol=1e-9)
