"""The names under which engines and their exporters show a counter, and what the counter is."""

import re

RUNNING, WAITING = "running", "waiting"
KV_SHARE, KV_PERCENT, KV_TOKENS, CAPACITY = "kv_share", "kv_percent", "kv_tokens", "capacity"
GENERATED_RATE, PROMPT_RATE = "generated_rate", "prompt_rate"
GENERATED, PROMPTS, PREEMPTED = "generated", "prompts", "preempted"
ITERATIONS = "iterations"

TIMES = ("t", "t_s", "time", "time_s", "timestamp", "ts", "unix_time", "epoch", "date", "datetime")
"""Columns of times, best first."""

NAMES: dict[str, tuple[str, ...]] = {
    RUNNING: ("running", "num_requests_running", "num_running_reqs"),
    WAITING: ("waiting", "num_requests_waiting", "num_queue_reqs"),
    KV_SHARE: ("kv_cache_usage_perc", "gpu_cache_usage_perc", "token_usage"),  # 0 to 1, in spite
    KV_PERCENT: ("kv_cache_pct",),
    KV_TOKENS: ("num_used_tokens",),
    CAPACITY: ("max_total_num_tokens",),
    GENERATED_RATE: (
        "gen_throughput",
        "generation_throughput",
        "avg_generation_throughput_toks_per_s",
    ),
    PROMPT_RATE: ("prompt_throughput", "avg_prompt_throughput_toks_per_s"),
    GENERATED: ("generation_tokens_total", "generation_tokens"),
    PROMPTS: ("prompt_tokens_total", "prompt_tokens"),
    PREEMPTED: (
        "num_preemptions_total",
        "num_preemptions",
        "num_retracted_requests_total",
        "num_retracted_reqs_total",
    ),
    # vLLM observes its histogram of tokens once an iteration: vllm/v1/metrics/loggers.py
    ITERATIONS: ("iteration_tokens_total_count",),
}
"""Our name -> theirs, best first, without "vllm:" or "sglang:" in front."""

COUNTERS = (GENERATED, PROMPTS, PREEMPTED, ITERATIONS)
"""These never fall while a server lives; what was counted lies between two rows."""

CACHE_INFO = "cache_config_info"
"""vLLM's metric whose labels say how its KV cache was set."""

_OURS = {theirs: ours for ours, names in NAMES.items() for theirs in names}
_LABEL = re.compile(r'([A-Za-z_][A-Za-z0-9_]{0,80})\s*[=:]\s*"?([^",}]{0,200})"?')
_PREFIX = re.compile(r"^(vllm|sglang)[:_]")


def plain(name: str) -> str:
    """A metric's name without labels, engine, blanks and capitals."""
    return _PREFIX.sub("", name.split("{", 1)[0].strip().strip('"').lower())


def counter_of(name: str) -> str | None:
    """What a metric or column is in our words; None if it is nothing of ours."""
    return _OURS.get(plain(name))


def rank_of(name: str) -> int:
    """0 for the best name of its counter, more for the others."""
    return NAMES[_OURS[plain(name)]].index(plain(name))


def engine_in(name: str) -> str | None:
    """ "vllm" or "sglang", where a name says so."""
    found = _PREFIX.match(name.strip().strip('"').lower())
    if found is not None:
        return found[1]
    return {"num_requests_running": "vllm", "num_running_reqs": "sglang"}.get(plain(name))


def labels_of(name: str) -> dict[str, str]:
    """The labels behind a metric's name, in braces."""
    return dict(_LABEL.findall(name.partition("{")[2]))
