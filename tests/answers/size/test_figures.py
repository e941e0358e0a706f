"""The picture of a size: its numbers are the answer's, and it draws without a warning."""

import warnings

import numpy as np
import pytest

import fluidkv as fk
from fluidkv.answers.served.slo import Slo
from fluidkv.answers.size.figures import size_figure
from fluidkv.figures import write_figures
from fluidkv.serving.clock import IterationClock
from fluidkv.workload import Workload

MIX = Workload.from_lengths([(40, 30), (120, 60)])


_DEEPER = [pytest.param(find, marks=pytest.mark.thorough) for find in ("rate", "replicas")]


@pytest.mark.parametrize("find", ["kv", *_DEEPER])
def test_points_are_the_sizes_and_it_draws(find, tmp_path):
    found = fk.size_server(
        MIX,
        (Slo("ttft_p99", 0.5), Slo("tpot_p99", 0.03)),
        find=find,
        capacity=1024,
        rate=9.0,
        clock=IterationClock(0.01, 1e-6, 1e-5),
        requests=40,
        runs=1,
        within=0.1,
    )
    figure = size_figure(found)
    data = figure.data()
    assert data["at"].size == len(found.along)
    np.testing.assert_array_equal(
        data["ttft_p99"], [found.worst(size, "ttft_p99") for size in found.along]
    )
    assert data["answer"] in data["at"]
    assert data["met"].tolist() == [float(found.meets(size)) for size in found.along]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        write_figures([figure], tmp_path)
    assert (tmp_path / "size.png").stat().st_size > 0
