"""Kernels as plain Python: the same bits, for little work, while nothing is compiled."""

import os
import subprocess
import sys

import numpy as np
import pytest

from fluidkv.fluid import uniform_starts
from fluidkv.fluid.labels.engine import RECORDS, advance
from fluidkv.fluid.labels.group import CPU, PYTHON
from fluidkv.fluid.labels.settling import follow
from fluidkv.fluid.labels.tables import of_systems
from fluidkv.runs import interpreted
from fluidkv.runs.precision import random_key
from fluidkv.workload import System, Workload

MIXES = {"one": [(12, 9)], "two": [(10, 4), (10, 7)], "unlike": [(10, 4), (20, 7), (3, 9), (5, 13)]}


@pytest.mark.parametrize("by_class", [True, False])
@pytest.mark.parametrize("mix", MIXES)
def test_the_kernel_of_labels_has_the_same_bits_in_python(mix, by_class):
    system = System(Workload.from_lengths(MIXES[mix]), 700)
    starts = uniform_starts(random_key(0), system, count=4)[:, None]
    if by_class and mix != "one":  # off the manifold: each class at stages of its own
        stages = [c.decode_length for c in system.workload.classes]
        starts = np.repeat(starts, len(stages), axis=1) / len(stages)
        for row, length in enumerate(stages):
            starts[:, row, length:] = 0.0
        starts *= 0.4
    arguments = of_systems([system], by_class=by_class), np.zeros(4, np.int64), starts
    plan = {"iterations": 120, "record": RECORDS, "every": 4}
    one, other = (
        advance(*arguments, np.full(4, 700.0), processor=processor, **plan)
        for processor in (CPU, PYTHON)
    )
    for here, there in zip(one, other, strict=True):
        pairs = here.items() if isinstance(here, dict) else [("", here)]
        for name, values in pairs:
            np.testing.assert_array_equal(values, there[name] if name else there)


def test_settling_has_the_same_bits_in_python():
    system = System(Workload.from_lengths([(512, 8)]), 64 * 520)
    starts = uniform_starts(random_key(0), system, count=6)

    def run(settle):
        out = np.empty((6, 4), np.int32), np.empty(6), np.empty((6, 8), np.int32), np.empty((6, 8))
        numbers = np.array([512]), np.array([8]), np.array([64.0 * 520])
        with np.errstate(all="ignore"):
            settle(*numbers, starts, np.arange(6), 6, 5000, *out)
        return out

    plain = interpreted.interpreted("fluidkv.fluid.labels.settling").follow
    assert not hasattr(plain, "py_func")
    for here, there in zip(run(follow), run(plain), strict=True):
        np.testing.assert_array_equal(here, there)


def test_little_work_is_little_in_all_and_the_compiler_is_asked_last(monkeypatch):
    monkeypatch.setattr(interpreted, "_made", 0)
    asked = []

    def compiled():
        asked.append(True)
        return False

    half = interpreted.MOST // 2
    assert interpreted.as_python(half, compiled)
    assert interpreted.as_python(half, compiled)
    assert len(asked) == 2
    assert not interpreted.as_python(1, compiled)  # a second's worth has been done
    assert len(asked) == 2
    monkeypatch.setattr(interpreted, "_made", 0)
    assert not interpreted.as_python(1, lambda: True)


FIRST = """
import fluidkv as fk
system = fk.System(fk.Workload.from_lengths([(2, 3)]), capacity=24)
fk.simulate(system, [[4, 3, 0]], iterations=12)
fk.basins(system, [[4, 3, 0]])
from fluidkv.fluid.labels.kernel import advance_lanes
from fluidkv.fluid.labels.settling import follow
print(len(advance_lanes.overloads), len(follow.overloads))
"""


def test_a_first_small_call_compiles_no_kernel(tmp_path):
    environment = os.environ | {"FLUIDKV_CACHE": str(tmp_path / "none")}
    done = subprocess.run(
        [sys.executable, "-c", FIRST], env=environment, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (0, "0 0\n"), done.stderr
