"""A victim and a gate of a user's own: each one function, in every form and at every door."""

import json
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest
from typer.testing import CliRunner

import fluidkv as fk
from fluidkv.cli.app import app
from fluidkv.errors import InputError
from fluidkv.serving.engines import VLLM
from fluidkv.serving.kernel.gates import Entering, Gate
from fluidkv.serving.kernel.victims import Candidate, Victim
from fluidkv.serving.running.own import compiles
from tests.serving.engine_runs import assert_equal, drawn


def longest_prompt(request: Candidate) -> float:
    return request.input + request.outputs / 1000


def half_of_it(head: Entering) -> bool:
    return head.whole <= 2 * head.free


def in_decimals(request: Candidate) -> float:
    """Nothing that a compiler for numbers knows."""
    return float(Decimal(request.index) / 3)


@pytest.fixture
def victim() -> Iterator[Victim]:
    rule = Victim.add(longest_prompt, "the longest prompt")
    yield rule
    rule.remove()


@pytest.fixture
def gate() -> Iterator[Gate]:
    rule = Gate.add(half_of_it, "half of its current length")
    yield rule
    rule.remove()


def test_both_forms_serve_them_alike(victim: Victim, gate: Gate) -> None:
    from fluidkv.serving.running.engine import run_batch

    arrays, evictions = drawn(3), 0
    for rules in (replace(VLLM, victim=victim), replace(VLLM, victim=victim, gate=gate)):
        assert compiles(rules)
        kernel, plain = (
            run_batch(rules, arrays, jumps=True, iterations=200, literally=literally)
            for literally in (False, True)
        )
        assert_equal(kernel, plain)
        evictions += int(kernel.counts[..., 4].sum())
    assert evictions > 10


def test_the_rule_is_what_it_says(victim: Victim) -> None:
    requests = fk.Requests([4, 6, 3], [8, 8, 8])
    for backend in ("kernel", "reference"):
        for engine in ("vllm:victim=longest-prompt", "vllm+cache:victim=longest-prompt"):
            run = fk.serve(requests, fk.Server(engine, fk.Limits(20), backend=backend))
            assert run.evictions.values[0, 1] > 0 == run.evictions.values[0, 2]


def test_a_gate_says_who_enters(gate: Gate) -> None:
    """A prompt of 20 in chunks of 5: with 10 of 24 free half of it fits, and with 10 of 30 not."""
    requests = fk.Requests([10, 20], [8, 8])
    for backend in ("kernel", "reference"):
        server = fk.Server(replace(VLLM, gate=gate), fk.Limits(30, max_num_batched_tokens=5))
        run = fk.serve(requests, replace(server, backend=backend))
        assert run.admitted.values.tolist() == [[0.0, 2.0]]


def test_what_cannot_be_compiled_is_served_literally() -> None:
    rule = Victim.add(in_decimals, "the latest to come, in decimals")
    try:
        server = fk.Server("vllm:victim=in-decimals", fk.Limits(16))
        requests = fk.Requests([4, 4], [8, 8])
        assert not compiles(server.served.rules)
        assert fk.serve(requests, server).evictions.values.tolist() == [[0, 1]]
        with pytest.raises(InputError, match="backend: got 'kernel'"):
            fk.serve(requests, replace(server, backend="kernel"))
    finally:
        rule.remove()


def test_compare_sweep_and_the_command_line_take_a_name(victim: Victim, tmp_path: Path) -> None:
    engines = ["vllm", "vllm:victim=longest-prompt"]
    options = ["--class", "40:60", "--capacity", "2000", "--requests", "60", "--runs", "2"]
    named = [part for name in engines for part in ("--engine", name)]
    command = ["compare", *options, *named, "--rate", "0.5", "--json"]
    said = CliRunner().invoke(app, command)
    assert said.exit_code == 0, said.output
    assert "longest-prompt" in json.dumps(json.loads(said.output))
    settings = {"input_length": 40, "decode_length": 60, "capacity": 800, "requests": 40}
    asked = {"analysis": "serve", "settings": settings, "grid": {"engine": engines}}
    swept = fk.sweep(asked, tmp_path / "store", workers=1)
    assert swept.status.values.tolist() == [1, 1]


def test_a_name_or_a_text_twice_is_refused(victim: Victim) -> None:
    with pytest.raises(InputError, match="function: got 'longest_prompt'"):
        Victim.add(longest_prompt, "another text")
    with pytest.raises(InputError, match="text: got 'most blocks held'"):
        Victim.add(in_decimals, "most blocks held")
    with pytest.raises(InputError, match="rule: got 'LAST_ADMITTED'"):
        Victim.LAST_ADMITTED.remove()


@pytest.mark.parametrize("kind", [Victim, Gate])
def test_what_is_no_function_is_named(kind: type[Victim | Gate]) -> None:
    with pytest.raises(InputError, match="function: got 3; allowed: a function"):
        kind.add(3, "of no use")  # pyright: ignore[reportArgumentType]
