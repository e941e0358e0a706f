"""What a run takes is known before it runs: counts, by which no machine is measured."""

import numpy as np
import pytest

from fluidkv.answers.served.cases import Case
from fluidkv.answers.served.work import work_of
from fluidkv.runs.requests import Requests
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.limits import Limits
from fluidkv.serving.run import serve
from fluidkv.serving.server import Server

CLOCK = IterationClock(0.01, 1e-6, 3e-5, per_request=1e-5)
ENGINES = ("vllm", "vllm+cache", "vllm-0.11", "sglang", "sglang+cache", "trtllm-no-evict")


def _requests(rate: float, inputs: int, outputs: int, *, size: int = 300) -> Requests:
    chance = np.random.default_rng(0)
    at = np.cumsum(chance.exponential(1 / rate, size)) if rate else np.zeros(size)
    lengths = (chance.integers(1, 2 * mean, size) for mean in (inputs, outputs))
    return Requests(*lengths, arrival=at - at[0])


def _rising() -> Requests:
    quiet, busy = _requests(1, 60, 40, size=150), _requests(30, 60, 40, size=150)
    inputs = np.concatenate((quiet.input_length, busy.input_length))
    outputs = np.concatenate((quiet.output_length, busy.output_length))
    arrival = np.concatenate((quiet.arrival, quiet.arrival[-1] + 1 + busy.arrival))
    return Requests(inputs, outputs, arrival=arrival)


LOADS = {
    "one at a time": (_requests(0.2, 50, 50), Limits(2000)),
    "a few": (_requests(5, 50, 50), Limits(2000)),
    "many": (_requests(40, 50, 50), Limits(8000)),
    "more than memory holds": (_requests(40, 50, 50), Limits(900)),
    "all at once": (_requests(0, 50, 50), Limits(2000)),
    "capped": (_requests(20, 50, 50), Limits(8000, max_num_seqs=6)),
    "prompts in pieces": (_requests(10, 900, 12), Limits(9000, max_num_batched_tokens=256)),
    "a peak": (_rising(), Limits(2000)),
}


@pytest.mark.daily(8)
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("load", LOADS)
def test_iterations_are_within_a_factor_of_2(load: str, engine: str) -> None:
    requests, limits = LOADS[load]
    run = serve(requests, Server(engine, limits, clock=CLOCK, backend="reference"))
    ratio = work_of(requests, Case(engine, limits, CLOCK)).iterations / run.iterations.item()
    assert 0.5 < ratio < 2


@pytest.mark.parametrize("load", LOADS)
def test_visits_of_named_blocks_are_within_a_factor_of_2(load: str) -> None:
    """Where prompts begin alike, who runs is looked at in every iteration."""
    requests, limits = LOADS[load]
    run = serve(requests, Server("vllm", limits, clock=CLOCK, backend="reference"))
    visits = work_of(requests, Case("vllm+cache", limits, CLOCK), shares=True).visits
    assert 0.5 < visits / run.running.sum().item() < 2
