"""Small command lines of each question, which together show all that it says."""

GSP = "--generator gsp --order round-robin --set groups=6 --set queries=8 --set lengths=10,20"

CASES: dict[str, list[str]] = {
    "cache": [
        f"{GSP} --seeds 2 --capacity 40 --capacity 60",
        f"{GSP} --seeds 1 --capacity 40 --granularity nodes",
        f"{GSP} --policy lru --granularity blocks:2 --capacity 1GB --kv-bytes 131072",
    ],
}

NEEDED: dict[str, str] = {"cache": ""}
"""Options that have to be given, as they may be."""
