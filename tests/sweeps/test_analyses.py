"""Every analysis that a sweep knows: declared well, computed alike in any chunks, in its units."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fluidkv.sweeps import open_sweep
from fluidkv.sweeps.analyses.named import ANALYSES
from fluidkv.sweeps.analysis import DONE, STATUS, Variable
from fluidkv.sweeps.planning import compute, plan
from fluidkv.sweeps.running import run
from tests.conventions import complaints
from tests.sweeps.calls import CALLS
from tests.sweeps.cases import CASES, spec_of


def test_there_is_a_case_of_each() -> None:
    assert CASES.keys() == CALLS.keys() == ANALYSES.keys()


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


@pytest.mark.parametrize("name", CASES)
def test_a_point_is_the_call_that_it_stands_for(
    name: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Computed some together in a store, computed one by one, and called in Python."""
    together, single = (plan(spec_of(name) | {"chunk": size}) for size in (7, 1))
    run(together, tmp_path / "store")
    found = open_sweep(tmp_path / "store")
    assert complaints(found) == []
    assert (found.status == DONE).all()
    step = 1 if request.config.getoption("--thorough") else max(1, single.chunks // 3)
    looked_at = range(step - 1, single.chunks, step)
    for chunk in looked_at:
        place = single.region(chunk)
        for variable, values in compute(single, chunk).items():
            np.testing.assert_array_equal(values, found[variable].values[place], variable)
        (row,) = single.points_of(place).rows()
        result, others = CALLS[name](row)
        for each in single.variables:
            value = others[each.name] if each.name in others else getattr(result, each.name)
            _assert_same(found[each.name].values[place].squeeze(), value, each)
    for each in single.variables:
        values = [found[each.name].values[single.region(chunk)] for chunk in looked_at]
        assert any(_there(value, each) for value in values), each.name
        if each.name == "verdict":
            assert len(np.unique(values)) > 1


def _there(values: np.ndarray, variable: Variable) -> bool:
    """Whether any is a value, not what stands for none."""
    none = np.isnan(values) if variable.kind == "float" else values == variable.fill
    return not none.all()


def _assert_same(stored: Any, expected: Any, variable: Variable) -> None:
    if variable.kind == "flag":
        expected = variable.words.index(str(expected))
    expected = np.asarray(variable.fill if expected is None else expected, float)
    # A mean over starts may be of the same numbers in another order.
    tolerance = 1e-13 if variable.name.endswith("_mean") else 0
    np.testing.assert_allclose(stored, expected, tolerance, 0, err_msg=variable.name)
