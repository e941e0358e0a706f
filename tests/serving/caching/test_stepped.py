"""As machine code the engine is what it is in Python, iteration by iteration and bit by bit."""

from collections import Counter
from typing import Any

import pytest

from fluidkv.runs.requests import Requests
from fluidkv.serving.caching.names import BlockNames
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.counts import WITH_CACHE
from fluidkv.serving.engines import VLLM
from fluidkv.serving.limits import Limits
from fluidkv.serving.rules import Victim
from fluidkv.serving.stepped import Engine
from tests.serving.caching.cases import KINDS, Case, Kind, compiled, drawn, literal, with_victims

OF_REQUESTS = (
    *("index", "outputs", "computed", "evictions", "hit_tokens", "first_hit_tokens"),
    *("arrival", "admitted_at", "first_token_at", "last_token_at", "longest_gap", "finished"),
)


def state(engine: Engine) -> dict[str, Any]:
    """What both know after an iteration."""
    return {
        "now": engine.now,
        "done": engine.done,
        "idle": engine.idle,
        "admissions": engine.admissions,
        "preempted": engine.preempted,
        "finished": engine.finished,
        "running": [request.index for request in engine.running],
        "waiting": [request.index for request in engine.waiting],
        "found": [engine.found(request.index) for request in engine.waiting],
        "requests": [[getattr(r, name) for name in OF_REQUESTS] for r in engine.all],
    }


def compare(case: Case, seed: int) -> Counter[str]:
    """Both to the end; what happened on the way."""
    seen = Counter[str]()
    plain, fast = literal(*case.given), compiled(*case.given)
    while plain.done < len(plain.all):
        counts = plain.step()
        assert (seed, fast.step()) == (seed, counts)
        assert tuple(counts) == WITH_CACHE
        assert (seed, state(fast)) == (seed, state(plain))
        assert fast.line == plain.line
        seen.update({name: counts[name] for name in ("preempt", "evicted_blocks", "found_tokens")})
        seen["copies"] += counts["cached_blocks"] - counts["distinct_blocks"]
        assert counts["sched_reqs"] == counts["running"]  # the budget is never short of decodes
        seen["blocked"] += bool(counts["waiting"])
        seen["recomputed"] += counts["recomputed_tokens"]
        assert plain.iteration < 20_000
    return seen


def test_compiled_is_literal_whoever_goes() -> None:
    seen, victims = Counter[str](), Counter[Victim]()
    for seed in range(1000, 1200):
        case = with_victims(drawn(seed), seed)
        victims[case.rules.victim] += 1
        seen.update(compare(case, seed))
    assert set(Victim) <= victims.keys()
    assert min(victims.values()) > 5
    assert len(seen) == 6
    assert min(seen.values()) > 100


@pytest.mark.parametrize("kind", KINDS)
def test_nobody_goes_for_one_that_has_gone_itself(kind: Kind) -> None:
    """The long prompt held one block, and it asked for more than what that leaves."""
    limits = Limits(80, max_num_batched_tokens=41)
    requests = Requests([20, 20, 40], [9, 9, 3])
    engine = kind(requests, None, VLLM, limits, IterationClock.iterations())
    assert [engine.step()["preempt"] for _ in range(2)] == [0, 1]
    assert engine.preempted == [2]


@pytest.mark.thorough
@pytest.mark.parametrize("thousand", range(10))
def test_compiled_is_literal_on_ten_thousand_runs(thousand: int) -> None:
    for seed in range(1000 * thousand, 1000 * (thousand + 1)):
        compare(drawn(seed), seed)
        compare(with_victims(drawn(seed), seed), seed)


def test_blocks_have_one_name_just_where_the_text_up_to_there_is_one() -> None:
    from fluidkv.prefix.pieces import cut, length

    for seed in range(60):
        prompts = drawn(seed).prompts
        for size in (1, 3, 4):
            names = BlockNames(prompts, size)
            said: dict[int, Any] = {}
            for index, text in enumerate(prompts.paths):
                row = names.of(index)
                assert len(row) == length(text) // size
                for place, name in enumerate(row):
                    assert said.setdefault(name, cut(text, 0, (place + 1) * size)) == cut(
                        text, 0, (place + 1) * size
                    )
            assert len(set(said.values())) == len(said) == len(names)
