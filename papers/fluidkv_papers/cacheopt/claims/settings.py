"""CacheOPT, Table 1 and sections 2.1 to 2.3: printed numbers and words held against each other.

What a device can serve at best is arithmetic on the model's shape and the device's data sheet; that
the experiments ran on such a device, one for each copy of OPT-13B, is printed.
"""

import numpy as np

from fluidkv.ledger import Evidence, Finding, Origin
from fluidkv_papers.cacheopt.instances import opt_13b, table_1
from fluidkv_papers.cacheopt.instances.table_1 import TABLE_1, number
from fluidkv_papers.cacheopt.paper import statements

CLAIMS = statements(origin=Origin.READING)
AT_TABLE_1 = CLAIMS.section("table-1", "Table 1 and section 2.1", evidence=Evidence.FLOAT)

_OUTPUTS = "all outputs of 1 to 1041 tokens"
_ROOFLINE = "Table 1, and the peaks of an A100 with 80 GB"


@CLAIMS.fails("section-2-1.hours", "Table 1 and section 2.1", kind="table")
def _hours() -> Finding:
    """At its mean rate the requests of a trace last for the three hours of the OPT-13B experiments.

    Note: Traces may have been repeated, or rates lower; neither is said. One hour, for OPT-175B, is
    longer than Alpaca and ShareGPT last, too."""
    hours = {name: number(row.requests) / number(row.rate) / 3600 for name, row in TABLE_1.items()}
    short = [name for name, value in hours.items() if value < table_1.HOURS["OPT-13B"]]
    return Finding(
        not short,
        ", ".join(f"{name} {value:.2f} h" for name, value in hours.items()),
        paper=f"{table_1.HOURS['OPT-13B']} hours",
    )


@CLAIMS.fails("section-2-1.positions", "Table 1 and section 2.1", kind="table")
def _positions() -> Finding:
    """With prompts divided into 2048 tokens, prompts and outputs fit the 2048 positions of OPT.

    Note: Prompts of the other two traces are longer still; their cutting is not mentioned."""
    most = {
        name: min(number(row.input.most), table_1.PROMPT_PIECE if name == "bookcorpus" else 10**9)
        for name, row in TABLE_1.items()
    }
    longest = {name: most[name] + number(TABLE_1[name].output.least) for name in most}
    return Finding(
        all(value <= opt_13b.POSITIONS for value in longest.values()),
        "the longest prompt and the shortest output: "
        + ", ".join(f"{name} {value:.0f}" for name, value in longest.items()),
        paper='"to meet the requirements of the LLM models"',
    )


@CLAIMS.fails("section-2-5.sweet-spot", "Table 1 and section 2.5", kind="table")
def _sweet_spot() -> Finding:
    """Each trace has sequences above the sweet spot of 4000 tokens, which are swapped.

    Paper: without the choice between the two, tail TTFT is 28 % higher (section 5.2)
    Note: The longest prompt with the longest output; where neither passes 4000 tokens, to choose is
    to compute again, which is the variant without the choice."""
    longest = {
        name: (table_1.PROMPT_PIECE if name == "bookcorpus" else number(row.input.most))
        + number(row.output.most)
        for name, row in TABLE_1.items()
    }
    return Finding(
        all(value > table_1.SWEET_SPOT for value in longest.values()),
        ", ".join(f"{name} at most {value:.0f}" for name, value in longest.items()),
    )


@AT_TABLE_1.fails("rate.sharegpt", checked=f"{_ROOFLINE}; every coupling of inputs and outputs")
def _sharegpt() -> Finding:
    """One A100 can serve OPT-13B at 28 requests/s of ShareGPT, whatever manages its memory.

    Paper: 28/s
    Note: Each output reads the cache of all tokens before it. A memory full of cache, all of it and
    all weights read once an iteration at 2.039 TB/s, prompts free of charge: so the queue grows
    throughout, and waiting is as long as the experiment."""
    # Whatever the lengths beside their means and bounds, since the least demand is taken.
    least = _least_held(TABLE_1["sharegpt"])
    rate = number(TABLE_1["sharegpt"].rate)
    most = opt_13b.most_held_per_s(opt_13b.ALL_OF_IT)
    return Finding(
        rate * least <= most,
        f"at most {most / least:.1f}/s; {most / _held('sharegpt'):.1f}/s if inputs and "
        "outputs are independent and of greatest entropy, without prompts",
    )


@AT_TABLE_1.fails("rate.bookcorpus", checked=f"{_ROOFLINE}; lengths of greatest entropy")
def _bookcorpus() -> Finding:
    """One A100 can serve OPT-13B at 1.2 requests/s of BookCorpus, with independent lengths.

    Paper: 1.2/s
    Note: If 1.2/s are whole prompts. In pieces of 2048 tokens, each with an output of its own and
    at 1.2 pieces/s, it is less."""
    rate = number(TABLE_1["bookcorpus"].rate)
    load = rate / _capacity("bookcorpus")
    return Finding(load <= 1, f"{load:.2f} of what it can serve at best")


@CLAIMS.fails(
    "figure-4.full.alpaca",
    "Table 1 and Figure 4",
    checked=f"{_ROOFLINE}; iterations up to five times as long as they need to be",
    evidence=Evidence.FLOAT,
)
def _alpaca() -> Finding:
    """At 32 requests/s of Alpaca all systems fully allocate the KV cache.

    Paper: all systems fully allocate the KVC"""
    # Little's law: as many run at once as tokens come out in one iteration.
    # An iteration of T seconds is s (d0 + d1 x running + d2 x prompts in it), and both of the
    # latter are in proportion to T: of a request half of the outputs are held on average, or fewer.
    row, slower, padding = TABLE_1["alpaca"], 5, table_1.PADDING["rlp"]
    inputs, outputs, rate = number(row.input.mean), number(row.output.mean), number(row.rate)
    reads = _held("alpaca") * rate * opt_13b.PER_KV_TOKEN_S
    prompts = inputs * rate * opt_13b.PER_PROMPT_TOKEN_S
    granted = inputs + outputs + padding + opt_13b.BLOCK_SIZE  # and the rest of a block

    def running(slower: float) -> float:
        return rate * outputs * slower * opt_13b.BASE_S / (1 - slower * (reads + prompts))

    shares = [running(s) * granted / opt_13b.CAPACITY for s in (1, slower)]
    return Finding(
        shares[1] >= 1,
        f"{100 * shares[0]:.0f} % at the roofline, {100 * shares[1]:.0f} % at {slower} times "
        f"its durations, with RLP's padding of {padding}",
        note=f"{running(1):.0f} and {running(slower):.0f} requests run at once. The figure is of "
        "means over the three traces, and does not say of which rate.",
    )


@CLAIMS.claim("section-2-2.padding-and-bucket.back", "section 2.2", checked=_OUTPUTS)
def _back() -> Finding:
    """With the two exchanged back, S3 gives less memory than RLP to each request that is predicted
    right.

    Paper: S3 adds 12 to 17 % more requests to the batch per iteration"""
    padding, over = table_1.PADDING["rlp"], _over(table_1.BUCKET["s3"])
    return Finding(
        bool(over.max() < padding),
        f"{over.min()} to {over.max()} tokens over, {over.mean():.1f} in the mean; RLP {padding}",
    )


@CLAIMS.fails(
    "section-2-2.padding-and-bucket",
    "section 2.2, with section 2.1",
    origin=Origin.PRINTED,
    checked=_OUTPUTS,
)
def _padding_and_bucket() -> Finding:
    """With the padding of 100 tokens that section 2.2 gives S3, and the buckets of 50 that it gives
    RLP, S3 gives less memory to a request that is predicted right, and so adds more requests.

    Paper: since S3 adds 100-token padding while RLP's bucket size is 50
    Note: The names are exchanged.
    Holds: section-2-2.padding-and-bucket.back"""
    # The sentence after "since", with the numbers of section 2.1 and its own names.
    padding, over = table_1.PADDING["rlp"], _over(table_1.BUCKET["s3"])
    less = np.flatnonzero(over <= padding)
    return Finding(
        (not less.size)
        or f"an output of {less[0] + 1} token: RLP {over[less[0]]} over, S3 {padding}",
        f"RLP would be {over.min()} to {over.max()} tokens over, S3 {padding}; by section 2.1 RLP "
        f"adds {padding} and S3 has buckets of {table_1.BUCKET['s3']}",
    )


@CLAIMS.fails("section-2-3.concave", "section 2.3")
def _concave() -> Finding:
    """A pattern that first falls and then rises can be concave.

    Checked: all sequences of 3 to 6 values from 0 to 3 that fall and then rise
    Note: Some call convex functions concave up."""
    # It has three values in a row, not all equal, of which the middle is least.
    concave = count = 0
    for size in range(3, 7):
        for values in np.ndindex(*[4] * size):
            steps = np.diff(values)
            falls = np.flatnonzero(steps < 0)
            rises = np.flatnonzero(steps > 0)
            if falls.size and rises.size and falls.max() < rises.min():
                count += 1
                concave += bool((np.diff(steps) <= 0).all())
    return Finding(
        concave > 0,
        f"none of {count}: convex is meant, or quasi-convex",
        paper='"a concave pattern, initially decreasing [...] and then increasing"',
    )


def _over(width: int) -> np.ndarray:
    """What buckets of a width give each output of 1 to the most of BookCorpus too many."""
    outputs = np.arange(1, int(number(TABLE_1["bookcorpus"].output.most)) + 1)
    return -(-outputs // width) * width - outputs


def _held(name: str) -> float:
    """Tokens held times iterations, the mean of a request: l0 + j for its output j = 0, 1, ..."""
    return sum(
        float(c.share)
        * (c.input_length * c.decode_length + c.decode_length * (c.decode_length - 1) / 2)
        for c in table_1.workload(name).classes
    )


def _capacity(name: str) -> float:
    """Requests a second at the best: prompts, and decodes at a full memory."""
    prompt = float(table_1.workload(name).mean_input_length) * opt_13b.PER_PROMPT_TOKEN_S
    return 1 / (_held(name) / opt_13b.most_held_per_s() + prompt)


def _least_held(row: table_1.Trace) -> float:
    """The least such mean over all joint lengths with the printed means and bounds.

    A linear programme. In l0 the cost is linear, so only its ends matter.
    """
    from scipy.optimize import linprog

    least, most = (int(number(text)) for text in (row.output.least, row.output.most))
    outputs = np.tile(np.arange(least, most + 1), 2)
    ends = [number(row.input.least), number(row.input.most)]
    inputs = np.repeat(ends, most + 1 - least)
    held = inputs * outputs + outputs * (outputs - 1) / 2
    found = linprog(
        held,
        A_eq=np.stack([np.ones_like(inputs), inputs, outputs]),
        b_eq=[1, number(row.input.mean), number(row.output.mean)],
        method="highs",
    )
    return float(found.fun)
