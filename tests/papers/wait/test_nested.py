"""Section 7.2 on the outputs of a real trace; checks that must not look away."""

from collections import Counter
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from fluidkv.traces import read_trace
from fluidkv.wait.model import PromptType, WaitSystem
from fluidkv_papers.wait.claims import lindley, nested_short_memory, section_7_2
from fluidkv_papers.wait.instances import designs as made


def _conversation(traces: Path, load: Fraction) -> WaitSystem:
    """Outputs of the Azure conversation trace, the paper's input of 62 tokens and our clock."""
    trace = read_trace(traces / "azure_llm_2023_conv.csv").trace
    outputs = Counter(trace.decode_lengths)
    types = [PromptType(Fraction(number), 62, out) for out, number in sorted(outputs.items())]
    unscaled = WaitSystem(types, Fraction(1, 50), Fraction(1, 10**6))
    return unscaled.scaled((load / unscaled.load).limit_denominator(10**9))


@pytest.mark.thorough
def test_the_trace_has_the_same_shape_as_the_synthetic_outputs(traces_dir: Path) -> None:
    counts = []
    for load in made.LOADS:
        system = _conversation(traces_dir, load)
        designs = made.swept(system, spare=1)
        low = made.best(designs)
        assert designs[0].count < low.count < designs[-1].count
        assert all(map(made.dominated, designs))
        counts.append(low.count)
    assert counts == [4, 7, 19]  # recorded: it moves with the load here too


def test_least_thresholds_let_the_tail_dominate_on_the_trace_too(traces_dir: Path) -> None:
    designs = made.swept(_conversation(traces_dir, Fraction(4, 5)), spare=0)
    assert not all(map(made.dominated, designs))


@pytest.mark.parametrize("n", [1, 2, 3])
def test_a_smaller_buffer_is_caught(n: int) -> None:
    paths = np.array([[n - 1, n], [n, n]])
    found = [lindley.above_chain(n, paths, buffer, "Q") for buffer in (2 * n - 2, 2 * n - 1)]
    assert found[0] == f"n={n}, arrivals {n - 1}, {n}: W = {2 * n - 1} > {2 * n - 2} = Q"
    assert found[1] is True


def test_memory_of_a_full_batch_lets_the_dead_instances_live() -> None:
    assert nested_short_memory.fate((1, 3), 4) is not None
    assert nested_short_memory.fate((1, 3), 12) is None
    assert nested_short_memory.fate((1, 2), 9) is None


def test_domination_fails_where_term_1_is_halved(monkeypatch: pytest.MonkeyPatch) -> None:
    def low(design) -> bool:
        return design.batch > 2 * design.queue and float(design.batch) > 2 * design.tail

    monkeypatch.setattr(section_7_2, "dominated", low)
    assert section_7_2.dominates(1).counterexample is not None
