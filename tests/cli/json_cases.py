"""Commands with cheap settings that together print every key of their JSON."""

from pathlib import Path

OURS = Path(__file__).parents[1] / "serving" / "records" / "data" / "version_0_11.json"
SWEEP = Path(__file__).parents[1] / "sweeps" / "small.toml"
_TWO = "--class 50:2:1/2 --class 30:4:1/2"
_RUN = "--requests 60 --clock 0.01:1e-6:1e-5"
_SMALL = "--generator mixed --requests 7 --length 12 --prompt 3 --budget 20 --seeds 2"

CASES: dict[str, list[str]] = {
    "study": [
        f"{_TWO} --capacity 626 --iterations 50",
        "--class 10:8 --capacity 1000 --iterations 50",
        "{trace} --capacity 500 --iterations 50 --measured {series}",
    ],
    "recommend": [
        f"{_TWO} --capacity 1600 {_RUN} --runs 2 --rate 40 --slo ttft_p99=9s --watermark 0.05 "
        "--max-num-seqs 9 --price 2",
        "sample:vllm-rtx4090 --runs 1 --watermark 0.05 --max-num-seqs 256",
    ],
    "size": [
        f"{_TWO} --qps 20 {_RUN} --runs 1 --slo ttft_p99=2s --within 1/3 --price 2",
        f"{_TWO} --find rate --capacity 800 {_RUN} --runs 1 --slo ttft_p99=2s --within 1/3",
    ],
    "compare": [
        f"{_TWO} --capacity 800 {_RUN} --rate 40 --engine vllm --engine sglang --runs 2 --price 2",
    ],
    "replay": ["sample:vllm-rtx4090"],
    "log": ["sample:vllm-rtx4090"],
    "clocks": ["", "vidur-llama3-8b-a100"],
    "mix": ["--class 300:5 --class 300:6 --nodes 2 --capacity 10000 --max-imbalance 2"],
    "wait": [
        "--type 1:1:1 --type 1:1:2 --d0 0.1 --d1 0.1 --capacity 200 --unknown-lengths --seeds 1 "
        "--run-time 50",
        "{trace} --capacity 20000 --d0 1 --d1 1e-4 --no-simulate --bins 2",
        "--type 1:1:1 --type 1:1:2 --d0 0.1 --d1 0.1 --capacity 9 --no-simulate --threshold 1 "
        "--threshold 1",
    ],
    "cache": ["--generator loop --capacity 1000"],
    "route": [
        "--generator gsp --set groups=2 --set queries=4 --workers 2 --capacity 20000 "
        "--router random --router lbgr --seeds 2 --jobs 1 --affinity",
        "--generator gsp --set groups=2 --set queries=2 --workers 2 --capacity 20000 "
        "--router random --seeds 1 --jobs 1 --engine vllm",
    ],
    "preempt": [
        f"{_TWO} --capacity 320 {_RUN} --seeds 2 --victim random --victim last-admitted --rate 90 "
        "--slo 1.5",
    ],
    "price": [f"{_SMALL} --policy return --policy return-pooled --policy token-pd"],
    "threshold": ["5 9 --share 1/2"],
    "equilibria": ["--class 5:4 --capacity 1000"],
    "cascade": ["--class 2:3 --capacity 24 --start 5/2,2,17/10 --exact"],
    "pulse": ["2 4 --input 50 --share 1/2 --capacity 626"],
    "table": ["", "6"],
    "verify": ["congestion.example-2"],
    "oracle": [str(OURS)],
    "figure": [""],
    "sweep": [f"{SWEEP} --out {{out}} --workers 1"],
    "bench": ["--quick --only certified"],
}

CASES["atlas"] = ["--out {out} --longest 2 --workers 1 --share 1/2"]
THOROUGH = {"table"}
"""Of which no case is cheap."""
