"""Every figure of the papers has a state of the page, or a reason why it has none."""

import re
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from fluidkv.exact.linear_stability import stability
from fluidkv.exact.mass import iterate
from fluidkv.explore.presets import NAMED, OTHER_PAPERS, PRESETS, WITHOUT, Preset
from fluidkv.explore.state import Lengths, PageState
from fluidkv.figures.registry import figures
from fluidkv.fluid.simulation import simulate
from fluidkv.ledger.registry import select
from fluidkv_papers.coverage import page
from tests.explore.cases import start_masses

FIGURES = {figure.id: figure for figure in figures()}


def sections() -> dict[str, str]:
    """The page on coverage by paper."""
    _, *parts = re.split(r"^## ", page(), flags=re.M)
    return {name: rest for name, _, rest in (part.partition("\n") for part in parts)}


def numbers(section: str) -> set[str]:
    """Figures that a paper has."""
    _, _, rest = section.partition("| figure |")
    return set(re.findall(r"^\| \*\*(\d+)\*\* ", rest.partition("\n\n")[0], flags=re.M))


def of_presets() -> set[str]:
    return {number for each in PRESETS for number in re.findall(r"\d+", each.figure)}


def lengths_of(preset: Preset) -> Lengths:
    assert isinstance(preset.state.load, Lengths)
    return preset.state.load


def test_every_figure_of_congestion_has_a_state_or_a_reason():
    printed = numbers(sections()["Congestion"])
    assert len(printed) == 34
    assert of_presets() | set(WITHOUT) == printed
    assert of_presets() & set(WITHOUT) == set()


def test_every_other_paper_with_figures_has_a_reason():
    others = {name for name, text in sections().items() if numbers(text)} - {"Congestion"}
    assert len(others) >= 3
    assert {name.lower().replace("-", "") for name in others} <= set(OTHER_PAPERS)
    papers = {id_.partition("_")[0] for id_ in FIGURES if re.search(r"_figure_\d+$", id_)}
    assert papers - {"congestion"} <= set(OTHER_PAPERS)


def test_presets_have_names_and_titles_of_their_own():
    assert len(NAMED) == len(PRESETS)
    assert len({(each.figure, each.title) for each in PRESETS}) == len(PRESETS)
    assert len({each.state.link for each in PRESETS}) == len(PRESETS)


def test_a_preset_names_claims_that_are_there():
    for preset in PRESETS:
        for name in preset.claims:
            assert select([name]), name


DRAWN = [(preset, FIGURES[id_]) for preset in PRESETS for id_ in preset.figures]


def flat(value: object) -> set:
    """All numbers in a value of a figure's parameters; lists of lengths as tuples."""
    if isinstance(value, dict):
        return set().union(*map(flat, value.values()))
    if isinstance(value, list) and value and all(isinstance(each, int) for each in value):
        return {tuple(value), *value}
    return set().union(*map(flat, value)) if isinstance(value, list) else {value}


@pytest.mark.parametrize(
    ("preset", "figure"), DRAWN, ids=lambda each: getattr(each, "name", getattr(each, "id", ""))
)
def test_a_preset_is_the_system_of_its_figure(preset, figure):
    said = figure.parameters
    inputs = flat([said[key] for key in ("input_length", "input_lengths") if key in said])
    if inputs:  # Figure 3 finds them
        assert lengths_of(preset).inputs[0] in inputs
    names = ("decode_length", "decode_lengths", "pairs", "settings")
    lengths = flat([said[key] for key in names if key in said])
    ours = tuple(length for length, _ in lengths_of(preset).outputs)
    parts = [pair for pair in lengths if isinstance(pair, tuple) and set(pair) <= set(ours)]
    one = len(ours) == 1 and ours[0] in lengths
    assert one or ours in lengths or set().union(*parts) == set(ours)
    assert len({part for _, part in lengths_of(preset).outputs}) == 1
    capacities = flat([said[key] for key in ("capacity", "capacities") if key in said])
    numeric = {each for each in capacities if isinstance(each, int)}
    assert not numeric or preset.state.capacity in numeric
    if "blocks" in said:
        assert preset.state.capacity == said["blocks"] * said["block_size"]
    if isinstance(said.get("start"), list):
        assert list(start_masses(preset.state)) == [Fraction(x) for x in said["start"]]


def test_the_scaled_figures_have_their_capacity():
    """Where the figure's memory is the sum of V_s, so that x* = 1: here the same times classes."""
    for name in ("figure-16a", "figure-16b", "figure-17a", "figure-17b", "figure-17c"):
        state = NAMED[name].state
        classes = len(lengths_of(NAMED[name]).outputs)
        rate = stability(state.system()).equilibrium.rate
        assert rate == (1 if name.startswith("figure-16") else classes)


def test_figure_12_starts_with_its_ratio_of_memory_to_input():
    preset = NAMED["figure-12"]
    assert Fraction(preset.state.capacity, lengths_of(preset).inputs[0]) == Fraction(59, 5)


def growing(preset: Preset, input_length: int) -> int | None:
    lengths = Lengths((input_length,), lengths_of(preset).outputs)
    state = PageState(lengths, preset.state.capacity)
    return stability(state.system()).unstable_modes


def test_findings_that_name_another_input_length():
    assert [growing(NAMED["figure-3"], n) for n in (15, 17, 18)] == [2, 2, 0]
    assert "From 18 tokens" in NAMED["figure-3"].finding
    assert "With two tokens" in NAMED["figure-11"].finding
    assert stability(NAMED["figure-11"].state.system()).neutral_modes == 2
    assert growing(NAMED["figure-11"], 2) == 0


def test_the_cycle_of_figure_7_closes_and_falls_with_one_more_token():
    """To the worst cycle, in which all requests are of one age."""
    state = NAMED["figure-7"].state
    start = [list(start_masses(state))]
    masses = start
    for _ in range(4):
        masses = iterate(state.system(), masses).state
    assert masses == start
    more = replace(state, capacity=state.capacity + 1)
    masses = [list(start_masses(more))]
    for _ in range(more.iterations):
        masses = iterate(more.system(), masses).state
    assert sum(mass > 0 for mass in masses[0]) == 1


def last_half(name: str) -> tuple[np.ndarray, float, float]:
    """Of a preset's run from an empty server: what is preempted in each iteration; throughput over
    the balance's; preemptions per completed request."""
    state = NAMED[name].state
    assert state.start == "empty"
    system = state.system()
    start = np.zeros((len(system.workload.classes), system.workload.longest_decode))
    found = simulate(
        system, start, iterations=state.iterations, record=("completed", "evicted")
    ).isel(batch=0, iteration=slice(state.iterations // 2, None))
    completed, evicted = (
        flow.sum([each for each in flow.dims if each != "iteration"]).values
        for flow in (found.completed, found.evicted)
    )
    rate = float(stability(system).equilibrium.rate)
    return evicted, completed.mean() / rate, evicted.sum() / completed.sum()


@pytest.mark.parametrize(
    ("name", "period"),
    [("figure-21a", 20), ("figure-21b", 25), ("figure-27a", 5), ("figure-27b", 6)],
)
def test_all_but_one_iteration_of_a_period_preempt(name, period):
    evicted, _, _ = last_half(name)
    none = np.flatnonzero(evicted < 1e-9 * evicted.max())
    assert set(np.diff(none)) == {period}
    assert len(none) >= len(evicted) // period
    assert f"preempted in {period - 1} of every {period} iterations" in NAMED[name].finding
    after = none[none + period < len(evicted)] + 1
    assert [np.argmax(evicted[at : at + period - 1]) for at in after] == [0] * len(after)


def test_a_pool_of_figure_23_loses_less_throughput_than_either_part():
    (_, first, _), (_, second, _), (evicted, pooled, _) = map(
        last_half, ("figure-23a", "figure-23b", "figure-23c")
    )
    assert max(first, second) < pooled < 1
    assert evicted[-25:].max() > 0


def test_a_pool_of_figure_21_preempts_less_and_one_of_figure_27_not_at_all():
    first, second, pooled = (last_half(f"figure-21{part}")[2] for part in "abc")
    assert 0 < pooled < min(first, second)
    assert last_half("figure-27c")[0].max() == 0


@pytest.mark.parametrize("preset", PRESETS, ids=lambda each: each.name)
def test_a_preset_fits_the_page(preset):
    """Its start is on or below the memory boundary; what it says is a sentence."""
    system = preset.state.system()
    classes = system.workload.classes
    held = sum(
        c.share * y * (c.input_length + 1 + age)
        for c in classes
        for age, y in enumerate(start_masses(preset.state)[: c.decode_length])
    )
    assert 0 <= held <= system.capacity
    assert re.match(r"[A-Z].*\.$", preset.finding)
