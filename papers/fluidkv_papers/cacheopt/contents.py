"""What the paper CacheOPT has: numbered items, in our words, and why some have no claim."""

CONTENTS: dict[str, dict[str, str]] = {
    "observation": {
        "1": "by block: preemptions and TBT; by prediction: waiting and TTFT",
        "2": "too little memory increases TBT, too much TTFT; the padding depends on the rate",
        "3": "first come first served preempts more often and for longer than SRTF and LKVO",
        "4": "past a length swapping is faster than recomputing",
    },
    "equation": {
        "1": "Hoeffding's inequality",
        "2": "the same for one length and its prediction",
        "3": "padding for a confidence",
        "4": "confidence for an arrival rate",
    },
    "figure": {
        "1": "execution, preemption and waiting times by trace, OPT-13B",
        "2": "the same for OPT-175B, and preemptions",
        "3": "requests added an iteration",
        "4": "token budget used, and memory allocated",
        "5": "tokens given too many and too few",
        "6": "latency by padding and arrival rate",
        "7": "preemption policies: tail preemption time, preemptions",
        "8": "latency of swapping and of recomputing by length",
        "9": "architecture",
        "10": "the predicting model",
        "11": "embedding, pictured",
        "12": "tails, attainments and normalised latency, OPT-13B",
        "13": "the same for OPT-175B",
        "14": "ablation, OPT-13B",
        "15": "ablation, OPT-175B",
        "16": "time of scheduling",
        "17": "sensitivity: scale, block, iterations ahead, reserve, alpha, beta, confidence",
    },
    "table": {
        "1": "lengths and rates of the traces",
        "2": "notation",
    },
    "section": {
        "1": "introduction",
        "2.1": "experiment settings of the measurements",
        "2.2": "allocation methods",
        "2.3": "padding",
        "2.4": "preemption policies",
        "2.5": "swapping or recomputing",
        "3.1": "overview",
        "3.2": "padding by confidence",
        "3.3.1": "embedding",
        "3.3.2": "who is selected, and what each is given",
        "3.3.3": "allocating ahead, and a reserve for all",
        "3.4": "preemption policy",
        "3.5": "choice of swapping or recomputing",
        "4": "implementation",
        "5": "experiment settings of the evaluation",
        "5.1": "comparison",
        "5.2": "ablation",
        "5.3": "time overhead",
        "5.4": "sensitivity",
        "6": "limitations",
        "8": "conclusion",
    },
}

_DRAWING, _PICTURE = "a drawing, no numbers", "its numbers are in a picture that our copy lacks"

WITHOUT: dict[str, str] = {
    **{f"figure {n}": _DRAWING for n in (9, 10)},
    **{f"figure {n}": _PICTURE for n in (1, 2, 5, 13)},
    "figure 11": "a drawing; section 3.3.1 has its numbers",
    "figure 15": _PICTURE,
    "table 2": "notation",
    "section 3.3.3": "simulated in Figures 14 (/PA, /GR) and 17c, 17d",
    "section 3.4": "an order: its parts are in Observation 3, what it does in Figure 14 (/PP)",
    "section 3.1": "a list of the following sections",
    "section 4": "names of functions",
}
"""Why an item has no claim of its own; read only where it has none."""

REMARKS: dict[str, str] = {
    "section 1": "it announces three problems, and lists four.",
    "section 2.1": "a p4d.24xlarge has GPUs of 40 GB by its vendor's post; the 80 GB of the text "
    "are those of a p4de. Model and tensor parallelism of degree 2 make 4 GPUs, not 8, and the 350 "
    "GB of 175 billion parameters of two bytes exceed their 320 GB; a third way of partitioning, "
    "or two replicas, would use 8.",
    "section 2.2": "S3 has less preemption time and less waiting time than RLP. By Figure 6 "
    "padding lowers the one and raises the other, so that the padding does not explain both; S3 "
    "also doubles what was too little, and swaps.",
    "section 5": "the default B is 8 tokens; that of section 3.3.2 is 8 blocks, of 32 tokens by "
    "section 2.1. Both are examples of something small.",
    "section 5.2": "it averages over four models; two are named, one in each of Figures 14 and 15.",
}
"""What a reader sees by putting sentences side by side: there is nothing that a check could run."""
