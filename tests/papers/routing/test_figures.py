"""Figures of Routing's experiments on a few small requests, and what the committed ones say."""

import numpy as np
import pytest

from fluidkv_papers.routing.figures import (
    decay,
    figure_2,
    sweeps,
)
from fluidkv_papers.routing.instances.setting import Setting

SMALL = Setting("gsp", (("groups", 6), ("queries", 3), ("lengths", (64, 128))), 2, 400)
POINTS = [(1.0, SMALL), (2.0, Setting(SMALL.workload, SMALL.options, 3, 400))]


@pytest.fixture(autouse=True)
def _one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweeps, "cores", lambda: 1)


def test_a_sweep_is_mean_least_and_most_of_its_runs() -> None:
    data = sweeps.sweep(POINTS, seeds=(0, 1), names=("lbgr+rlt", "random+lru"))
    assert data["x"].tolist() == [1.0, 2.0]
    for name in ("lbgr+rlt", "random+lru"):
        runs = [
            [sweeps.setting.measured(of, name, seed)["hit_rate"] for seed in (0, 1)]
            for _, of in POINTS
        ]
        assert data[f"{name}.hit_rate"].tolist() == np.mean(runs, axis=1).tolist()
        assert data[f"{name}.hit_rate_low"].tolist() == np.min(runs, axis=1).tolist()
        assert data[f"{name}.hit_rate_high"].tolist() == np.max(runs, axis=1).tolist()


def test_four_workloads_stand_side_by_side() -> None:
    data = figure_2.data(dict(zip("abcd", [SMALL] * 4, strict=True)), seeds=(0, 1))
    assert data["x"].tolist() == [0, 1, 2, 3]


def test_readings_of_the_residual_are_beside_the_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    def small(**changes: object) -> Setting:
        return Setting(SMALL.workload, SMALL.options, 2, 400, router=changes["router"])  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr(decay, "half", small)
    monkeypatch.setattr(decay, "half_documents", small)
    data = decay.data((10, 80), seeds=(0,))
    assert data["reading.gsp.x"].size == len(decay.READINGS)
    assert data["reading.documents.latency_p95"].size == len(decay.READINGS)
