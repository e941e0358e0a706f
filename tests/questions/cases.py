"""Small command lines of each question, which together show all that it says."""

from fractions import Fraction

from tests.cli.json_cases import CASES as SHOWN

GSP = "--generator gsp --order round-robin --set groups=6 --set queries=8 --set lengths=10,20"
_FEW = "--generator gsp --set groups=2 --set queries=3 --set lengths=40,80 --workers 2 --jobs 1"
_SMALL = "--generator mixed --requests 7 --length 12 --prompt 3 --budget 20"

_FOUR = "--class 300:5 --class 300:10 --class 300:6 --class 300:12"
_MASS = Fraction(2000, 232)
LONGER = ",".join(map(str, [_MASS + 1, *[_MASS] * 6, _MASS - Fraction(11, 18)]))
"""A start of eight stages that fills 1,000 tokens with inputs of 10."""
_TWO = "--class 8:10 --class 30:20 --block-size 4"
_TIMED = f"{_TWO} --clock 0.1:1e-4:2e-3"
PREEMPTS = f"{_TIMED} --capacity 128 --rate 4 --requests 24 --seeds 2"
FEW = "--victim fewest-outputs --victim most-blocks"
COMPARES = f"{_TIMED} --capacity 160 --rate 4 --requests 40 --runs 3"
RECOMMENDS = "--class 8:10 --class 8:20 --capacity 400 --requests 104 --runs 2"
"""Requests for 20 iterations, as long as the longest answer."""
TRIED = "--watermark 0,0.1 --max-num-seqs 12,20 --rate-cap 1/2"
LOGGED = "sample:vllm-rtx4090 --watermark 0.05 --max-num-seqs 34"
ENGINES = "--engine vllm --engine trtllm-no-evict"

_SIZED = "--class 40:30 --class 120:60 --clock 0.01:1e-6:1e-5 --qps 8 --requests 30 --runs 1"
SIZED = f"{_SIZED} --slo ttft_p99=0.5s --slo tpot_p99=30ms --within 0.2 --price 2"
_TYPES = "--type 1:1:1 --type 1:1:2"
_NESTED = f"{_TYPES} --d0 0.1 --d1 0.1 --capacity 200 --unknown-lengths"
_MANY = " ".join(f"--type 1/{7 * k}:1000:{k * 997}" for k in range(1, 13))
_MANY += " --d0 0.0149 --d1 2.6e-9"

CASES: dict[str, list[str]] = {
    "replay": [*SHOWN["replay"], "sample:vllm-rtx4090 --fit second --engine vidur-sarathi"],
    "atlas": ["--longest 3 --workers 1 --share 1/2 --share 0.1"],
    "study": [
        *SHOWN["study"][:2],
        "--class 200:40 --class 300:55 --capacity 20k --sliding-window 128:1/2 --iterations 50 "
        "--speculative 3:0.6 --prefill-chunk 64",
        "--class 5:3 --class 6:3 --capacity 1GB --model gpt-oss-20b --iterations 50",
    ],
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
    "preempt": [
        f"{PREEMPTS} --slo 0.5:2.5",
        f"{PREEMPTS} {FEW} --seeds 1 --slo ttft=2s --slo tbt=400ms --swap-per-token 1e-4",
        f"{_TWO} {FEW} --capacity 128 --requests 40 --seeds 2",
    ],
    "recommend": [
        f"{RECOMMENDS} {TRIED} --clients 25 --clock 0.01:1e-6:1e-4 --slo preemptions=0 --price 2",
        f"{RECOMMENDS} --max-num-seqs 12 --engine sglang --block-size 1",
        f"{RECOMMENDS} --rate 1/2 --now watermark=0.01 --draws 3 --horizon 60",
        f"{LOGGED} --draws 2 --price 1",
    ],
    "compare": [
        f"{COMPARES} {ENGINES} --price 2",
        f"{_TIMED} --capacity 160 --clients 4 --requests 12 --runs 2 --crossover --price 1",
    ],
    "size": [
        f"{SIZED} --draws 5 --horizon 200 --capacity 640 --slo preemptions=3",
        f"{SIZED} --draws 0 --find rate --capacity 64b",
        f"{SIZED} --draws 4 --horizon 100 --find replicas --capacity 512 --engine sglang",
    ],
    "price": [
        f"{_SMALL} --seeds 2 --policy return --policy return-pooled --policy token-pd",
        f"{_SMALL} --seeds 1 --policy h2o --policy token-pd-hard --predictor oracle",
    ],
    "mix": SHOWN["mix"],
    "threshold": [*SHOWN["threshold"], "5 9 --share 1/2 --bound 9"],
    "equilibria": [*SHOWN["equilibria"], "--class 5:9 --capacity 1000 --gaps 4,1,3,1"],
    "cascade": [*SHOWN["cascade"], f"--class 10:8 --capacity 1000 --start {LONGER}"],
    "pulse": SHOWN["pulse"],
    "oracle": SHOWN["oracle"],
    "wait": [f"{_NESTED} --seeds 2 --run-time 60"],
}

WIDE: dict[str, list[str]] = {
    "study": [
        f"{classes} --capacity 100000 --iterations 50"
        for classes in (
            "--class 5:1",
            "--class 5:400",
            "--class 20:1000",
        )
    ],
    "mix": [
        f"{_FOUR} --nodes 2 --capacity 1e15 --max-imbalance 1.05",
        "--class 512:1 --nodes 1",
        "--class 512:20 --class 512:21 --nodes 3",
        "--class 1000000:20 --class 1000000:21 --class 30:7 --class 1000000:22 --nodes 2",
        " ".join(f"--class {100000 + n}:{n}" for n in range(5, 15)) + " --nodes 2",
    ],
    "threshold": [
        "2 4 --share 1/2",
        "1 2 --share 0.1",
        f"3 4 5 7 11 {'--share 0.123456789 ' * 4}",
        "2 3 --share 1/2 --ratio 1e15 --ratio 1/700000",
        "127 255 509 --share 1/3 --share 1/3",
        "5 9 --share 1/2 --bound 1000000000000000000",
        "499 500 --share 1/2",
    ],
    "equilibria": [
        "--class 20:34 --capacity 1234567890123 --level 2",
        "--class 3:1 --capacity 13/3",
    ],
    "cascade": [f"--class 10:8 --capacity 1000 --start {LONGER} --exact"],
    "pulse": [
        "6 9 --input 1 --share 0.05 --capacity 1e15",
        "500 1000 --input 99999 --share 1/999 --capacity 5000001/7",
        "2 4 --input 1 --share 2/5 --capacity 60",
    ],
    "wait": [
        f"{_TYPES} --d0 0.1 --d1 0.1 --capacity 9 --seeds 2 --run-time 60",
        f"{_TYPES} --d0 0.1 --d1 0.1 --capacity 8 --no-simulate",
        f"{_MANY} --capacity 41408 --no-simulate",
        f"{_MANY} --capacity 41408 --no-simulate --unknown-lengths",
        f"{_TYPES} --clock iteration --capacity 1e9 --no-simulate",
        f"{_NESTED} --segment 1 --segment 2 --threshold 14 --threshold 8 --no-simulate",
    ],
}
"""Lines whose text has long numbers or many rows: whether it fits is looked at, and no more."""

NEEDED: dict[str, str] = {
    "replay": "",
    "atlas": "--longest 2 --workers 1",
    "study": "--capacity 320",
    "cache": "",
    "route": "--workers 2 --capacity 400",
    "preempt": "--capacity 320",
    "recommend": "--capacity 40000",
    "compare": f"--capacity 320 {ENGINES}",
    "size": "--slo ttft_p99=2s",
    "price": "--budget 20",
    "mix": "--class 30:5 --class 30:6 --nodes 2",
    "threshold": "5 9",
    "equilibria": "--class 2:3 --capacity 100 --level 1",
    "cascade": "--class 2:3 --capacity 24 --start 5/2,2,17/10 --iterations 5",
    "pulse": "2 4 --input 50 --share 1/2 --capacity 626",
    "oracle": "no-such-file",
    "wait": "--capacity 40000 --d0 1 --d1 1",
}
"""Options that have to be given, as they may be."""
