"""Hypothesis strategies for runs of the policies. They build what runs, and filter nothing.

Times are few and far apart against iterations, so that ties, idle time and queues all show.
"""

from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st

from fluidkv.runs.requests import Requests
from fluidkv.serving.clock import IterationClock
from fluidkv.wait.policy import NestedWait, Policy, Wait

MOST_PROMPTS = 40
LONGEST = 9

_clocks = st.builds(
    IterationClock,
    st.floats(0.1, 2),
    st.floats(0, 0.5, allow_subnormal=False),  # XLA may flush subnormal numbers to zero
    st.one_of(st.just(0.0), st.floats(0, 0.5, allow_subnormal=False)),
)


class Case(NamedTuple):
    """One run."""

    requests: Requests
    policy: Policy
    clock: IterationClock


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """A table of prompts of unequal inputs and outputs, and either policy for it."""
    size = draw(st.integers(1, MOST_PROMPTS))

    def column(element: st.SearchStrategy) -> list:
        return draw(st.lists(element, min_size=size, max_size=size))

    table = Requests(
        column(st.integers(1, 6)),
        column(st.integers(1, LONGEST)),
        arrival=np.cumsum(column(st.sampled_from([0.0, 0.0, 0.25, 1.0, 3.7]))),
        class_index=column(st.integers(0, 2)),
    )
    return Case(table, draw(st.one_of(_wait, _nested())), draw(_clocks))


_thresholds = st.integers(1, 7)
_wait = st.builds(Wait, st.lists(_thresholds, min_size=3, max_size=4))


@st.composite
def _nested(draw: st.DrawFn) -> NestedWait:
    """Segments that end anywhere, the last at the longest output there can be."""
    inner = draw(st.sets(st.integers(1, LONGEST - 1), max_size=3))
    ends = [*sorted(inner), LONGEST]
    return NestedWait(ends, [draw(_thresholds) for _ in ends])
