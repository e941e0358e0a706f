"""A dataset as CSV: a row for each place, named by its own coordinates or by others."""

import numpy as np
import xarray as xr

from fluidkv.questions.answer import table_csv

TABLE = xr.Dataset(
    {"tax": (("rule", "run"), [[0.5, np.nan], [2.0, 3.0]]), "ended": (("rule", "run"), np.eye(2))},
    {"rule": [0, 1], "run": [0, 1], "victim": ("rule", ["first", "last"])},
)


def test_places_have_their_own_names() -> None:
    rows = table_csv(TABLE).splitlines()
    assert rows[:3] == ["rule,run,tax,ended", "0,0,0.5,1.0", "0,1,,0.0"]
    assert len(rows) == 5


def test_other_coordinates_stand_for_them_and_whole_numbers_have_no_point() -> None:
    rows = table_csv(TABLE, names={"rule": ["victim"]}, whole=True).splitlines()
    assert rows[0] == "victim,run,tax,ended"
    assert rows[1:3] == ["first,0,0.5,1", "first,1,,0"]
    assert rows[3:] == ["last,0,2,0", "last,1,3,1"]
