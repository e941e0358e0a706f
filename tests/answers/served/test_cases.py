"""Servers side by side on the same requests are the runs of each by itself."""

from fractions import Fraction

import numpy as np

from fluidkv.answers.served.cases import Case, measured_cases
from fluidkv.runs.arrivals import saturated
from fluidkv.runs.measuring import metrics
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.limits import Limits
from fluidkv.serving.run import serve
from fluidkv.serving.server import Server
from fluidkv.workload import RequestClass, Workload

CLOCK = IterationClock(0.01, 1e-6, 1e-5)
HALF = Fraction(1, 2)
WORKLOAD = Workload((RequestClass(7, 5, HALF), RequestClass(11, 9, HALF)))
TABLES = [saturated(WORKLOAD, 30, rng=seed) for seed in (1, 2)]


def test_each_case_is_a_run_of_its_own_in_the_order_given():
    cases = [
        Case("vllm", Limits(96, 16), CLOCK),
        Case("vllm+cache", Limits(96, 16), CLOCK),
        Case("vllm", Limits(64, 16, 2), CLOCK, clients=3),
    ]
    told: list[tuple[int, int]] = []
    found, statuses = measured_cases(cases, TABLES, on_progress=lambda *n: told.append(n))
    assert statuses == ["DONE"] * 6
    assert told[-1] == (180, 180)
    for case, row in zip(cases, range(3), strict=True):
        for run, table in enumerate(TABLES):
            alone = metrics(
                serve(
                    table, Server(case.engine, case.limits, clock=case.clock), clients=case.clients
                )
            )
            for name in alone.data_vars:
                ours, theirs = found[name].values[row, run], alone[name].values[0]
                assert np.array_equal(ours, theirs, equal_nan=True), name
