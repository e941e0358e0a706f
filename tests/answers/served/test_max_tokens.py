"""What clients ask for reaches the tables of a run, and what no memory holds is refused."""

from fractions import Fraction
from pathlib import Path

import pytest

from fluidkv.answers.served.demand import Demand, tables_of
from fluidkv.answers.served.memory import check_memory
from fluidkv.errors import InputError
from fluidkv.runs.max_tokens import max_tokens_of
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.engines import engine
from fluidkv.serving.limits import Limits
from fluidkv.traces import Trace, read_trace
from fluidkv.traces.scaling import Scaling, scale
from fluidkv.workload import RequestClass, Workload

LOAD = Workload((RequestClass(20, 40, 1),))
CLOCK = IterationClock(0.01)


def test_every_run_asks() -> None:
    demand = Demand(rate=3.0, max_tokens=max_tokens_of("uniform:50:90"))
    one, other = tables_of(LOAD, LOAD, demand, CLOCK, 200, 2, 7)
    assert 50 <= one.max_output.min() < one.max_output.max() <= 90
    assert one.max_output.tolist() != other.max_output.tolist()
    said = Demand(rate=3.0)
    assert said.max_tokens is None
    [plain] = tables_of(LOAD, LOAD, said, CLOCK, 200, 1, 7)
    assert plain.max_output.tolist() == [40] * 200
    assert plain.arrival.tolist() == one.arrival.tolist()


def test_memory_is_looked_at_as_much_as_may_be_asked_for() -> None:
    rules, limits = engine("trtllm-no-evict"), Limits(96, block_size=32)
    check_memory(rules, limits, LOAD)
    check_memory(rules, limits, LOAD, max_tokens_of("77"))  # 20 + 77 - 1 = 96
    with pytest.raises(InputError, match=r"20 input \+ 40 output tokens, 78 asked for: 4 blocks"):
        check_memory(rules, limits, LOAD, max_tokens_of("uniform:40:78"))


def _file(folder: Path, asked: int = 80) -> Path:
    path = folder / "trace.csv"
    rows = ["input_tokens,output_tokens,arrival,asked", "20,30,0,64", f"10,70,1,{asked}", "5,6,2,9"]
    path.write_text("\n".join(rows) + "\n")
    return path


def test_a_column_of_a_trace_goes_with_its_rows(tmp_path: Path) -> None:
    trace = read_trace(_file(tmp_path), columns={"max_tokens": "asked"})[0]
    assert trace.max_tokens == (64, 80, 9)
    assert read_trace(_file(tmp_path))[0].max_tokens is None
    demand = Demand(replay=True, max_tokens=max_tokens_of("column:asked"))
    first, second = tables_of(trace, trace.workload(), demand, CLOCK, 1, 2, 0)
    assert (first.max_output.tolist(), second.max_output.tolist()) == ([64], [80])
    longer = scale(trace, Scaling(output=Fraction(2)))
    assert isinstance(longer, Trace)
    assert longer.max_tokens == (128, 160, 18)


def test_a_column_below_an_output_is_one_line_with_its_row(tmp_path: Path) -> None:
    trace = read_trace(_file(tmp_path, asked=60), columns={"max_tokens": "asked"})[0]
    demand = Demand(replay=True, max_tokens=max_tokens_of("column:asked"))
    with pytest.raises(InputError) as caught:
        tables_of(trace, trace.workload(), demand, CLOCK, 3, 1, 0)
    assert str(caught.value) == (
        "max_tokens: got '60 in column:asked'; allowed: at least the 70 outputs of request "
        "1, counted from 0"
    )


def test_a_column_needs_a_trace_that_is_replayed(tmp_path: Path) -> None:
    asks = max_tokens_of("column:asked")
    with pytest.raises(InputError, match="a trace replayed"):
        Demand(rate=1.0, max_tokens=asks)
    plain = read_trace(_file(tmp_path))[0]
    with pytest.raises(InputError, match="a trace with such a column"):
        tables_of(plain, plain.workload(), Demand(replay=True, max_tokens=asks), CLOCK, 3, 1, 0)
