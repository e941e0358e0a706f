"""A wrong kind of object is refused in one line by every public function of exact arithmetic."""

import inspect
from importlib import import_module

import pytest

import fluidkv as fk
from fluidkv.exact.kinds import _ALLOWED

EXACT = sorted(name for name, home in fk._HOMES.items() if home.startswith("exact."))
OTHERS = [
    ("roots.spectrum", "certify_spectrum"),
    ("mixed.scale", "input_scale"),
    ("mixed.limit", "limit_roots"),
    ("mixed.drift", "drift_bound"),
    ("mixed.branches", "track"),
    ("mixed.uniform", "uniform_bound"),
    ("mixed.orbits", "periodic_orbit"),
    ("one_class.return_map", "cycle_stability"),
    ("one_class.trajectory", "trajectory"),
]
FUNCTIONS = [
    *(getattr(fk, name) for name in EXACT if inspect.isfunction(getattr(fk, name))),
    *(getattr(import_module(f"fluidkv.exact.{home}"), name) for home, name in OTHERS),
]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_a_wrong_kind_is_one_line(function):
    parameters = inspect.signature(function).parameters.values()
    records = [p.name for p in parameters if getattr(p.annotation, "__name__", "") in _ALLOWED]
    given = {p.name: (5, 9) for p in parameters if p.default is p.empty}
    assert records
    with pytest.raises(fk.InputError, match=r"^\w+: got \(5, 9\); allowed: ") as refused:
        function(**given)
    assert "\n" not in str(refused.value)
    with pytest.raises(fk.InputError, match=rf"^{records[0]}: got None; allowed: "):
        function(**given | {records[0]: None})
