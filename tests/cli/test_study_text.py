"""What stands below the verdict: what to run, and where the boundary is, as far as certified."""

from fractions import Fraction
from types import SimpleNamespace
from typing import cast

import pytest

from fluidkv.answers.study.page import _boundary
from fluidkv.answers.study.result import StudyResult
from fluidkv.exact.linear_stability import InputScale


def boundary(scale: InputScale) -> str:
    return _boundary(cast(StudyResult, SimpleNamespace(input_scale=scale)))


@pytest.mark.parametrize(
    ("stable", "unstable", "said"),
    [
        # 50.123456 stable, 50.123444 not: no nearer than four digits, and outward
        ("50.123456", "50.123444", "crossed between 50.12 (unstable) and 50.13 (stable) times"),
        ("1/8", "1/8192", "crossed between 0.0001220 (unstable) and 0.125 (stable) times"),
        ("3/1000", "10/3", "crossed between 3.334 (unstable) and 0.003 (stable) times"),
        ("1/4096", None, "not met: still stable with inputs shrunk to 1/4,096 of this"),
        (None, "4096", "not met: still unstable with inputs 4,096 times as long"),
        (None, None, "not looked for: the verdict at these inputs is undecided"),
    ],
)
def test_ends_are_rounded_outward_and_single_factors_are_exact(
    stable: str | None, unstable: str | None, said: str
) -> None:
    ends = [None if x is None else Fraction(x) for x in (stable, unstable)]
    assert boundary(InputScale(ends[0], ends[1])).startswith(said)


def test_known_boundaries() -> None:
    tiny = Fraction(5e-324)
    nowhere = "none: stable at every input length (certified)"
    assert boundary(InputScale(Fraction(0), None, complete=True)) == nowhere
    assert boundary(InputScale(tiny, -tiny, complete=True)) == nowhere  # at inputs of no tokens
    assert boundary(InputScale(None, None, complete=True)).startswith("none: unstable at every")
    once = boundary(InputScale(Fraction("1.242071"), Fraction("1.242070"), complete=True))
    assert once.startswith("crossed once, at 1.24207 times these inputs")
