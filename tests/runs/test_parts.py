"""Parts of kernels, taken in as they are, or compiled whole where Numba has other inner names."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numba.core.compiler import Compiler

from fluidkv.runs import parts
from fluidkv.runs.kernels import inner, kernel


def _kernel() -> Callable[[np.ndarray], float]:
    """Parts within parts, branches, a call from two places."""

    @inner
    def step(x: float, by: float) -> float:
        return x / by if by > 2.0 else x * by + 0.1

    @inner
    def twice(x: float, by: float) -> float:
        return step(step(x, by), by + 1.0)

    @kernel
    def total(xs: np.ndarray) -> float:
        found = 0.0
        for place in range(xs.size):
            found += twice(xs[place], place) - step(found, xs[place])
        return found

    return total


def test_this_numba_has_the_inner_names() -> None:
    assert issubclass(parts.compiler(), Compiler)


@pytest.mark.parametrize("name", ["JITCodeLibrary", "Compiler", "Flags"])
@pytest.mark.parametrize("other", [None, type("OtherNames", (), {})])
def test_a_numba_with_other_inner_names_compiles_parts_whole(
    name: str, other: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = np.random.default_rng(0).uniform(0.5, 4.0, 50)
    as_they_are = _kernel()(values)
    monkeypatch.setattr(parts, name, other)
    parts.compiler.cache_clear()
    try:
        assert parts.compiler() is None
        assert _kernel()(values) == as_they_are
    finally:
        monkeypatch.undo()
        parts.compiler.cache_clear()
    assert parts.compiler() is not None
