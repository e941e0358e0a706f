"""The compiled engine equals the literal one where caches are copied to the host and back."""

from dataclasses import replace
from itertools import product

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fluidkv.runs.requests import Requests
from fluidkv.serving.arrays import RunArrays
from fluidkv.serving.compiled.engine import run_engine
from fluidkv.serving.engines import VLLM
from fluidkv.serving.limits import UNLIMITED, Limits
from fluidkv.serving.literal import run_literally
from fluidkv.serving.reference import COUNTS
from fluidkv.serving.rules import Allocation, EngineRules, Gate, Requeue, Restore, Victim
from fluidkv.serving.run import serve
from fluidkv.serving.swap import Swap
from tests.serving.compiled.engine_runs import assert_equal, crowds
from tests.serving.strategies import batches, engine_rules

SWAP = replace(VLLM, restore=Restore.SWAP, in_turn=False)
SOME = (  # each is a compilation of some seconds
    replace(SWAP, gate=Gate.FIRST_CHUNK),
    replace(SWAP, victim=Victim.MOST_OUTPUTS, requeue=Requeue.TAIL, prefill_alone=True),
)
OTHERS = (
    replace(SWAP, allocation=Allocation.ESTIMATE_THEN_DOUBLE),
    replace(SWAP, allocation=Allocation.ESTIMATE_THEN_MORE, victim=Victim.LEAST_COMPUTED),
    replace(SWAP, requeue=Requeue.BY_PRIORITY, victim=Victim.LOOSEST_OBJECTIVE, in_turn=True),
    replace(SWAP, victim=Victim.RANDOM, in_turn=True),
)
ALL = tuple(
    replace(
        SWAP,
        victim=victim,
        requeue=requeue,
        gate=gate,
        prefill_alone=order == "alone",
        newcomers_first=order == "newcomers",
        in_turn=victim is Victim.FEWEST_OUTPUTS and order != "newcomers",
    )
    for victim, requeue, (gate, order) in product(
        (Victim.LAST_ADMITTED, Victim.FEWEST_OUTPUTS, Victim.MOST_BLOCKS),
        (Requeue.HEAD, Requeue.TAIL),
        (
            (Gate.FIRST_CHUNK, "together"),
            (Gate.FULL_INPUT, "together"),
            (Gate.PEAK, "together"),
            (Gate.RATIO, "together"),
            (Gate.FULL_INPUT, "alone"),
            (Gate.RATIO, "alone"),
            (Gate.FIRST_CHUNK, "newcomers"),
            (Gate.FULL_INPUT, "newcomers"),
        ),
    )
)


@pytest.fixture
def compiled_code_is_let_go_at_once():
    yield
    jax.clear_caches()


def label(rules: EngineRules) -> str:
    order = ("alone",) * rules.prefill_alone + ("newcomers",) * rules.newcomers_first
    order += (rules.allocation.name,) * (rules.allocation is not Allocation.BY_BLOCK)
    return "-".join((rules.victim.name, rules.requeue.name, rules.gate.name, *order))


def draw_and_check(data: st.DataObject, rules: EngineRules) -> None:
    rules, arrays = data.draw(engine_rules(rules)), data.draw(batches())
    jumps, iterations = data.draw(st.booleans()), data.draw(st.sampled_from([9, 120]))
    assert_equal(
        run_engine(rules, arrays, jumps=jumps, iterations=iterations),
        run_literally(rules, arrays, jumps=jumps, iterations=iterations),
    )


@pytest.mark.parametrize("rules", SOME, ids=label)
@settings(max_examples=max(4, settings().max_examples // 16))
@given(data=st.data())
def test_every_row_and_request_equals_the_literal_engine(rules, data):
    draw_and_check(data, rules)


@pytest.mark.thorough
@pytest.mark.usefixtures("compiled_code_is_let_go_at_once")
@pytest.mark.parametrize("rules", ALL + OTHERS, ids=label)
@settings(max_examples=27)  # times 52 sets of rules and 8 runs a batch: 11,232 settings
@given(data=st.data())
def test_every_set_of_rules_that_swaps_equals_the_literal_engine(rules, data):
    draw_and_check(data, rules)


@pytest.mark.parametrize("restore", [Restore.SWAP, Restore.CHEAPER])
def test_crowds_are_copied_out_and_back(restore):
    """Many victims in one iteration, pools that fill up, buses shared and not."""
    arrays = _with_a_bus(crowds(3))
    rules = replace(SOME[0], restore=restore)
    records = run_engine(rules, arrays, jumps=True, iterations=2000)
    assert_equal(records, run_literally(rules, arrays, jumps=True, iterations=2000))
    copied, recomputed = (
        records.counts[:, :, COUNTS.index(name)].sum(axis=1)
        for name in ("copied_tokens", "recomputed_tokens")
    )
    assert (copied > 0).all()
    assert (recomputed[arrays.pool == 12] > 0).all()
    assert (recomputed[arrays.pool > 12] == 0).all() == (restore is Restore.SWAP)


@pytest.mark.parametrize("spot", [2**30, 2**32])
def test_a_sweet_spot_above_all_lengths_swaps_nobody(spot):
    """Also one of more than 32 bits, which the compiled engine does not count in."""
    table, limits = Requests([3, 3], [5, 5]), Limits(9, swap=Swap(0.5, sweet_spot=spot))
    rules = replace(SOME[0], restore=Restore.CHEAPER)
    for backend in ("jax", "reference"):
        run = serve(table, rules, limits, backend=backend)
        assert (run.preempt.sum(), run.copied_tokens.sum()) == (1, 0)


def _with_a_bus(arrays: RunArrays) -> RunArrays:
    size = arrays.requests.size
    rng = np.random.default_rng(0)
    return arrays._replace(
        arrival=np.zeros_like(arrays.arrival),
        blocks=120 // arrays.block_size,
        watermark_blocks=np.zeros(size, np.int64),
        sequences=np.full(size, UNLIMITED),
        rate=np.array([(0, 1)] * size),
        copying=rng.uniform(0, 0.3, (size, 2)),
        pool=np.where(np.arange(size) % 2, arrays.pool, 12),
        shared=np.arange(size) % 4 < 2,
        sweet_spot=np.where(np.arange(size) < 4, 0, 9),
    )
