"""Clocks of named GPUs against measured closed loops: fitted to a part, held to the rest.

The rows are not ours: where FLUIDKV_TRACES names no folder with them, these tests skip.
"""

from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

from fluidkv.serving.machines import efficiencies as tables
from tests.serving.machines.closed_loops import METRICS, misses, said
from tests.serving.machines.silicon import FILE, Row, correct, fit, fitted_to, read


@pytest.fixture(scope="module")
def rows(traces_dir: Path) -> list[Row]:
    if not (traces_dir / FILE).is_file():
        pytest.skip(f"no measured rows: FLUIDKV_TRACES names no folder with {FILE}")
    return read(traces_dir)[0]


def test_a_setting_is_fitted_to_or_held_out_as_a_whole(rows: list[Row]) -> None:
    parts = defaultdict(set)
    for row in rows:
        parts[row.setting].add(row.held_out)
    assert all(len(each) == 1 for each in parts.values())
    assert 0.4 < np.mean([row.held_out for row in rows]) < 0.6
    assert not any(row.held_out or row.odd for row in fitted_to(rows))


def test_the_tables_are_their_fit(rows: list[Row]) -> None:
    chosen = fitted_to(rows)
    values = fit(chosen)
    for name, value in values.items():  # four digits are written
        assert tables.efficiencies()[name] == pytest.approx(value, rel=1e-3, abs=1e-4)
    found = correct(chosen, values)
    assert {key: factor for key, (factor, _) in found.items()} == pytest.approx(
        dict(tables.corrections()), rel=1e-3
    )


def test_rows_held_out_are_within_their_bars(rows: list[Row]) -> None:
    """Every sixth of them: docs/clock.md has all."""
    held = [row for row in rows if row.held_out and not row.odd][::6]
    off = np.abs([misses(row, said(row)) for row in held])
    mean, within = off.mean(axis=0), (off < 0.25).mean(axis=0)
    assert len(held) > 100
    for metric, bound, least, each, share in zip(METRICS, BOUNDS, LEAST, mean, within, strict=True):
        assert each < bound, metric
        assert share > least, metric


BOUNDS, LEAST = (0.13, 0.14, 0.40), (0.85, 0.85, 0.4)
"""Of all rows held out 11 % in the mean, 12 % and 32 %: a sixth of them may be farther off."""
