"""The kernel on a GPU: compiled for one without one, and on one that Numba plays."""

import json
import os
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks.gpu_kernel import MULTIPROCESSORS, labels_ptx, resources
from benchmarks.inputs import SkippedError
from fluidkv.fluid import simulation
from fluidkv.fluid.labels import engine
from fluidkv.fluid.labels.engine import RECORDS, advance
from fluidkv.fluid.labels.gpu import GPU
from fluidkv.fluid.labels.processors import CPU
from fluidkv.runs import devices, gpu
from fluidkv.runs.gpu import THREADS
from fluidkv.workload import System, Workload
from tests.fluid.labels.cases import packed


def test_a_gpu_that_numba_plays_finds_the_same_bits():
    settings = {"NUMBA_ENABLE_CUDASIM": "1", "NUMBA_DISABLE_JIT": "1"}
    run = subprocess.run(
        [sys.executable, "-m", "tests.fluid.labels.on_simulated_gpu"],
        env=os.environ | settings,
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout)
    assert len(found) == 7
    assert all(found.values()), found


@pytest.mark.thorough
def test_the_kernel_is_built_for_an_h100_without_one():
    """Nothing is spilled, and there is room for five blocks on each multiprocessor at least."""
    try:
        of_thread = resources(labels_ptx())
    except SkippedError as reason:
        pytest.skip(str(reason))
    assert of_thread.stack == of_thread.spilled == 0
    assert of_thread.threads >= 5 * THREADS * MULTIPROCESSORS


def test_a_gpu_agrees_with_the_cpu_up_to_rounding():
    problem = gpu.gpu_problem()
    if problem is not None:
        pytest.skip(problem)
    lanes = 10_000
    tables = packed(System(Workload.from_lengths([(20, 7), (30, 4)]), 400), by_class=True)
    start = np.random.default_rng(0).random((lanes, 2, 7))
    start[:, 1, 4:] = 0.0
    arguments = tables, np.zeros(lanes, np.int64), start, np.full(lanes, 400.0)
    here = advance(*arguments, iterations=200, record=RECORDS, processor=CPU)
    there = advance(*arguments, iterations=200, record=RECORDS, processor=GPU)
    # Roundings of each iteration grow by the unstable modes: 2e-13 on a CPU with fused products.
    np.testing.assert_allclose(there.state, here.state, rtol=0, atol=1e-9)
    for name in ("admitted", "completed", "evicted", "in_flight"):
        np.testing.assert_allclose(there.records[name], here.records[name], rtol=0, atol=1e-9)


@pytest.mark.parametrize("platform", ["cpu", "gpu"])
@pytest.mark.parametrize("problem", [None, "no driver"])
def test_a_gpu_is_taken_where_jax_has_one_and_the_kernel_can(platform, problem, monkeypatch):
    for module in (devices, simulation):
        monkeypatch.setattr(module, "local_devices", lambda: [SimpleNamespace(platform=platform)])
    monkeypatch.setattr(gpu, "gpu_problem", lambda: problem)
    taken = GPU if platform == "gpu" and problem is None else CPU
    assert engine.default_processor(10**9, ()) is taken
    assert simulation._wants_labels("auto") == (platform == "cpu" or taken is GPU)
