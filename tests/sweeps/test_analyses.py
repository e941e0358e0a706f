"""Every analysis that a sweep knows: declared well, computed alike in any chunks, in its units."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fluidkv as fk
from fluidkv.sweeps import open_sweep
from fluidkv.sweeps.analyses.named import ANALYSES
from fluidkv.sweeps.analysis import DONE, STATUS
from fluidkv.sweeps.planning import compute, plan
from fluidkv.sweeps.running import run
from tests.conventions import complaints
from tests.sweeps.cases import CASES, spec_of


def test_there_is_a_case_of_each() -> None:
    assert CASES.keys() == ANALYSES.keys()


@pytest.mark.parametrize("name", CASES)
def test_names_and_settings_go_together(name: str) -> None:
    analysis = ANALYSES[name]
    settings = [each.name for each in analysis.settings]
    variables = [each.name for each in analysis.variables]
    assert len({*settings, *variables, *analysis.labels, STATUS.name, "row", "sample"}) == (
        len(settings) + len(variables) + len(analysis.labels) + 3
    )
    for each in analysis.settings:
        assert each.units
        assert each.title
        if each.default is None:
            continue
        if each.name != "seed" and isinstance(each.default, int | float | str):
            assert each.kind.read(each.name, each.default) == each.default
    for each in analysis.variables:
        assert each.kind == "flag" or not each.words
        assert set(each.dims) <= analysis.labels.keys()


@pytest.mark.daily(6)
@pytest.mark.parametrize("name", CASES)
def test_a_point_does_not_know_its_chunk(
    name: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Computed together and one by one, to the bit; and the store says all of it."""
    together, single = (plan(spec_of(name) | {"chunk": size}) for size in (1000, 1))
    run(together, tmp_path / "store")
    found = open_sweep(tmp_path / "store")
    assert complaints(found) == []
    assert (found.status == DONE).any()
    everywhere = range(single.chunks)
    for chunk in everywhere if request.config.getoption("--thorough") else everywhere[-1:]:
        for variable, values in compute(single, chunk).items():
            there = found[variable].values[single.region(chunk)]
            np.testing.assert_array_equal(values, there, variable)


def _point(name: str, **at: Any) -> Any:
    """What a sweep finds at one point of its case."""
    asked = plan(spec_of(name))
    index = {
        dim: list(axis.columns[dim]).index(at[dim])
        for dim, axis in zip(asked.dims, asked.spec.axes, strict=True)
        if dim in at
    }
    place = tuple(slice(index.get(dim, 0), index.get(dim, 0) + 1) for dim in asked.dims)
    found = asked.spec.analysis.compute(asked.points_of(place))
    return {name: values[0] for name, values in found.items()}


def test_a_map_says_what_stability_says(tmp_path: Path) -> None:
    """All systems of a share are certified together; `stability` has them one by one."""
    grid = {"share": ["1/10", "9/10"], "input_length": [1, 2, 4, 8, 16]}
    asked = spec_of("stability_map") | {"grid": grid}
    several = fk.sweep(asked, tmp_path / "map", workers=1)
    alone = fk.sweep(asked | {"analysis": "stability"}, tmp_path / "alone", workers=1)
    assert {0, 1} == set(several.verdict.values.ravel())
    np.testing.assert_array_equal(several.verdict, alone.verdict)
    np.testing.assert_array_equal(several.growing_modes, alone.unstable_modes)


ONE = fk.Workload((fk.RequestClass(5, 4),))


def test_a_point_of_basins_is_the_call_with_starts_of_its_seed() -> None:
    from fluidkv.runs.precision import random_key
    from fluidkv.systems import Systems

    found = _point("basins", capacity=60, seed=1)
    system = fk.System(ONE, 60)
    starts = fk.uniform_starts(random_key(1), Systems.of(system), count=4)
    expected = fk.basins(system, starts[0], iterations=200)
    assert found["starts_ending"].sum() == 1
    assert found["starts_ending"][0] == np.mean(expected.attractor == "maximal-eviction cycle")


def test_a_point_of_serve_is_the_call_with_requests_of_its_seed() -> None:
    found = _point("serve", engine="sglang", capacity=64, seed=1)
    classes = tuple(fk.RequestClass(*each, fk.share_from_float(0.5)) for each in ((5, 6), (9, 3)))
    requests = fk.saturated(fk.Workload(classes), 20, rng=1)
    expected = fk.metrics(
        fk.serve(requests, fk.Server("sglang", fk.Limits(64, block_size=4)))
    ).isel(run=0)
    assert found["completions"] == 20
    assert found["throughput"] == expected.throughput_per_time
    assert found["preemptions"] == expected.preemptions
    assert found["latency_p99"] == expected.latency_p99


def test_a_point_of_wait_is_the_call() -> None:
    from fluidkv.wait import PromptType, WaitSystem, simulate_chain

    found = _point("wait", threshold=(2, 1))
    from fractions import Fraction

    system = WaitSystem(
        [PromptType(1, 1, 1), PromptType(1, 1, 2)], Fraction("0.1"), Fraction("0.01")
    )
    expected = simulate_chain(system, [2, 1], horizon=20, seed=0).isel(run=0)
    assert found["completed"] == expected.completed
    assert found["in_system"] == expected.in_system
    assert found["peak_held"] == expected.peak_held


def test_a_point_of_threshold_is_the_call() -> None:
    found = _point("threshold", decode_length_1=6)
    from fractions import Fraction

    from fluidkv.exact.mixed.mix import LengthMix

    mix = LengthMix((3, 6), (Fraction(1, 4), Fraction(3, 4)))
    assert found["l0_min"] == (fk.input_threshold(mix).least or -1)
    assert found["common_divisor"] == 3
