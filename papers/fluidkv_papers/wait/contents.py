"""What the paper WAIT has: numbered items, in our words, and why some have no claim.

Formulas and most pictures are lost in our copy; names of equations say what the text around them
does.
"""

CONTENTS: dict[str, dict[str, str]] = {
    "theorem": {
        "1": "WAIT: memory, throughput, latency",
        "2": "Nested WAIT: the same, with a safety buffer",
        "3": "with rates that change",
        "4": "with types merged into segments",
    },
    "proposition": {
        "1": "when every policy is overloaded",
        "2": "the fluid throughput bounds all",
        "3": "first come, first served loses",
        "4": "no policy has less latency",
        "5": "not knowing outputs costs",
    },
    "lemma": {
        "1": "queue and time stuck",
        "2": "a chain that dominates",
        "3": "Lindley's representation",
        "4": "the largest of a random walk",
        "5": "the throughput gap",
        "6": "the chain of several types",
        "7": "the chain of a segment",
        "8": "the root eta",
        "9": "the chain with changing rates",
    },
    "remark": {"1": "on an assumption"},
    "example": {
        "1": "memory grows until some are evicted",
        "2": "an eviction cascade",
        "3": "outputs that are not known",
    },
    "algorithm": {"1": "WAIT", "2": "Nested WAIT"},
    "equation": {
        "1": "time of an iteration",
        "2": "the memory constraint",
        "3": "the problem: throughput, with bounded delays",
        "4": "memory in equilibrium, one type",
        "5": "the same, solved",
        "6": "throughput in equilibrium",
        "7": "memory in equilibrium, several types",
        "8": "the same, solved",
        "9": "time of an iteration in equilibrium",
        "10": "throughput, several types",
        "11": "thresholds of WAIT",
        "12": "thresholds of Nested WAIT",
        "13": "its peak memory",
        "14": "its memory with the buffer",
        "15": "its thresholds for changing rates",
        "16": "its thresholds for merged types",
        "17": "its memory for merged types",
        "18": "time of a full batch",
        "19": "(11) in the appendix",
        "20": "the equation of eta",
        "21": "the root eta at the worst share",
        "22": "a bound on eta",
    },
    "figure": {
        "1": "how a prompt is served",
        "2": "batches in time",
        "3": "time of an iteration, measured",
        "4": "WAIT, pictured",
        "5": "Nested WAIT, pictured",
        "6": "Nested WAIT, step by step",
        "7": "WAIT against others, low rates",
        "8": "WAIT against others, high rates",
        "9": "lengths of a real data set",
        "10": "inputs by output",
        "11": "Nested WAIT, three types",
        "12": "ten types, moderate load",
        "13": "ten types, high load",
        "14": "the real data set",
        "15": "rates by output",
        "16": "memory by segments and rate",
        "17": "memory by segments and horizon",
        "18": "memory by segments and confidence",
    },
    "table": {"1": "notation"},
}

_DRAWING, _LOST = "a drawing, no numbers", "its numbers are not in our copy"

WITHOUT: dict[str, str] = {
    **{f"figure {n}": _DRAWING for n in (1, 2, 4, 5, 6)},
    **{f"figure {n}": f"{_LOST}; drawn with ours" for n in (7, 8, *range(11, 19))},
    **{f"figure {n}": _LOST for n in (3, 9, 10)},
    "algorithm 1": "run in `fluidkv.wait`; theorems about it are checked",
    "algorithm 2": "run in `fluidkv.wait`; theorems about it are checked",
    "equation 14": "Theorem 2, which is checked",
    "equation 20": "Lemma 8, which is checked",
}
"""Why an item has no claim of its own; read only where it has none."""
