"""The room is loaded where it is used; its records travel."""

import copy
import json
import pickle
import subprocess
import sys
from fractions import Fraction

import pytest

from fluidkv import symbolic
from fluidkv.exact.mixed.mix import LengthMix
from fluidkv.symbolic import Z

RECORDS = {
    "boundary": lambda: symbolic.stability_boundary(LengthMix((4, 7), [Fraction(1, 2)])),
    "equilibrium": symbolic.equilibrium,
    "worst cycle": symbolic.worst_cycle,
    "waiting": lambda: symbolic.wait_equilibrium(2),
    "roots": lambda: symbolic.roots(Z**3 + Z + 1, 20),
}


@pytest.mark.parametrize("room", ["fluidkv", "fluidkv.symbolic", "fluidkv_papers"])
def test_sympy_and_mpmath_wait_until_a_name_of_the_room_is_used(room):
    look = "print([m for m in ('sympy', 'mpmath', 'jax') if m in sys.modules])"
    code = f"import sys, {room}; {look}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("name", RECORDS)
def test_a_record_pickles_copies_equals_itself_and_is_plain(name):
    record = RECORDS[name]()
    for again in (pickle.loads(pickle.dumps(record)), copy.deepcopy(record)):
        assert again == record
        assert hash(again) == hash(record)
    json.dumps(record.to_dict(), allow_nan=False)
