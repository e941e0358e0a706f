"""What checks stand on, read off their code, beside what they do when they run."""

import os
import sys
from collections.abc import Callable
from functools import partial
from types import FrameType
from typing import Any

import pytest

import fluidkv
from fluidkv.ledger.basis import Basis, basis
from fluidkv.ledger.registry import claim_of, ledger


@pytest.mark.parametrize(
    ("id", "expected"),
    [
        ("congestion.example-2.level-2.loss", Basis.LIBRARY),
        (
            "congestion.example-10.roots",
            Basis.LIBRARY,
        ),  # through what a cache keeps
        ("wait.example-1.full", Basis.LIBRARY),  # through a package whose names come on first use
        ("tokenpd.section-4.rates.closed-forms", Basis.LIBRARY),  # imported within the check
        ("vllm-54644.best.recomputed", Basis.RECORD),
        ("cacheopt.section-2-2.shares", Basis.RECORD),
        ("cacheopt.abstract.same-rivals", Basis.PAPER),
        ("routing.table-3.percentages", Basis.PAPER),
    ],
)
def test_the_basis_of_a_check(id: str, expected: Basis) -> None:
    assert basis(claim_of(id).check) is expected


def test_bound_arguments_and_what_is_wrapped_count() -> None:
    check = claim_of("congestion.example-2.level-2.loss").check
    assert basis(partial(print, check)) is Basis.LIBRARY
    assert basis(partial(print, [{"a": (check,)}])) is Basis.LIBRARY
    assert basis(print) is Basis.PAPER


@pytest.mark.thorough
def test_a_check_that_is_said_not_to_run_the_library_does_not() -> None:
    others = [claim for claim in ledger() if basis(claim.check) is not Basis.LIBRARY]
    assert others
    assert {c.id: files for c in others if (files := called_while(c.check))} == {}


def called_while(check: Callable[[], Any]) -> set[str]:
    """Files of the library, beyond what a claim and a record are, whose functions were called."""
    root = os.path.dirname(fluidkv.__file__) + os.sep
    ground = ("errors", "files", "ledger", "plain", "record", "text", "verdict")
    called = set()

    def note(frame: FrameType, event: str, argument: object) -> None:
        path, name = frame.f_code.co_filename, frame.f_code.co_name
        if event == "call" and path.startswith(root) and name != "<module>":
            first = path.removeprefix(root).split(os.sep)[0].removesuffix(".py")
            if first not in (*ground, "__init__") and not path.endswith("__init__.py"):
                called.add(path)

    sys.setprofile(note)
    try:
        check()
    finally:
        sys.setprofile(None)
    return called
