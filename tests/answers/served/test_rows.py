"""A row that is refused is that of the trace, also where a part of it is served."""

# pyright: reportOptionalMemberAccess=false

from dataclasses import replace

import pytest

from fluidkv.answers import Demand, compare_engines, preempt_study, recommend_settings
from fluidkv.errors import InputError
from fluidkv.runs.max_tokens import max_tokens_of
from fluidkv.serving.limits import Limits
from tests.answers.served.test_window import CLOCK, NOTHING, REPLAY, RISING, busiest_of, sized_by

LARGE = 200  # of the requests of RISING, one that is not in its first half


@pytest.mark.parametrize("engine", ["vllm", "sglang+cache"])
@pytest.mark.parametrize("command", ["recommend", "compare", "preempt", "size"])
def test_a_row_that_is_refused_is_that_of_the_trace(monkeypatch, command, engine) -> None:
    """The busiest part begins at row 150: its row 50 is row 200 of the trace."""
    lengths = (*(40,) * LARGE, 900, *(40,) * (299 - LARGE))
    trace = replace(RISING, input_lengths=lengths)
    busiest_of(monkeypatch, 100)
    both = {"demand": REPLAY, "clock": CLOCK}
    ask = {
        "recommend": lambda: recommend_settings(
            trace, 400, engine=engine, candidates=NOTHING, **both
        ),
        "compare": lambda: compare_engines(trace, 400, [engine, "trtllm-no-evict"], **both),
        "preempt": lambda: preempt_study(trace, Limits(400, 16), **both),
        "size": lambda: sized_by(trace, find="rate", capacity=400, engine=engine),
    }[command]
    with pytest.raises(InputError, match=rf"request {LARGE}[ ,]"):
        ask()


def test_a_setting_under_which_a_request_does_not_fit_names_the_row_of_the_trace(
    monkeypatch,
) -> None:
    """Half of the memory is left free by the setting, and the request needs more of it."""
    lengths = (*(40,) * LARGE, 200, *(40,) * (299 - LARGE))
    trace = replace(RISING, input_lengths=lengths)
    busiest_of(monkeypatch, 100)
    how = {"demand": REPLAY, "clock": CLOCK, "engine": "vidur-sarathi"}
    tried = {**NOTHING, "watermark": [0.5]}
    with pytest.raises(InputError, match=rf"request {LARGE}, .*; there are 12"):
        recommend_settings(trace, 400, candidates=tried, **how)
    served = recommend_settings(trace, 400, candidates=NOTHING, draws=0, **how)
    assert served.plan.window.busiest


def test_a_row_that_asks_for_too_little_is_that_of_the_trace(monkeypatch) -> None:
    asks = (*(99,) * LARGE, 9, *(99,) * (299 - LARGE))
    trace = replace(RISING, max_tokens=asks)
    busiest_of(monkeypatch, 100)
    demand = Demand(replay=True, max_tokens=max_tokens_of("column:max_tokens"))
    with pytest.raises(InputError, match=f"the 30 outputs of request {LARGE}, counted"):
        compare_engines(trace, 400, ["vllm", "trtllm-no-evict"], demand=demand, clock=CLOCK)
