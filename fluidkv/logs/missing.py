"""What a log does not say, for which answers it is needed, and the command that would record it."""

from dataclasses import dataclass

from fluidkv.logs.log import Missing, ServerLog

_CLIENT = {
    "vllm": "vllm bench serve --save-result --save-detailed",
    "sglang": "guidellm benchmark, or AIPerf (python -m sglang.bench_serving --output-file "
    "run.jsonl --output-details writes lengths without arrivals)",
}
_SERVER = {
    "vllm": "the server's stdout from its start: vllm serve ... 2>&1 | tee server.log",
    "sglang": "the server's stdout from its start: python -m sglang.launch_server ... 2>&1 | tee "
    "server.log",
}
_POLLED = {
    "vllm": "curl -s localhost:8000/metrics every second",
    "sglang": "curl -s localhost:30000/metrics every second (--enable-metrics)",
}
_METRICS = "RequestOutput.metrics of vllm.LLM(..., disable_log_stats=False), as requests.jsonl"
_LOGGED = "the server's stdout from its start: its decode log counts steps"


@dataclass(frozen=True)
class _Part:
    """One thing that a log may lack; a command for each engine."""

    what: str
    needed_for: str
    commands: dict[str, str]
    is_required: bool = True

    def of(self, engine: str | None) -> Missing:
        command = self.commands[engine or "vllm"]
        if engine is None and self.commands["sglang"] != command:
            command = f"{command} (vLLM), or {self.commands['sglang']} (SGLang)"
        return Missing(self.what, self.needed_for, command, self.is_required)


_REQUESTS = _Part("requests (lengths and arrivals)", "every answer about settings", _CLIENT)
_ARRIVING = {
    "vllm": f"{_CLIENT['vllm']}, of vLLM since January 2026 (start_times); or guidellm, AIPerf",
    "sglang": _CLIENT["sglang"],
}
_ARRIVALS = _Part("when requests arrived", "measured latencies, a fitted clock, replay", _ARRIVING)
_TIMES = _Part("per-request times", "measured latencies, a fitted clock", _CLIENT)
_LATENCIES = _Part("per-request times", "measured latencies", _CLIENT)
_STARTS = _Part(
    "when requests were scheduled",
    "a fitted clock (it takes first tokens instead)",
    {"vllm": _METRICS, "sglang": _LOGGED},
    is_required=False,
)
_TICKS = _Part(
    "ticks (running, waiting, KV in use)",
    "a fitted clock and replay",
    {name: f"{_POLLED[name]}, or {_SERVER[name]}" for name in _POLLED},
)
_PREEMPTIONS = _Part(
    "preemptions",
    "measured preemptions",
    {
        "vllm": f"{_POLLED['vllm']} (vllm:num_preemptions_total)",
        "sglang": _SERVER["sglang"],
    },
    is_required=False,
)
_CAPACITY = _Part("the KV capacity", "every answer, unless --capacity says it", _SERVER)


def missing_of(log: ServerLog) -> tuple[Missing, ...]:
    """What no file of the log says, the most needed first."""
    requests, ticks = log.requests, log.ticks
    counts_steps = ticks is not None and ticks.decode_steps is not None
    lacks = []
    if requests is None:
        lacks.append(_REQUESTS)
    elif requests.arrival_s is None:
        lacks.append(_ARRIVALS)
    elif requests.first_token_s is None or requests.last_token_s is None:
        lacks.append(_LATENCIES if counts_steps else _TIMES)  # a clock is fitted to steps
    if log.capacity is None:
        lacks.append(_CAPACITY)
    if ticks is None:
        lacks.append(_TICKS)
    elif ticks.preemptions is None:
        lacks.append(_PREEMPTIONS)
    if requests is not None and requests.scheduled_s is None and not counts_steps:
        lacks.append(_STARTS)
    return tuple(part.of(log.engine) for part in lacks)
