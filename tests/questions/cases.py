"""Small command lines of each question, which together show all that it says."""

GSP = "--generator gsp --order round-robin --set groups=6 --set queries=8 --set lengths=10,20"
_FEW = "--generator gsp --set groups=2 --set queries=3 --set lengths=40,80 --workers 2 --jobs 1"
_SMALL = "--generator mixed --requests 7 --length 12 --prompt 3 --budget 20"

CASES: dict[str, list[str]] = {
    "cache": [
        f"{GSP} --seeds 2 --capacity 40 --capacity 60",
        f"{GSP} --seeds 1 --capacity 40 --granularity nodes",
        f"{GSP} --policy lru --granularity blocks:2 --capacity 1GB --kv-bytes 131072",
    ],
    "route": [
        f"{_FEW} --capacity 400 --router random --router lbgr --seeds 2 --affinity",
        f"{_FEW} --capacity 100b --router random --seeds 1 --engine vllm",
        f"{_FEW} --capacity 900 --router two-choices --seeds 2 --rate 3 --policy rlt",
    ],
    "price": [
        f"{_SMALL} --seeds 2 --policy return --policy return-pooled --policy token-pd",
        f"{_SMALL} --seeds 1 --policy h2o --policy token-pd-hard --predictor oracle",
    ],
}

NEEDED: dict[str, str] = {
    "cache": "",
    "route": "--workers 2 --capacity 400",
    "price": "--budget 20",
}
"""Options that have to be given, as they may be."""
