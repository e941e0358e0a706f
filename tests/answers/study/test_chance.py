"""What a study says of chance: against whole requests that are drawn, and by what is held."""

from fractions import Fraction

import numpy as np
import pytest

import fluidkv as fk
from fluidkv.answers.study.chance import (
    FASTEST_MODE,
    FEWEST_BEHIND_WINDOWS,
    FEWEST_RUNNING,
    LONGEST_TAIL,
    SLOWEST_MODE,
    Holding,
    chance,
    layers_kept,
)
from fluidkv.answers.study.page import chance_rows
from fluidkv.footprints import SlidingWindow, StateSpace
from fluidkv.serving.machines.layers import layers_named
from fluidkv.verdict import Stability
from tests.cli.answered import answer_of

ASKED = ("study", "--class", "100:24", "--capacity", "6000")
MIX = fk.Workload.from_lengths([(150 + 37 * k % 400, 5 + k) for k in range(36)])


@pytest.mark.thorough
def test_swings_and_evictions_are_those_of_drawn_requests() -> None:
    system = fk.System(MIX, 30_000)
    found = chance(system)
    server = fk.FullServer(fk.footprint_of(MIX), system.capacity)
    runs = fk.simulate_footprints(server, iterations=3000, runs=40)
    assert runs.running.std() == pytest.approx(found.running_std, rel=0.15)
    rate = (runs.free < 0).mean()
    assert found.evictions_per_iteration is not None
    assert rate / 1.5 < found.evictions_per_iteration < 1.5 * rate
    assert found.rare_from is not None
    assert found.rare_from > system.capacity
    assert found.first_eviction == pytest.approx(1 / found.evictions_per_iteration)


@pytest.mark.thorough
def test_requests_alike_swing_without_end_and_drafts_cure_them() -> None:
    system = fk.System(fk.Workload.from_lengths([(100, 24)]), 60_000)
    plain, drafts = (
        chance(system),
        chance(system, Holding(speculation=fk.Speculation(3, Fraction(3, 10)))),
    )
    assert plain.stability.verdict is Stability.UNSTABLE
    assert plain.running_std is plain.evictions_per_iteration is plain.rare_from is None
    assert plain.first_eviction is not None
    assert drafts.stability.verdict is Stability.STABLE
    assert drafts.running_std is not None
    assert "too near the boundary" in drafts.no_tail


def test_the_rest_of_the_layers_keeps_every_token() -> None:
    half = Fraction(1, 2)
    layers = Holding(((half, SlidingWindow(40)), (Fraction(1, 4), StateSpace(8)))).attention
    # 1/2 of 40, 1/4 of 8, 1/4 of 100 tokens
    assert Fraction(int(layers.held(np.array([100]))[0]), layers.unit) == 47


def test_long_lives_have_swings_and_no_tail() -> None:
    long = fk.Workload.from_lengths([(100, LONGEST_TAIL), (100, LONGEST_TAIL + 1)])
    found = chance(fk.System(long, 60_000))
    assert found.evictions_per_iteration is found.first_eviction is None


def test_what_takes_minutes_to_show_is_not_waited_for() -> None:
    """As a measured log of 242 classes, with a mode at 1.0006: the first eviction took minutes."""
    lengths = [(70 + 7 * k % 60, 89 + k % 79) for k in range(240)]
    slow = chance(fk.System(fk.Workload.from_lengths(lengths), 6_400))
    assert slow.stability.verdict is Stability.UNSTABLE
    assert slow.stability.spectral_radius[0] < FASTEST_MODE
    assert slow.first_eviction is None
    assert slow.no_tail == "no mode grows by 0.5% an iteration"
    ((_, row),) = chance_rows(slow)
    assert str(row).endswith("when that evicts is not computed: no mode grows by 0.5% an iteration")


def test_the_command_says_it_of_the_server_that_is_asked_about(
    capsys: pytest.CaptureFixture[str],
) -> None:
    drafts = ["--speculative", "3:0.6", "--sliding-window", "64:1/2"]
    found = answer_of(capsys, *ASKED, "--iterations", "50", *drafts)
    noise = found["noise"]
    assert noise["holds"] == (
        "50% of layers with a window of 64; 3 drafts an iteration, 2.18 tokens on average"
    )
    assert noise["verdict"] == "stable"
    assert found["stability"]["verdict"] == "unstable"
    assert noise["running_std"] > 0


@pytest.mark.thorough
def test_few_requests_of_many_inputs_evict_as_drawn_ones_do() -> None:
    found = chance(fk.System(MIX, 8_000))
    assert found.running < FEWEST_RUNNING
    runs = fk.simulate_footprints(found.stability.server, iterations=20_000, runs=4)
    assert found.evictions_per_iteration == pytest.approx((runs.free < 0).mean(), rel=0.2)


@pytest.mark.parametrize(
    ("holding", "lengths", "why"),
    [
        (Holding(), [(300, n) for n in range(5, 41)], "too regularly"),
        (
            Holding(((Fraction(1, 2), SlidingWindow(64)),)),
            [(c.input_length, c.decode_length) for c in MIX.classes],
            f"fewer than {FEWEST_BEHIND_WINDOWS} running",
        ),
    ],
)
def test_where_an_estimate_was_wrong_no_number_of_evictions_is_given(
    holding: Holding, lengths: list[tuple[int, int]], why: str
) -> None:
    found = chance(fk.System(fk.Workload.from_lengths(lengths), 8_000), holding)
    assert why in found.no_tail
    assert found.running_std is not None
    assert found.evictions_per_iteration is found.rare_from is found.first_eviction is None


def test_near_the_boundary_no_number_of_evictions_is_given() -> None:
    """There the linear map is left, and the estimate is too high by up to ten times."""
    near = fk.System(fk.Workload.from_lengths([(200, 8), (250, 17), (300, 30), (400, 21)]), 20_000)
    found = chance(near)
    assert found.stability.verdict is Stability.STABLE
    assert found.stability.spectral_radius[1] > SLOWEST_MODE
    assert found.evictions_per_iteration is found.rare_from is found.first_eviction is None
    assert found.running_std is not None


@pytest.mark.parametrize(
    ("model", "length", "held"),
    [
        ("openai/gpt-oss-20b", 4000, Fraction(4000 + 128, 2)),
        ("openai/gpt-oss-120b", 100, 100),
        ("google/gemma-3-27b-it", 4000, Fraction(10 * 4000 + 52 * 1024, 62)),
        ("meta-llama/Llama-4-Scout-17B-16E-Instruct", 10_000, Fraction(10_000 + 3 * 8192, 4)),
        ("mistralai/Mistral-7B-Instruct-v0.1", 10_000, 4096),
        ("mistralai/Mistral-7B-Instruct-v0.3", 10_000, 10_000),
        ("Qwen/Qwen3-Next-80B-A3B-Thinking", 12, Fraction(12 + 3 * 536, 4)),
    ],
)
def test_a_model_says_what_its_layers_keep(model: str, length: int, held: Fraction) -> None:
    """By hand from the published configurations."""
    kept = Holding(layers_kept(layers_named(model))).attention
    assert Fraction(int(kept.held(np.array([length]))[0]), kept.unit) == held


def test_a_model_and_the_same_layers_as_options_are_one_server(
    capsys: pytest.CaptureFixture[str],
) -> None:
    asked = ("study", "--class", "400:24", "--capacity", "60000", "--iterations", "50")
    named = answer_of(capsys, *asked, "--model", "gpt-oss-20b")["noise"]
    assert named == answer_of(capsys, *asked, "--sliding-window", "128:1/2")["noise"]
    in_bytes = [
        *asked[:4],
        "2949.12MB",
        *asked[5:],
    ]  # 60,000 tokens of 2 x 24 layers x 8 heads x 64 values of two bytes
    assert named == answer_of(capsys, *in_bytes, "--model", "gpt-oss-20b")["noise"]
