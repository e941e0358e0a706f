"""What the paper Token-PD has: numbered items, in our words, and why some have no claim."""

CONTENTS: dict[str, dict[str, str]] = {
    "equation": {
        "1": "memory of a token",
        "2": "utility of a batch: mean, variance, penalty of evictions",
        "3": "the budget",
        "4": "who is kept: excess value not negative",
        "5": "the price, by exponentiated steps",
        "A.1": "the problem of a round, relaxed",
        "A.2": "who is kept, as (4)",
        "A.3": "regret and violation of the order of sqrt(T)",
    },
    "table": {
        "1": "memory, throughput, latency and quality at 256 streams",
        "2": "the same at 128 and 512 streams",
    },
    "section": {
        "1": "introduction",
        "2": "background and motivation",
        "3": "tokens as assets: cost, return, risk, utility, regret",
        "4": "predictor, price and guarantee",
        "5": "implementation inside vLLM",
        "6": "evaluation, ablation, sensitivity",
        "7": "related work",
        "8": "conclusion, limitations, outlook",
    },
    "appendix": {
        "A": "proof of the bounds",
        "B": "other loads",
    },
}

WITHOUT: dict[str, str] = {
    "section 7": "what other work does",
    "equation A.1": "with Appendix A: the objective beside (2), and its Lagrangian",
    "equation A.3": "with section 4: the guarantee",
}
"""Why an item has no claim of its own; read only where it has none."""

REMARKS: dict[str, str] = {
    "section 5": "vLLM exposes two callback sites, it says, CacheInsert and CacheEvict. Neither "
    "name is in the stored versions of vllm/core/evictor.py, vllm/v1/core/block_pool.py and "
    "csrc/cache.h that were read, nor in what a search found of vLLM's issues and documentation; "
    "other versions may have them. What is evicted there are blocks that no running request holds.",
}
"""What a reader sees by putting texts side by side: there is nothing that a check could run."""
