"""What questions refuse in Python, much of which no command line can ask: before anything runs."""

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import pytest

from fluidkv.answers import (
    cache_study,
    compare_engines,
    price_tokens,
    prompted_generator,
    recommend_settings,
    route_study,
    router_of,
    size_server,
    wait_study,
)
from fluidkv.answers.price.brought import generated_attention
from fluidkv.answers.served.demand import Demand, requests_of_run
from fluidkv.answers.served.memory import equilibrium_of
from fluidkv.answers.served.setting import Setting
from fluidkv.answers.served.slo import Slo
from fluidkv.errors import InputError
from fluidkv.routing import Fleet
from fluidkv.runs.max_tokens import max_tokens_of
from fluidkv.serving.clock import IterationClock
from fluidkv.wait.model import PromptType, WaitSystem
from fluidkv.workload import Workload

MIX = Workload.from_lengths([(8, 10), (30, 20)])
CLOCK = IterationClock(0.1, 1e-4, 2e-3)
TTFT = (Slo("ttft_p99", 1.0),)
PROMPTED = prompted_generator("gsp", parameters={"groups": 6, "queries": 5, "lengths": (40, 80)})
TENTH = Fraction(1, 10)
TWO = WaitSystem((PromptType(1, 1, 1), PromptType(1, 1, 2)), TENTH, TENTH)
WEIGHTS = generated_attention("uneven", requests=2, prompt=2, length=(5, 8), seeds=1)
REPLAYED = Demand(replay=True)
RUNS = (
    "served.experiment.measured_cases",
    "price.study.evict",
    "route.study.route_many",
    "wait.study.played_policies",
)
"""What the answers wait for."""


def recommend(**options: Any) -> None:
    few: dict[str, Any] = {"requests": 104, "runs": 2, "backend": "reference"}
    recommend_settings(MIX, 400, **few | options)


def size(slos: Any = TTFT, **options: Any) -> None:
    asked: dict[str, Any] = {"rate": 8.0, "clock": CLOCK, "requests": 20, "runs": 1}
    size_server(MIX, slos, **asked | options)


def compare(*engines: str, **options: Any) -> None:
    few: dict[str, Any] = {"demand": Demand(rate=4.0), "clock": CLOCK, "requests": 40, "runs": 3}
    compare_engines(MIX, 160, engines, block_size=4, **few | options)


def price(budget: int = 6, **options: Any) -> None:
    price_tokens(WEIGHTS, budget, **options)


def wait(capacity: Any = 9, **options: Any) -> None:
    theory: dict[str, Any] = {"simulate": False}
    wait_study(TWO, capacity, **theory | options)


def requests(count: Any, capacity: int = 400, longest: int = 20) -> None:
    requests_of_run(count, Demand(), equilibrium_of(MIX, capacity), longest)


route = partial(route_study, PROMPTED)
cache = partial(cache_study, PROMPTED)
ASKED: list[tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any], str, str]] = [
    # question, arguments -> the argument that is named, and how what is allowed begins
    (recommend, (), {"engine": "nothing"}, "engine", "one of restart, vllm"),
    (
        recommend,
        (),
        {"engine": "sglang", "candidates": {"watermark": [0.1]}},
        "watermark",
        "none: sglang 0.5.",
    ),
    (
        recommend,
        (),
        {"engine": "vllm-0.11", "now": Setting(watermark=0.1)},
        "watermark",
        "none: vllm-0.11 ",
    ),
    (recommend, (), {"candidates": {"clients": [3]}}, "clients", "none: no clients are given"),
    (recommend, (), {"candidates": {"watermark": [1.0]}}, "watermark", "a number in [0, 1)"),
    (recommend, (), {"demand": REPLAYED}, "replay", "together with a clock in seconds"),
    (
        recommend,
        (),
        {"demand": REPLAYED, "clock": IterationClock(0.01)},
        "replay",
        "a trace that has them",
    ),
    (recommend, (), {"slos": [Slo("ttft_p99", 1)]}, "slo", "tpot, longest_gap and rates"),
    (recommend, (), {"requests": 0}, "requests", "an integer from 1 to 100,000"),
    (recommend, (), {"runs": 0}, "runs", "an integer from 1 to 20,000"),
    (recommend, (), {"runs": 10**4}, "runs", "at most 500: 40 settings"),
    (recommend, (), {"demand": Demand(rate=1e-9)}, "rate", "at least 1.04e-05"),
    (
        recommend,
        (),
        {"candidates": {"admission_rate": [Fraction(1, 10**6)]}},
        "admission_rate",
        "at least 1.04e-05",
    ),
    (recommend, (), {"block_size": 500}, "capacity", "at least one block, of 500"),
    (size, ((),), {}, "slos", "at least one bound, such as ttft_p99=2s"),
    (size, (), {"clock": IterationClock(0.01, 1e-6)}, "slo", "another metric; prefill"),
    (size, (), {"find": "gpus"}, "find", "one of kv, rate, replicas"),
    (size, (), {"find": "rate"}, "capacity", "the KV tokens"),
    (size, (), {"find": "rate", "capacity": 40}, "capacity", "memory for request 2,"),
    (size, (), {"rate": None}, "rate", "arrivals a second"),
    (size, (), {"rate": -1.0}, "rate", "a finite number above 0"),
    (size, (), {"within": 0}, "within", "a share above 0 and below 1"),
    (compare, ("vllm",), {}, "engines", "at least 2, to compare"),
    (compare, ("vllm", "vllm"), {}, "engine", "each engine once"),
    (compare, ("vllm", "fcfs-new-first"), {}, "engine", "one under which every run ends"),
    (compare, ("vllm", "vlm"), {}, "engine", "vllm (the nearest)"),
    (
        compare,
        ("vllm", "trtllm-no-evict"),
        {"now": Setting(watermark=0.1)},
        "watermark",
        "0: it has none",
    ),
    (
        compare,
        ("vllm", "trtllm-no-evict"),
        {"demand": Demand(rate=4.0, max_tokens=max_tokens_of("200"))},
        "capacity",
        "memory for request 0,",
    ),
    (
        compare,
        ("vllm", "trtllm-no-evict"),
        {"demand": Demand(rate=4.0, max_tokens=max_tokens_of("15"))},
        "max_tokens",
        "at least the 20 outputs",
    ),
    (compare, ("vllm", "sglang"), {"demand": REPLAYED}, "replay", "a trace that has them"),
    (price, (0,), {}, "budget", "an integer of at least 1"),
    (price, (), {"policies": ["best"]}, "policy", "one of fifo, fifo-pooled"),
    (price, (), {"policies": ["lru", "lru"]}, "policy", "at least one, each once"),
    (price, (), {"policies": []}, "policy", "at least one, each once"),
    (router_of, ("fastest",), {}, "router", "one of random, round-robin"),
    (router_of, ("cache-aware:balance_abs",), {}, "router", "cache-aware with PARAM"),
    (router_of, ("random:x=1",), {}, "router", "random with no"),
    (router_of, ("lbgr:step",), {}, "router", "lbgr with PARAMETER"),
    (router_of, ("lbgr:",), {}, "router", "lbgr with PARAMETER"),
    (router_of, ("lbgr:rate=1,rate=1",), {}, "router", "lbgr with PARAMETER"),
    (router_of, ("lbgr:decay=2",), {}, "decay", "a number above 0 and at most 1"),
    (route, (4,), {}, "fleet", "a Fleet"),
    (route, (Fleet(2, 50),), {}, "capacity", "at least 84 tokens"),
    (route, (Fleet(2, 400), ["lbgr"]), {}, "routers", "a mapping or None"),
    (route, (Fleet(2, 400), {"lbgr": "lbgr"}), {}, "routers", "at least one, by name"),
    (route, (Fleet(2, 400), {}), {}, "routers", "at least one, by name"),
    (route, (Fleet(2, 400),), {"rate": 0.0}, "rate", "a number above 0"),
    (route, (Fleet(2, 400),), {"seeds": 0}, "seeds", "a whole number from 1 to 1,000"),
    (wait, (2,), {}, "capacity", "at least 3 tokens"),
    (wait, (), {"delta": 1, "unknown_lengths": True}, "delta", "a probability in (0, 1)"),
    (wait, (), {"delta": 0, "unknown_lengths": True}, "delta", "an integer or a Fraction above 0"),
    (
        wait,
        (),
        {"delta": 0.5, "unknown_lengths": True},
        "delta",
        "an integer or a Fraction or None",
    ),
    (wait, (), {"delta": Fraction(1, 2)}, "delta", "together with unknown_lengths"),
    (wait, (), {"horizon": Fraction(1, 20)}, "horizon", "at least d0 = 1/10, one iteration"),
    (wait, (), {"segment_ends": (2,)}, "segment_ends", "together with unknown_lengths"),
    (wait, (), {"thresholds": (1,)}, "thresholds", "2, one a type"),
    (wait, (), {"thresholds": (0, 1)}, "thresholds", "an integer of at least 1"),
    (
        wait,
        (),
        {"unknown_lengths": True, "segment_ends": (2, 1)},
        "ends",
        "increasing output lengths",
    ),
    (wait, (), {"simulate": True, "seeds": 0}, "seeds", "an integer of at least 1"),
    (wait, (), {"simulate": True, "duration": 0}, "duration", "an integer or a Fraction above 0"),
    (wait, (), {"simulate": True, "duration": 10**9}, "duration", "at most 60,000"),
    (cache_study, ("lur",), {}, "prompted", "a Prompted"),
    (cache, ([],), {}, "capacities", "at least one size in tokens"),
    (cache, ([0],), {}, "capacity", "a whole number of at least 1"),
    (cache, ([3],), {}, "capacity", "at least 84 tokens"),
    (cache, (), {"seeds": 0}, "seeds", "a whole number from 1 to 1,000"),
    (cache, (), {"policies": []}, "policies", "at least one"),
    (cache, (), {"policies": ["lur"]}, "policies", "lru, lfu (the nearest)"),
    (cache, (), {"granularity": "lur"}, "granularity", "tokens, nodes, blocks"),
    (cache, (), {"granularity": "blocks:999"}, "page", "at most the longest prompt"),
    (requests, (True,), {}, "requests", "an integer from 1 to 100,000"),
    (requests, (0,), {}, "requests", "an integer from 1 to 100,000"),
    (requests, (10**9,), {}, "requests", "an integer from 1 to 100,000"),
    (requests, (None, 10**12), {}, "capacity", "less, or clients or a rate"),
    (requests, (20,), {}, "requests", "at least 56: work for 5"),
]


@pytest.mark.parametrize(("question", "given", "options", "argument", "allowed"), ASKED)
def test_what_is_refused_is_named_before_anything_runs(
    question: Callable[..., Any],
    given: tuple[Any, ...],
    options: dict[str, Any],
    argument: str,
    allowed: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def never(*_: Any, **__: Any) -> None:
        raise AssertionError("something ran")

    for name in RUNS:
        monkeypatch.setattr(f"fluidkv.answers.{name}", never)
    with pytest.raises(InputError) as caught:
        question(*given, **options)
    assert caught.value.argument == argument
    assert caught.value.allowed.startswith(allowed)


def test_what_runs_alone_show_is_refused_after_them() -> None:
    with pytest.raises(InputError, match=r"^engine: got 'fcfs-new-first'; allowed: one under whi"):
        size(engine="fcfs-new-first")
    with pytest.raises(InputError, match=r"^duration: got 1e-05; allowed: a time before which so"):
        wait(simulate=True, duration=Fraction(1, 10**5))
