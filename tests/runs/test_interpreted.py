"""Kernels as plain Python: the same bits, for little work, while nothing is compiled."""

import os
import subprocess
import sys

from fluidkv.runs import interpreted


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
print(len(advance_lanes.overloads))
"""


def test_a_first_small_call_compiles_no_kernel(tmp_path):
    environment = os.environ | {"FLUIDKV_CACHE": str(tmp_path / "none")}
    done = subprocess.run(
        [sys.executable, "-c", FIRST], env=environment, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (0, "0\n"), done.stderr
