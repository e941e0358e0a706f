"""What the paper Routing has: numbered items, in our words, and why some have no claim."""

CONTENTS: dict[str, dict[str, str]] = {
    "lemma": {
        "1": "what the optimum misses in a phase",
        "2": "what L-LRU misses in a phase, if nothing evicted comes back",
        "3": "nothing evicted comes back in its phase",
    },
    "theorem": {
        "4": "competitive ratio of L-LRU, one request at a time",
        "5": "the same in batches",
        "6": "competitive ratio of RLT, one request at a time",
        "8": "no randomized policy is better, one request at a time",
    },
    "corollary": {
        "7": "competitive ratio of RLT in batches",
        "9": "no randomized policy is better in batches",
    },
    "algorithm": {"1": "RLT, evicting random leaf tokens", "2": "LBGR, learned greedy routing"},
    "equation": {
        "1": "service time of a request",
        "2": "load of a worker",
        "3": "cache of a worker",
        "4": "latency as LBGR predicts it",
        "5": "service time as LBGR estimates it",
        "6": "load as LBGR estimates it",
        "7": "cached tokens that a phase evicts",
        "8": "misses of L-LRU in a phase, last request unfinished",
        "9": "L-LRU's ratio from above",
        "10": "the same misses in batches",
        "11": "L-LRU's ratio from above, in batches",
        "12": "expected misses of RLT on stale tokens",
        "13": "RLT's ratio from above",
        "14": "the same, as an order",
        "15": "(12) in batches",
        "16": "(13) in batches",
        "17": "(14) in batches",
        "18": "expected misses of a deterministic policy on random requests",
        "19": "misses of the optimum by phases",
        "20": "requests between two misses of the optimum",
        "21": "expected misses of the optimum",
        "22": "ratio of a deterministic policy on random requests",
        "23": "the same, as an inequality",
        "24": "averaged over policies",
        "25": "for one sequence of requests",
        "26": "the bound from below, as an order",
        "27": "(18) in batches",
        "28": "(19) in batches",
        "29": "(20) in batches",
        "30": "(21) in batches",
        "31": "(22) in batches",
        "32": "(26) in batches",
    },
    "figure": {
        "1": "affinity against balance, pictured",
        "2": "four workloads, six methods",
        "3": "two other models, conversations",
        "4": "documents in round-robin order",
        "5": "request rate",
        "6": "number of workers",
        "7": "cache size",
        "8": "four workloads, Llama 70B",
        "9": "four workloads, Mixtral",
        "10": "shared ratio",
        "11": "requests of a group",
        "12": "output length",
        "13": "requests at once",
        "14": "interval of LBGR's decay",
        "15": "ideas of the proofs, pictured",
    },
    "table": {
        "1": "notation",
        "2": "eviction and routing apart: times and overhead",
        "3": "L-LRU and RLT on one worker",
    },
    "section": {
        "1": "introduction",
        "2": "background",
        "3.1": "costs, loads and caches",
        "3.2": "leaf tokens evicted by LRU",
        "4.1": "leaf tokens evicted at random",
        "4.2": "learned greedy routing",
        "5": "evaluation",
        "6": "limitations and conclusion",
    },
}

_DRAWING, _MODELS = "a drawing, no numbers", "its numbers are in a picture that our copy lacks"

WITHOUT: dict[str, str] = {
    "figure 1": _DRAWING,
    "figure 15": _DRAWING,
    **{f"figure {n}": _MODELS for n in (8, 9)},
    "section 2": "what other work does",
    "section 3.1": "(1) to (3)",
    "section 6": "what is left to do",
    "table 1": "notation",
}
"""Why an item has no claim of its own; read only where it has none."""

REMARKS: dict[str, str] = {
    "algorithm 2": "section 4.2 cites line 13 for the release of load, which stands on line 14.",
}
"""What a reader sees by putting texts side by side: there is nothing that a check could run."""
