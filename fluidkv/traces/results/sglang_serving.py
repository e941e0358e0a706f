"""SGLang's `bench_serving --output-file FILE --output-details`: JSON lines, one run a line.

The lists are those of `vllm bench serve`. It writes no times of arrival, so a trace has lengths
alone; `server_info` is what the server said of itself (newer versions).

Source: python/sglang/bench_serving.py, and python/sglang/benchmark/serving.py after it.
"""

from fluidkv.traces.format import Record
from fluidkv.traces.results.columns import column_rows, of_clients
from fluidkv.traces.results.run import RunFormat, RunRows
from fluidkv.traces.results.values import count, fact, inside, text
from fluidkv.traces.results.vllm_serve import label
from fluidkv.traces.times import RunFacts

_COMMAND = "python -m sglang.bench_serving --output-file FILE --output-details"
_NO_TIMES = "SGLang's bench_serving writes no times of arrival: lengths without arrivals"


def _recognises(record: Record) -> bool:
    return {"dataset_name", "sharegpt_output_len", "duration", "completed"} <= record.keys()


def _read(run: Record) -> RunRows:
    rows = column_rows(run, detailed=f"`{_COMMAND}`")
    clients, server = count(run, "max_concurrency"), run.get("server_info")
    facts = RunFacts(
        tool=SGLANG_SERVING.name,
        duration_s=fact(run, "duration"),
        request_rate=fact(run, "request_rate"),
        max_concurrency=clients,
        model=text(inside(server, "model_path")),
        server=server if isinstance(server, dict) else None,
    )
    timed = run.get("start_times") is not None
    return RunRows(rows, facts, of_clients(clients) if timed else (_NO_TIMES,))


SGLANG_SERVING = RunFormat(
    name="sglang-bench-serving",
    wrote=_COMMAND,
    recognises=_recognises,
    runs=lambda record: (record,),
    label=label,
    read=_read,
)
