"""A log in numbers: how many requests, how full, how fast, and what is missing; plain values."""

from dataclasses import asdict
from typing import Any

import numpy as np

from fluidkv.logs.log import Array, LoggedRequests, LoggedTicks, ServerLog


def log_as_dict(log: ServerLog) -> dict[str, Any]:
    """Plain values for JSON; None for what no file says. Times are seconds.

    Examples:
        >>> from fluidkv.logs.report import log_as_dict
        >>> said = log_as_dict(fk.read_log("sample:vllm-rtx4090"))
        >>> said["engine"], list(said)[:5]
        ('vllm', ['source', 'engine', 'server', 'requests', 'ticks'])
        >>> said["requests"]["count"], said["requests"]["longest"]
        (300, 4765)
    """
    return {
        "source": log.source,
        "engine": log.engine,
        "server": asdict(log.settings) | {"usable_capacity": log.settings.usable_capacity},
        "requests": None if log.requests is None else _of_requests(log.requests),
        "ticks": None if log.ticks is None else _of_ticks(log.ticks),
        "retractions": sum(each.requests for each in log.retractions) or None,
        "offset_s": None if log.offset_s is None else list(log.offset_s),
        "files": [asdict(each) for each in log.files],
        "missing": [asdict(each) for each in log.missing],
        "notes": list(log.notes),
        "rows": [report.to_dict() for report in log.reports],
    }


def _of_requests(requests: LoggedRequests) -> dict[str, Any]:
    arrival, first, last = requests.arrival_s, requests.first_token_s, requests.last_token_s
    measured: dict[str, float | None] = dict.fromkeys(("duration_s", "ttft_p99_s", "latency_p99_s"))
    if arrival is not None and first is not None and last is not None:
        measured = {
            "duration_s": float(last.max() - arrival.min()),
            "ttft_p99_s": _p99(first - arrival),
            "latency_p99_s": _p99(last - arrival),
        }
    return {
        "count": len(requests),
        "input_tokens": int(requests.input_lengths.sum()),
        "output_tokens": int(requests.decode_lengths.sum()),
        "longest": int((requests.input_lengths + requests.decode_lengths).max()),
        "arrivals_over_s": None if arrival is None else float(np.ptp(arrival)),
        **measured,
    }


def _of_ticks(ticks: LoggedTicks) -> dict[str, Any]:
    return {
        "count": len(ticks),
        "over_s": float(ticks.ends_s[-1] - ticks.ends_s[0]),
        "running_peak": _most(ticks.running),
        "waiting_peak": _most(ticks.waiting),
        "kv_used_peak": _most(ticks.kv_used),
        "generated_tokens": None
        if ticks.generated_tokens is None
        else float(ticks.generated_tokens.sum()),
        "preemptions": None if ticks.preemptions is None else int(ticks.preemptions[-1]),
    }


def _most(values: Array | None) -> float | None:
    return None if values is None else float(values.max())


def _p99(values: Array) -> float:
    return float(np.quantile(values, 0.99))
