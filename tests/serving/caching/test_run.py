"""Runs with a prefix cache as users ask for them: one call, a dataset."""

import re
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from fluidkv.errors import InputError
from fluidkv.prefix.pieces import content
from fluidkv.prefix.prompts import Prompts, private
from fluidkv.runs.requests import Requests
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.engine_text import ServedEngine
from fluidkv.serving.engines import RESTART, VLLM, engine, served_engine
from fluidkv.serving.limits import Limits
from fluidkv.serving.rules import Allocation, Victim
from fluidkv.serving.run import serve
from fluidkv.serving.running import engine as kernel_engine
from fluidkv.serving.server import Server
from tests.serving.caching.cases import compiled, drawn, literal, with_victims

CLOCK = IterationClock(1.0, 0.0, 0.1)
ADDED = ["cached_blocks", "distinct_blocks", "evicted_blocks", "found_tokens"]
OF_REQUESTS = ["hit_tokens", "first_hit_tokens"]


def test_prompts_that_begin_alike_are_found() -> None:
    """Three requests, two of which say the same: ten tokens, two blocks of four are found."""
    prompts = Prompts([content([[1, 10]])] * 2 + [content([[2, 10]])], [content([[3, 2]])] * 3)
    requests = Requests([10] * 3, [2] * 3, arrival=[0, 1, 1])
    run = serve(requests, Server("vllm+cache", Limits(100, 4), prompts=prompts), every=2)
    assert run.hit_tokens.values.tolist() == run.first_hit_tokens.values.tolist() == [[0, 8, 0]]
    assert run.found_tokens.values.tolist() == [[8, 0]]  # in two windows of two iterations
    assert run.tokens.sum() == 3 * 11 - 8
    assert (run.hit_tokens.dims, run.cached_blocks.dims) == (("run", "request"), ("run", "window"))
    alone = serve(requests, Server("vllm+cache", Limits(100, 4)))
    assert alone.hit_tokens.sum() == 0


@pytest.mark.parametrize("every", [1, 7, 1000])
def test_backends_agree_and_nothing_is_read_that_was_not_written(
    every: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tables of several lengths in a batch, each victim and queue; some runs are cut off."""
    found_tokens = 0
    for name in ("new_space", "new_times", "new_blocks", "new_found"):
        monkeypatch.setattr(kernel_engine, name, _full_of_sevens(getattr(kernel_engine, name)))
    for seed in range(30):
        cases = [drawn(each) for each in range(5 * seed, 5 * seed + 5)]
        cases = [case for case in cases if case.clock.unit == cases[0].clock.unit]
        fields = ("limits", "clock", "prompts")
        several: dict[str, Any] = {name: [getattr(each, name) for each in cases] for name in fields}
        engine = ServedEngine(with_victims(cases[0], seed).rules, caching=True)
        kernel, plain = (
            serve(
                [case.requests for case in cases],
                Server(engine, **several, backend=backend),
                clients=[case.clients for case in cases],
                every=every,
                iterations=30 + 20 * seed,
                keep_requests=seed % 3 > 0,
            )
            for backend in ("kernel", "reference")
        )
        assert kernel.identical(plain), seed
        found_tokens += kernel.found_tokens.sum().item()
    assert found_tokens > 1000


def _full_of_sevens(new: Callable[..., Any]) -> Callable[..., Any]:
    """Space, in which whatever may be written to has been."""

    def space(*given: Any, **options: Any) -> Any:
        made = new(*given, **options)
        shared = ("names", "first", "arrival", "times")
        own = [getattr(made, name) for name in getattr(made, "_fields", ()) if name not in shared]
        for column in own or [made]:
            column.view(np.uint8)[:] = 1 if column.dtype == bool else 7
        return made

    return space


def test_memory_that_nobody_can_fill_costs_nothing() -> None:
    """The kernel's blocks of 10^9 tokens would take 24 GB."""
    requests = Requests([12, 9], [2, 5], arrival=[0, 1])
    rules, clock = engine("vllm"), IterationClock.iterations()
    server = compiled(requests, None, rules, Limits(10**9), clock)
    assert server.blocks is not None
    assert server.blocks.line.nbytes < 10_000
    plain = literal(requests, None, rules, Limits(1000), clock)
    assert [server.step() for _ in range(7)] == [plain.step() for _ in range(7)]
    assert server.done == plain.done == 2


def test_runs_that_are_done_keep_their_own_windows_alone() -> None:
    requests, limits = Requests([4, 6], [3, 9]), [Limits(30)] * 100
    serve(
        requests, Server(ServedEngine(VLLM, caching=True), limits[0], backend="kernel")
    )  # compiled before memory is watched
    tracemalloc.start()
    try:
        serve(requests, Server(ServedEngine(VLLM, caching=True), limits, backend="kernel"))
        assert tracemalloc.get_traced_memory()[1] < 50e6  # 16,384 windows of one run are 2.5 MB
    finally:
        tracemalloc.stop()


def test_what_the_kernel_cannot_hold_goes_elsewhere() -> None:
    """As without a cache; two requests, the last of which goes by the share of its outputs."""
    requests = Requests([40] * 6, [30] * 6, max_output=[2**32 + 40 * each for each in range(6)])
    rules, limits = replace(VLLM, victim=Victim.COST_AWARE), Limits(200)
    plain = serve(requests, Server(ServedEngine(rules, caching=True), limits, backend="reference"))
    assert plain.preempt.sum() > 0
    assert serve(requests, Server(ServedEngine(rules, caching=True), limits)).identical(plain)
    with pytest.raises(InputError, match="backend: got 'kernel'; allowed: 'reference'"):
        serve(requests, Server(ServedEngine(rules, caching=True), limits, backend="kernel"))
    with pytest.raises(InputError, match=r"requests: got .* or compiled=False"):
        compiled(requests, None, rules, limits, CLOCK)


def test_ample_memory_and_nobody_alike_is_no_cache() -> None:
    rng = np.random.default_rng(0)
    for size in (1, 3, 16):
        requests = Requests(rng.integers(1, 20, 12), rng.integers(1, 20, 12))
        limits = Limits(size * 12 * 40, size)
        cached = serve(requests, Server("vllm+cache", limits, clock=CLOCK))
        plain = serve(requests, Server("vllm", limits, clock=CLOCK, backend="reference"))
        assert cached.hit_tokens.sum() == 0
        assert cached.drop_vars(ADDED + OF_REQUESTS).equals(plain.drop_vars("copied_tokens"))


def test_private_prompts_are_what_no_prompts_mean() -> None:
    for seed in range(20):
        case = drawn(seed)
        server = Server(ServedEngine(case.rules, caching=True), case.limits, CLOCK)
        told = replace(server, prompts=private(case.requests))
        assert serve(case.requests, server).identical(serve(case.requests, told))


def test_a_token_is_computed_once_or_found_or_computed_again() -> None:
    """Each request needs its input and all outputs but the last, and again what it lost."""
    for seed in range(40):
        case = drawn(seed)
        run = serve(
            case.requests, Server(ServedEngine(case.rules, caching=True), case.limits, clock=CLOCK)
        )
        needed = int((case.requests.input_length + case.requests.output_length - 1).sum())
        assert int(run.tokens.sum()) == needed + int(run.recomputed_tokens.sum())
        assert int(run.found_tokens.sum()) == int(run.hit_tokens.sum())


def test_a_horizon_and_clients() -> None:
    requests = Requests([5] * 6, [4] * 6)
    short = serve(requests, Server("vllm+cache", Limits(40, 2)), iterations=3)
    assert (short.status.item(), short.iterations.item()) == ("HORIZON", 3)
    two = serve(requests, Server("vllm+cache", Limits(40, 2)), clients=2)
    assert two.running.max() == 2
    assert serve(
        requests, Server("vllm+cache", Limits(40, 2)), keep_requests=False
    ).sizes.keys() == {
        "run",
        "window",
    }


@pytest.mark.parametrize(
    ("engine", "fields", "said"),
    [
        ("vllm", {"prompts": True}, "prompts: got 'given'; allowed: None, or an engine with a"),
        ("vllm+cache", {"prompts": 3}, "prompts: got 3; allowed: Prompts, a sequence"),
        ("vllm+cache", {"prompts": "fewer"}, "prompts: got '1 prompts'; allowed: the 2 requests"),
        ("vllm+cache", {"prompts": "longer"}, "prompts: got 'input_length 6 in request 1'; allow"),
        ("restart+cache", {}, "engine: got 'restart+cache'; allowed: vllm+cache, vllm-0"),
        ("no+cache", {}, "engine: got 'no+cache'; allowed: vllm+cache, vllm-0.11+cache, vllm-pri"),
        (None, {}, "engine: got None; allowed: one of restart, vllm"),
        (
            "sglang+cache",
            {"limits": Limits(40, 4, max_num_batched_tokens=3)},
            "max_num_batched_tokens: got 3; allowed: at least a block of 4",
        ),
        ("vllm+cache", {"start": [1]}, "start: got '1 requests'; allowed: none, with a cache"),
        (
            "vllm+cache",
            {"backend": "jax"},
            "backend: got 'jax'; allowed: 'auto', 'kernel' or 'reference'",
        ),
        ("vllm+cache", {"iterations": 0}, "iterations: got 0"),
        (
            "vllm+cache",
            {"limits": Limits(40, admission_rate=1)},
            "admission_rate: got 1; allowed: None, with a cache",
        ),
        ("vllm+cache", {"limits": Limits(4)}, "capacity: got 4; allowed: memory for request 0"),
    ],
)
def test_what_is_not_modelled_is_refused(engine, fields, said) -> None:
    requests = Requests([5, 5], [4, 4])
    other = {
        True: private(requests),
        "fewer": private(Requests([5], [4])),
        "longer": private(Requests([5, 6], [4, 4])),
    }
    given = {"limits": Limits(40, 2)} | fields
    given |= {"prompts": other.get(given.get("prompts"), given.get("prompts"))}
    how = {name: given.pop(name) for name in ("start", "iterations") if name in given}
    with pytest.raises(InputError, match="^" + re.escape(said)):
        serve(requests, Server(engine, **given), **how)


def test_rules_alone_have_no_cache_and_say_who_takes_it() -> None:
    with pytest.raises(InputError, match=r"^engine: .*; allowed: sglang, its rules alone; `serve`"):
        engine("sglang+cache")


def test_a_name_with_cache_is_what_serve_takes() -> None:
    requests, limits = Requests([5, 5], [4, 4]), Limits(40, 2)
    for name in ("vllm", "sglang"):
        cached = serve(requests, Server(f"{name}+cache", limits)).drop_vars("capacity")
        served = ServedEngine(served_engine(name).rules, caching=True)
        assert serve(requests, Server(served, limits)).drop_vars("capacity").identical(cached)


def test_rules_of_other_engines_have_no_cache() -> None:
    with pytest.raises(InputError, match=r"^engine: .*one of vLLM's rules, for a prefix cache"):
        serve(
            Requests([2], [2]), Server(ServedEngine(RESTART, caching=True), Limits(20), clock=CLOCK)
        )


def test_a_grant_beside_a_cache_is_refused_and_not_ignored() -> None:
    rules = replace(VLLM, allocation=Allocation.ESTIMATE_THEN_MORE)
    with pytest.raises(InputError, match=r"^engine: .*one of vLLM's rules, for a prefix cache"):
        serve(
            Requests([2], [2]), Server(ServedEngine(rules, caching=True), Limits(20), clock=CLOCK)
        )
