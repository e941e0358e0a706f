"""Benchmark results as their tools write them, field for field, for two requests or any others."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Asked:
    """One request as a client saw it, in seconds; gaps between its tokens."""

    start: float
    inputs: int
    ttft: float
    gaps: tuple[float, ...]

    @property
    def outputs(self) -> int:
        return len(self.gaps) + 1

    @property
    def latency(self) -> float:
        return self.ttft + sum(self.gaps)


TWO = (Asked(100.5, 12, 0.25, (0.5, 0.25)), Asked(101.0, 13, 0.5, (0.125, 0.125, 0.25)))


def vllm(asked: Sequence[Asked] = TWO, **changed: Any) -> dict[str, Any]:
    """`vllm bench serve --save-result --save-detailed`; a key that is changed to None goes."""
    run = {
        "date": "20261122-120000",
        "endpoint_type": "vllm",
        "backend": "vllm",
        "label": None,
        "model_id": "meta-llama/Llama-3.1-8B",
        "tokenizer_id": "meta-llama/Llama-3.1-8B",
        "num_prompts": len(asked),
        "request_rate": "inf",
        "burstiness": 1.0,
        "max_concurrency": None,
        "duration": max(a.start + a.latency for a in asked) - min(a.start for a in asked),
        "completed": len(asked),
        "failed": 0,
        "total_input_tokens": sum(a.inputs for a in asked),
        "total_output_tokens": sum(a.outputs for a in asked),
        "request_throughput": 1.5,
        "request_goodput": None,
        "output_throughput": 5.0,
        "total_token_throughput": 20.0,
        **_lists(asked),
        "start_times": [a.start for a in asked],
        "max_output_tokens_per_s": 4.0,
        "max_concurrent_requests": 2,
        "mean_ttft_ms": 375.0,
    }
    return _changed(run, changed)


def sglang(asked: Sequence[Asked] = TWO, **changed: Any) -> dict[str, Any]:
    """A line of SGLang's `bench_serving --output-file --output-details`."""
    run = {
        "tag": None,
        "backend": "sglang",
        "dataset_name": "random",
        "request_rate": float("inf"),
        "max_concurrency": 16,
        "sharegpt_output_len": None,
        "random_input_len": 1024,
        "random_output_len": 1024,
        "random_range_ratio": 0.0,
        "server_info": {"model_path": "Qwen/Qwen3-4B", "max_total_num_tokens": 87552},
        "duration": 3.0,
        "completed": len(asked),
        "total_input_tokens": sum(a.inputs for a in asked),
        "total_output_tokens": sum(a.outputs for a in asked),
        "total_output_tokens_retokenized": sum(a.outputs for a in asked),
        "mean_itl_ms": 250.0,
        "concurrency": 1.5,
        **_lists(asked),
    }
    return _changed(run, changed)


def _lists(asked: Sequence[Asked]) -> dict[str, list]:
    return {
        "input_lens": [a.inputs for a in asked],
        "output_lens": [a.outputs for a in asked],
        "ttfts": [a.ttft for a in asked],
        "itls": [list(a.gaps) for a in asked],
        "generated_texts": ["words" for _ in asked],
        "errors": ["" for _ in asked],
    }


def _changed(run: dict[str, Any], changed: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in (run | changed).items() if changed.get(key, 0) is not None}


def without_details(run: dict[str, Any]) -> dict[str, Any]:
    """As both write it without the flag for details."""
    lists = ("input_lens", "output_lens", "start_times", "ttfts", "itls", "generated_texts")
    return {key: value for key, value in run.items() if key not in (*lists, "errors")}


def guidellm(asked: Sequence[Asked] = TWO, *, version: str = "0.5") -> dict[str, Any]:
    """benchmarks.json; 0.3, or what was between it and 0.4, or 0.4 with its first names, or 0.5."""
    strategy = {"type_": "constant", "rate": 2.0}
    totals = {"successful": len(asked), "incomplete": 0, "errored": 0, "total": len(asked)}
    requests: dict[str, Any] = {
        "successful": [_guidellm_request(a, version) for a in asked],
        "incomplete": [],
        "errored": [],
        "total": None,
    }
    benchmark: dict[str, Any] = {"type_": "generative_benchmark", "duration": 4.0}
    if version == "0.3":
        benchmark |= {"args": {"strategy": strategy}, "metrics": {}, "request_totals": totals}
        benchmark["request_samples"] = None
        return {"benchmarks": [benchmark | {"requests": requests}]}
    if version == "between":
        benchmark |= {"scheduler": {"strategy": strategy}, "request_totals": totals}
    else:
        benchmark |= {"config": {"strategy": strategy}, "metrics": {"request_totals": totals}}
    report = {"args": {"model": "meta-llama/Llama-3.1-8B"}}
    return report | {"benchmarks": [benchmark | {"requests": requests}]}


def _guidellm_request(a: Asked, version: str) -> dict[str, Any]:
    lengths = {"request_id": "1", "prompt_tokens": a.inputs, "output_tokens": a.outputs}
    first, last = a.start + a.ttft, a.start + a.latency
    if version == "0.3":
        times = {"start_time": a.start, "end_time": last + 0.01}
        return lengths | times | {"first_token_time": first, "last_token_time": last}
    if version == "between":
        timings = {"request_start": a.start, "first_iteration": first, "last_iteration": last}
        return lengths | {"scheduler_info": {"request_timings": timings}}
    names = ("first_iteration", "last_iteration")
    if version == "0.5":
        names = ("first_token_iteration", "last_token_iteration")
    timings = {"request_start": a.start, **dict(zip(names, (first, last), strict=True))}
    info = {"status": "completed", "timings": timings, "error": None}
    return lengths | {"request_start_time": a.start, "info": info}


def genai_perf(asked: Sequence[Asked] = TWO, *, usage: bool = True) -> dict[str, Any]:
    """profile_export.json of an OpenAI server that streams; `usage` where it was asked for."""
    requests = [_genai_perf_request(a, usage) for a in asked]
    experiment = {"experiment": {"mode": "request_rate", "value": 2.0}, "requests": requests}
    return {
        "service_kind": "openai",
        "endpoint": "v1/chat/completions",
        "experiments": [experiment],
    }


def _genai_perf_request(a: Asked, usage: bool) -> dict[str, Any]:
    at, stamps, pieces = a.start + a.ttft, [], []
    for gap in (*a.gaps, 0.0):
        stamps.append(round(at * 1e9))
        pieces.append(_event({"choices": [{"index": 0, "delta": {"content": "word"}}]}))
        at += gap
    stamps = [stamps[0], *stamps, stamps[-1], stamps[-1]]
    role = _event({"choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}}]})
    counts = {"prompt_tokens": a.inputs, "completion_tokens": a.outputs}
    ends = _event({"choices": [], "usage": counts} if usage else {"choices": []})
    answers = [{"response": text} for text in (role, *pieces, ends, "data: [DONE]\n\n")]
    return {
        "timestamp": round(a.start * 1e9),
        "request_inputs": {"payload": '{"messages":[]}'},
        "response_timestamps": stamps,
        "response_outputs": answers,
    }


def _event(value: dict[str, Any]) -> str:
    return f"data: {json.dumps(value)}\n\n"


def aiperf(asked: Sequence[Asked] = TWO) -> list[dict[str, Any]]:
    """The lines of profile_export.jsonl."""
    return [
        {
            "metadata": {
                "session_num": i,
                "request_start_ns": round(a.start * 1e9),
                "request_end_ns": round((a.start + a.latency) * 1e9),
                "benchmark_phase": "profiling",
                "was_cancelled": False,
            },
            "metrics": {
                "input_sequence_length": {"value": a.inputs, "unit": "tokens"},
                "output_sequence_length": {"value": a.outputs, "unit": "tokens"},
                "time_to_first_token": {"value": 1000 * a.ttft, "unit": "ms"},
                "request_latency": {"value": 1000 * a.latency, "unit": "ms"},
                "inter_chunk_latency": {"value": [1000 * gap for gap in a.gaps], "unit": "ms"},
            },
            "error": None,
        }
        for i, a in enumerate(asked)
    ]


def lines(records: Sequence[dict[str, Any]]) -> str:
    """As JSON lines."""
    return "".join(f"{json.dumps(record)}\n" for record in records)


WRITTEN = {
    "vllm-bench-serve": json.dumps(vllm()),
    "sglang-bench-serving": lines([sglang()]),
    "guidellm": json.dumps(guidellm()),
    "genai-perf": json.dumps(genai_perf()),
    "aiperf": lines(aiperf()),
}
"""Name of a format -> a file of it, of the two requests."""
