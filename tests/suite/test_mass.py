"""The peers of the mass engine: the same masses, whoever computes them; nobody is timed here."""

import dataclasses
import math
import subprocess
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from fluidkv.exact.mass import iterate
from fluidkv.fluid import class_model
from fluidkv.suite.mass import benchmark, c_kernel
from fluidkv.suite.mass.benchmark import copy_bytes_per_second, measure
from fluidkv.suite.mass.c_kernel import NoCompilerError
from fluidkv.suite.mass.plain import run_numpy, run_python
from fluidkv.suite.settings import LEAST
from tests.small_systems import one_class

SMALL = dataclasses.replace(LEAST, lengths=(8,))


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> c_kernel.Kernel:
    try:
        return c_kernel.c_kernel(str(tmp_path_factory.mktemp("c")))[0]
    except NoCompilerError as reason:
        pytest.skip(str(reason))


@pytest.mark.parametrize(("inputs", "length"), [(1, 1), (1, 2), (3, 5), (20, 16), (512, 33)])
@pytest.mark.parametrize("iterations", [1, 7, 200])
def test_c_and_numpy_find_what_the_loop_finds(
    kernel: c_kernel.Kernel, inputs: int, length: int, iterations: int
) -> None:
    system = one_class(inputs, length, 7 * (inputs + length))
    model = class_model(system)
    weights, capacity = model.weights[0], float(model.capacity)
    starts = np.random.default_rng(iterations).exponential(size=(9, length))
    starts[0, 1:] = 0  # a face
    starts *= capacity / (starts @ weights)[:, None]
    loop = np.array([run_python(weights, capacity, start, iterations) for start in starts])
    by_numpy = run_numpy(weights, capacity, np.ascontiguousarray(starts.T), iterations).T
    for threads in (1, 2, 20):
        by_c = starts.copy()
        kernel(by_c, float(weights[0]), iterations, threads)
        # Roundings grow where requests are evicted; 200 iterations of small systems are settled.
        np.testing.assert_allclose(by_c, loop, atol=1e-9 * capacity)
    np.testing.assert_allclose(by_numpy, loop, atol=1e-9 * capacity)
    np.testing.assert_allclose(loop @ weights, capacity, rtol=1e-9)


def test_the_loop_is_the_literal_model() -> None:
    system = one_class(2, 4, 60)
    weights = [float(each) for each in range(3, 7)]
    state = [2.0, 3.0, 4.0, 3.0]
    literal = [[Fraction(mass) for mass in state]]
    evicted = 0
    for n in range(1, 12):
        step = iterate(system, literal)
        literal = step.state
        evicted += sum(mass > 0 for mass in step.evicted[0])
        loop = run_python(np.array(weights), 60.0, np.array(state), n)
        np.testing.assert_allclose(loop, np.array(literal[0], float), atol=1e-12)
    assert evicted > 0


def test_every_way_has_a_rate_and_a_ratio() -> None:
    told: list[str] = []
    found = measure(SMALL, told.append, accelerator=False)
    assert told == ["L = 8"]
    missing = [each.way for each in found.rates if each.per_second is None]
    assert all(way.startswith("C kernel") for way in missing)
    values = [each.value for each in found.ratios if each.value is not None]
    assert len(found.rates) == len({each.way for each in found.rates}) >= 5
    assert values
    assert all(math.isfinite(value) and value > 0 for value in values)


def test_on_an_accelerator_more_starts_and_the_bandwidth_are_measured_too() -> None:
    found = measure(SMALL, lambda _: None, accelerator=True)
    assert f"default engine, {SMALL.device_starts} starts" in [each.way for each in found.rates]
    bandwidth = [each for each in found.ratios if "bandwidth" in each.what]
    assert [math.isfinite(each.value or math.nan) for each in bandwidth] == [True]
    assert copy_bytes_per_second(1 << 16) > 0


def test_a_way_that_finds_other_masses_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(*arguments) -> np.ndarray:
        found = run_numpy(*arguments)
        found[0, 0] *= 1.01
        return found

    monkeypatch.setattr(benchmark, "run_numpy", wrong)
    with pytest.raises(AssertionError, match="L = 8: of numpy, the Python loop, two differ"):
        measure(SMALL, lambda _: None)


def test_without_a_compiler_c_is_not_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(c_kernel.shutil, "which", lambda _: None)
    with pytest.raises(NoCompilerError, match="no C compiler here"):
        c_kernel.c_kernel(str(tmp_path))
    found = measure(SMALL, lambda _: None)
    absent = [each for each in found.rates if each.way.startswith("C kernel")]
    assert absent
    assert {(each.per_second, each.why) for each in absent} == {(None, "no C compiler")}
    assert "not measured (no C compiler here)" in found.notes[0]


def test_a_compiler_that_fails_is_as_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(command: list[str], **_: object) -> subprocess.CompletedProcess:
        return subprocess.CompletedProcess(command, 1)

    monkeypatch.setattr(c_kernel.subprocess, "run", fails)
    monkeypatch.setattr(c_kernel.shutil, "which", lambda name: name)
    with pytest.raises(NoCompilerError, match="does not compile the kernel"):
        c_kernel.c_kernel(str(tmp_path))
