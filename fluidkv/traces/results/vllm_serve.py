"""`vllm bench serve --save-result --save-detailed`: one JSON object, or one a line where appended.

Times are seconds. `ttfts` and `itls` are those of the stream's pieces; `start_times`, on a clock
without a date, are there since January 2026 (pull request 32667); files without them give lengths
alone. Without `--save-detailed` only totals are written.

Source: vllm/benchmarks/serve.py and lib/endpoint_request_func.py of vllm-project/vllm, and its
benchmarks/benchmark_serving.py before them.
"""

from fluidkv.traces.format import Record
from fluidkv.traces.results.columns import column_rows, has_rows, of_clients
from fluidkv.traces.results.run import RunFormat, RunRows
from fluidkv.traces.results.values import count, fact, text
from fluidkv.traces.times import RunFacts

_COMMAND = "vllm bench serve --save-result --save-detailed"
_NO_TIMES = "no start_times, which vLLM writes since January 2026: lengths without arrivals"


def _recognises(record: Record) -> bool:
    return {"model_id", "num_prompts", "completed", "duration"} <= record.keys() or has_rows(record)


def _read(run: Record) -> RunRows:
    rows = column_rows(run, detailed=f"`{_COMMAND}`")
    clients = count(run, "max_concurrency")
    facts = RunFacts(
        tool=VLLM_SERVE.name,
        duration_s=fact(run, "duration"),
        request_rate=fact(run, "request_rate"),
        max_concurrency=clients,
        model=text(run, "model_id"),
    )
    timed = run.get("start_times") is not None
    return RunRows(rows, facts, of_clients(clients) if timed else (_NO_TIMES,))


def label(run: Record) -> str:
    """The rate and the number in flight, by which runs of one file differ."""
    said = (("request_rate", "/s"), ("max_concurrency", " in flight"))
    found = ((fact(run, key), unit) for key, unit in said)
    return ", ".join(f"{value:g}{unit}" for value, unit in found if value is not None)


VLLM_SERVE = RunFormat(
    name="vllm-bench-serve",
    wrote=_COMMAND,
    recognises=_recognises,
    runs=lambda record: (record,),
    label=label,
    read=_read,
)
