"""A wrong kind of object is refused in one line by every public function of exact arithmetic."""

import inspect
from collections.abc import Callable
from importlib import import_module

import pytest

import fluidkv as fk
from fluidkv import exact
from fluidkv.exact.kinds import _ALLOWED

OTHERS = [
    ("roots.spectrum", "certify_spectrum"),
    ("mixed.thresholds.scale", "input_scale"),
    ("mixed.motion.limit", "limit_roots"),
    ("mixed.motion.drift", "drift_bound"),
    ("mixed.motion.branches", "track"),
    ("mixed.cycles.orbits", "periodic_orbit"),
    ("one_class.return_map", "cycle_stability"),
    ("one_class.trajectory", "trajectory"),
]


def records(function: Callable[..., object]) -> list[str]:
    parameters = inspect.signature(function).parameters.values()
    return [p.name for p in parameters if getattr(p.annotation, "__name__", "") in _ALLOWED]


FUNCTIONS = [
    *(getattr(exact, name) for name in dir(exact) if inspect.isfunction(getattr(exact, name))),
    *(getattr(import_module(f"fluidkv.exact.{home}"), name) for home, name in OTHERS),
]


@pytest.mark.parametrize("function", [*filter(records, FUNCTIONS)], ids=lambda f: f.__name__)
def test_a_wrong_kind_is_one_line(function):
    parameters = inspect.signature(function).parameters.values()
    given = {p.name: (5, 9) for p in parameters if p.default is p.empty}
    with pytest.raises(fk.InputError, match=r"^\w+: got \(5, 9\); allowed: ") as refused:
        function(**given)
    assert "\n" not in str(refused.value)
    first = records(function)[0]
    with pytest.raises(fk.InputError, match=rf"^{first}: got None; allowed: "):
        function(**given | {first: None})
