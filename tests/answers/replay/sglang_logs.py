"""The log that an SGLang server would have written, had it been our scheduler."""

import json
from pathlib import Path

import numpy as np

from fluidkv.prefix.pieces import content
from fluidkv.prefix.prompts import Prompts
from fluidkv.runs.requests import Requests
from fluidkv.serving.caching.sglang.stepped import SglangEngine
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.sglang_settings import SglangSettings

CLOCK = IterationClock(0.02, 2e-6, 1e-4)
CAPACITY, CHUNK, EVERY, SHARED = 3_000, 512, 10, 16
CONSERVATIVE = 0.2  # so that there are some retractions


def write_log(
    folder: Path, *, count: int = 120, seed: int = 0, logged_from: int = 0
) -> SglangEngine:
    """`requests.jsonl`, `decode_log.csv`, `events.jsonl` and `meta.json` of one run by `CLOCK`.

    Args:
        logged_from: prefill passes before this one have no line.
    """
    rng = np.random.default_rng(seed)
    inputs, outputs = rng.integers(20, 60, count), rng.integers(60, 200, count)
    arrival = np.cumsum(rng.exponential(0.12, count))
    arrival -= arrival[0]
    prompts = [content([[0, SHARED], [1 + k, int(n) - SHARED]]) for k, n in enumerate(inputs)]
    said = Prompts(prompts, [content([[10**6 + k, int(n)]]) for k, n in enumerate(outputs)])
    settings = SglangSettings(
        CAPACITY, conservativeness=CONSERVATIVE, chunked_prefill_size=CHUNK, max_running=256
    )
    table = Requests(inputs, outputs, arrival=arrival)
    run = SglangEngine(table, said, settings, CLOCK, offered=False, compiled=True)
    rows, events = _logged(run)
    fields = "time_s,decode_iter,running,waiting,tokens,kv_usage,preemptions"
    (folder / "decode_log.csv").write_text("\n".join([fields, *rows]) + "\n")
    retractions = [each for each in events if each["kind"] == "retract"]
    prefills = [each for each in events if each["kind"] == "prefill"][logged_from:]
    lines = sorted([*retractions, *prefills], key=lambda each: each["after_decode_iter"])
    (folder / "events.jsonl").write_text("".join(json.dumps(each) + "\n" for each in lines))
    requests = [
        {"id": k, "arrival_s": 5 + t, "input": int(n), "cached_prefix": SHARED, "output": int(o)}
        for k, (t, n, o) in enumerate(zip(arrival.tolist(), inputs, outputs, strict=True))
    ]
    (folder / "requests.jsonl").write_text("".join(json.dumps(r) + "\n" for r in requests))
    meta = {
        "engine": "SGLang",
        "version": "0.5.23",
        "kv_tokens": CAPACITY,
        "page_size": 1,
        "max_running_requests": 256,
        "chunked_prefill_size": CHUNK,
        "schedule_conservativeness": CONSERVATIVE,
        "radix_cache": True,
        "decode_log_interval": EVERY,
        "new_token_ratio": {"init": 0.14, "min": 0.0196, "clip_max_new_tokens": 4096},
        "repeats_of_this_run": {"retractions": [3, 4], "wall_s": [50.0, 51.0, 55.0]},
    }
    (folder / "meta.json").write_text(json.dumps(meta))
    return run


def _logged(run: SglangEngine) -> tuple[list[str], list[dict]]:
    rows: list[str] = []
    events: list[dict] = []
    steps = retracted = 0
    while run.done < len(run.all):
        before = run.new_token_ratio
        counts = run.step()
        row = run.row
        at = {"time_s": int(run.now), "after_decode_iter": steps // EVERY * EVERY}
        events += [
            at | {"kind": "retract", "ratio_before": before, "ratio_after": row.new_token_ratio}
        ] * row.retracted
        retracted += row.retracted
        if row.mode == "prefill":
            tokens = counts["prefill_tokens"]
            events.append(
                at | {"kind": "prefill", "new_seqs": len(row.admissions), "new_tokens": tokens}
            )
        if row.mode != "decode":
            continue
        steps += 1
        if steps % EVERY == 0:
            used = counts["used_blocks"]
            share = f"{used / CAPACITY:.4f}"
            counters = (int(run.now), steps, row.running, row.waiting, used, share, retracted)
            rows.append(",".join(map(str, counters)))
    return rows, events
