"""A small sweep of each analysis, of four points and more."""

from typing import Any

from tests.sweeps.conftest import MAP

_ONE = {"input_length": 5, "decode_length": 4, "starts": 4, "iterations": 200}
_TWO = {"input_length": [2, 9], "decode_length": [2, 3], "starts": 3, "iterations": 120}
_SERVER = {"input_length": [5, 9], "decode_length": [6, 3], "requests": 20, "block_size": 4}

_TWO_BY_TWO = {"input_length": 5, "decode_length": [2, 4], "capacity": 90}

CASES: dict[str, dict[str, Any]] = {
    "stability": MAP,
    "stability_map": {
        "settings": MAP["settings"],
        "grid": {"share": ["1/10", "9/10"], "input_length": [1, 2, 4, 8, 16]},
    },
    "threshold": {
        "settings": {"decode_length_0": 3},
        "grid": {"decode_length_1": [4, 6], "share": {"from": "1/4", "to": "3/4", "count": 3}},
    },
    "basins": {"settings": _ONE, "grid": {"capacity": [50, 60], "seed": [0, 1]}},
    "convergence": {"settings": _TWO | {"capacity": 90}, "grid": {"share": ["1/3", "1/2"]}},
    "attractors": {
        "settings": _ONE | {"iterations": 600, "longest_period": 20},
        "grid": {"capacity": [60, 90], "seed": [0, 1]},
    },
    "simulate": {
        "settings": _TWO,
        "sobol": {
            "points": 5,
            "capacity": {"from": 40, "to": 200, "scale": "log"},
            "share": {"from": "1/10", "to": "9/10", "denominator": 20},
        },
    },
    "serve": {
        "settings": _SERVER,
        "grid": {"engine": ["vllm", "sglang"], "capacity": [32, 64], "seed": [0, 1]},
    },
    "preempt": {
        "settings": _SERVER | {"capacity": 20, "rate": 50, "clock": "0.01:1e-6:1e-5"},
        "list": {
            "victim": ["none", "least-computed", "longest-remaining"],
            "max_num_seqs": ["none", 4, 3],
        },
    },
    "wait": {
        "settings": {
            "arrival_rate": [1, 1],
            "input_length": 1,
            "decode_length": [1, 2],
            "base": "0.1",
            "per_kv_token": "0.01",
            "run_time": 20,
        },
        "grid": {"threshold": [1, [2, 1], 4], "memory": ["none", 9]},
    },
    "equilibria": {
        "settings": {"capacity": 1000},
        "list": {"input_length": [5, 6], "decode_length": [4, 3]},
    },
    "pulse": {"settings": _TWO_BY_TWO, "grid": {"share": ["1/3", "1/2"]}},
    "route": {
        "settings": {"generator": "gsp", "groups": 2, "queries": 3, "lengths": 64, "workers": 2},
        "grid": {"router": ["lbgr", "round-robin"], "capacity": [300, 600], "seed": [0, 1]},
    },
    "size": {
        "settings": {
            "input_length": 20,
            "decode_length": 10,
            "rate": 20,
            "clock": "0.01:1e-6:1e-5",
            "ttft_p99": "0.2",
            "engine": "vllm",
            "requests": 40,
            "within": "0.2",
        },
        "grid": {"seed": [0, 1]},
    },
    "cache": {
        "seed": 7,
        "settings": {"generator": "loop", "turns": 6},
        "grid": {"capacity": [9, 12, 14], "policy": ["lru", "opt", "random"]},
    },
}


def spec_of(name: str) -> dict[str, Any]:
    return {"analysis": name, **CASES[name]}
