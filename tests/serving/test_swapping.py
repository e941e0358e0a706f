"""How an evicted request's cache comes back by a copy: by hand, and laws of every run."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fluidkv.errors import InputError
from fluidkv.runs.requests import Requests
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.engines import ENGINES, RESTART, VLLM
from fluidkv.serving.limits import Limits
from fluidkv.serving.rules import EngineRules, Keeps, Restore
from fluidkv.serving.run import serve
from fluidkv.serving.server import Server
from fluidkv.serving.stepped import Engine
from fluidkv.serving.swap import Swap

SWAP = replace(VLLM, restore=Restore.SWAP)
BUS = Swap(per_token=0.5, per_copy=1.0)
"""A copy of 4 tokens lasts 3."""


def test_a_victim_is_copied_out_and_back():
    """Two of 3 + 5 tokens in a memory of 9, an iteration a second.

    At 2 both hold 4 and ask for 10: the second one goes, and the copy of its 4 tokens lasts to 5,
    when the first goes on. At 8 it is done, and the other is copied back to 11. Its next token is
    there at 12, 10 after it was halted.
    """
    requests = Requests([3, 3], [5, 5])
    engine = Engine(requests, Server(SWAP, Limits(9, swap=BUS), IterationClock(1.0)))
    rows, times = [], []
    while engine.done < 2:
        rows.append(engine.step())
        times.append(engine.now)
    assert times == [1, 2, 6, 7, 8, 11, 12, 13, 14]
    assert [row["copied_tokens"] for row in rows] == [0, 0, 4, 0, 0, 4, 0, 0, 0]
    assert [row["running"] for row in rows] == [2, 2, 1, 1, 1, 1, 1, 1, 1]
    assert [row["tokens"] for row in rows] == [6, 2, 1, 1, 1, 0, 1, 1, 1]
    assert sum(row["recomputed_tokens"] for row in rows) == 0
    assert [request.halted for request in engine.all] == [0, 10]


def test_computing_again_halts_for_less_here():
    """At 8 its 5 tokens are computed again, and emit: 7 after it was halted at 2... at 3 + 6."""
    run = serve(Requests([3, 3], [5, 5]), Server(VLLM, Limits(9), clock=IterationClock(1.0)))
    assert run.time.values[0].tolist() == [1, 2, 3, 4, 5, 6, 7, 8]
    assert run.halted.values[0].tolist() == [0, 6 - 2]
    assert run.recomputed_tokens.sum() == 4


def test_half_a_prompt_is_kept():
    """A prompt of 6 in chunks of 2 beside one that grows; it needs 4 where 3 are free."""
    limits = Limits(8, max_num_batched_tokens=3, swap=BUS)
    rules = replace(SWAP, gate=ENGINES["vllm-0.11"].gate)
    run = serve(
        Requests([3, 6], [5, 2], arrival=[0, 0.5]), Server(rules, limits, clock=IterationClock(1))
    )
    assert run.preempt.sum() == 1
    assert run.copied_tokens.values[0].nonzero()[0].tolist() == [2, 5]
    assert run.copied_tokens.sum() == 2 + 2
    assert run.recomputed_tokens.sum() == 0
    assert bool(run.finished.all())


def test_a_restart_has_nothing_to_copy():
    with pytest.raises(InputError, match="restore: got 'SWAP'; allowed: RECOMPUTE"):
        replace(RESTART, restore=Restore.SWAP)


@st.composite
def engines(draw: st.DrawFn) -> Engine:
    lengths = st.tuples(st.integers(1, 9), st.integers(1, 9))
    inputs, outputs = zip(*draw(st.lists(lengths, min_size=1, max_size=10)), strict=True)
    rules = draw(st.sampled_from([r for r in ENGINES.values() if _can_swap(r)]))
    rules = replace(rules, restore=draw(st.sampled_from([Restore.SWAP, Restore.CHEAPER])))
    limits = Limits(
        max(i + o for i, o in zip(inputs, outputs, strict=True)) + draw(st.integers(0, 9)),
        max_num_batched_tokens=draw(st.none() | st.integers(1, 12)),
        swap=Swap(
            draw(st.sampled_from([0.0, 0.3])),
            draw(st.sampled_from([0.0, 1.0])),
            pool=draw(st.none() | st.integers(0, 20)),
            sweet_spot=draw(st.integers(0, 5)),
            shared=draw(st.booleans()),
        ),
    )
    return Engine(Requests(inputs, outputs), Server(rules, limits, IterationClock(1.0)))


def _can_swap(rules: EngineRules) -> bool:
    return rules.keeps is Keeps.OUTPUTS and not rules.newcomers_first


@given(engines())
def test_the_host_holds_who_is_away_and_never_more_than_its_pool(engine):
    rows = []
    while engine.done < len(engine.all):
        rows.append(engine.step())
        assert engine.batch.runs[0].held == sum(request.kept for request in engine.all)
        assert engine.batch.runs[0].held <= engine.limits.swap.tokens
        assert sum(request.blocks for request in engine.running) <= engine.limits.blocks
        assert len(rows) < 5000
    assert engine.batch.runs[0].held == 0
    tokens, again = (sum(row[name] for row in rows) for name in ("tokens", "recomputed_tokens"))
    inputs, outputs = engine.requests.input_length, engine.requests.output_length
    assert tokens == (inputs + outputs - 1).sum() + again
    if engine.rules.restore is Restore.SWAP and engine.limits.swap.pool is None:
        assert again == 0
