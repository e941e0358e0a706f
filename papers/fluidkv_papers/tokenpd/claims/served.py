"""Token-PD, section 6, Tables 1 and 2: rates, times and memory against one another and a model's.

The tables name no model; section 2 speaks of one of 7 billion parameters. What such a model needs
at least is arithmetic: two operations a weight and token, weights read once in each pass.
"""

from collections.abc import Callable
from fractions import Fraction

from fluidkv.ledger import Finding, Origin, Range, Seen
from fluidkv_papers.tokenpd.instances import a100, tables
from fluidkv_papers.tokenpd.instances.models import KV_BYTES, WEIGHTS
from fluidkv_papers.tokenpd.paper import statements

CLAIMS = statements(origin=Origin.READING)

_ROWS = Range("twelve rows", lambda: tables.EVERY, whole=True)
_TABLES = "Tables 1 and 2, with section 6"
_GB = 10**9


def _run_s(load: int, method: str) -> Fraction:
    """How long 1,000 requests last at the printed rate."""
    return tables.REQUESTS / tables.printed(load, method, "throughput")


def _most_inside(load: int, method: str) -> Fraction:
    """Requests in the engine, the most that the mean can be.

    The rate times the mean latency; 95 % of latencies are at most the percentile, none is longer
    than the run.
    """
    percentile = tables.printed(load, method, "latency") / 1000
    mean = Fraction(95, 100) * percentile + Fraction(5, 100) * _run_s(load, method)
    return tables.printed(load, method, "throughput") * mean


def _most_outputs(load: int, method: str) -> int:
    """Passes within the latency, each no faster than its weights are read."""
    a_pass = Fraction(2 * WEIGHTS, a100.BANDWIDTH)
    return int(tables.printed(load, method, "latency") / 1000 / a_pass)


def _most_computed(load: int, method: str) -> int:
    """Tokens of a request, two operations a weight."""
    return int(Fraction(a100.FLOPS, 2 * WEIGHTS) / tables.printed(load, method, "throughput"))


def _from_to(of: Callable[[int, str], Fraction | int]) -> str:
    found = [of(*row) for row in tables.EVERY]
    return f"{int(min(found))} to {int(max(found))}"


def _inside_words() -> str:
    most = {
        load: max(_most_inside(load, m) / load for m in tables.METHODS) for load in tables.LOADS
    }
    return ", ".join(f"{float(share):.0%} of {load}" for load, share in most.items())


@CLAIMS.claim("tables.runs", _TABLES, over=_ROWS)
def _runs(load: int, method: str) -> str | Seen:
    """A run of 1,000 requests lasts for less than three seconds.

    Ours: {min:.2f} to {max:.2f} s
    Paper: three 1000-request runs
    Note: So 50 requests of a run are beyond its 95th percentile."""
    lasts = _run_s(load, method)
    return Seen(lasts) if lasts < 3 else f"{load} streams, {method}: {float(lasts):.2f} s"


@CLAIMS.fails("tables.little", _TABLES, over=_ROWS, ours=f"at most {_inside_words()}")
def _little(load: int, method: str) -> bool | str:
    """As many requests are in the engine at a time, on average over a run, as there are streams.

    Paper: 128, 256 and 512 concurrent streams; 95th percentile of end-to-end latency
    Note: Little's law: as many as the rate times the mean latency. 95 % of latencies are at most
    the percentile, and none is longer than the run. Streams that pause between their requests, or a
    cap that is seldom reached, would fit."""
    most = _most_inside(load, method)
    return most >= load or f"{load} streams, {method}: at most {float(most):.0f}"


@CLAIMS.fails(
    "tables.outputs",
    _TABLES,
    over=_ROWS,
    ours=f"at most {_from_to(_most_outputs)}, with nothing but the weights read",
)
def _outputs(load: int, method: str) -> bool | str:
    """A model of 7 billion weights in 16 bits gives 95 % of requests 25 tokens within the latency.

    Paper: 95th percentile of end-to-end latency: 87 to 145 ms
    Note: A pass takes 6.6 ms or more on an A100, and gives a token. ShareGPT's answers have some
    hundreds. Latency to the first token, or for a token, would fit."""
    most = _most_outputs(load, method)
    return most >= 25 or f"{load} streams, {method}: at most {most} tokens"


@CLAIMS.fails("tables.computes", _TABLES, over=_ROWS, ours=f"at most {_from_to(_most_computed)}")
def _computes(load: int, method: str) -> bool | str:
    """A model of 7 billion weights can compute 100 tokens for each request at the printed rate.

    Paper: 338 to 811 requests/s on a single A100-80GB
    Note: Prompt and output together, two operations a weight and token, all the operations of the
    data sheet; what prefix caches skip does not count. Models of a tenth of the size can."""
    most = _most_computed(load, method)
    return most >= 100 or f"{load} streams, {method}: at most {most} tokens"


@CLAIMS.fails(
    "tables.weights-inside", "Tables 1 and 2, with section 2", over=tables.METHODS, whole=True
)
def _weights_inside(method: str) -> bool | str:
    """With 13.5 GB of weights inside, what is left of peak memory at most doubles from 128 streams
    to 256.

    Checked: four methods
    Ours: it grows by 2.5 to 3.4 times
    Paper: peak memory is the maximum resident-set size
    Note: Twice the streams of one trace hold twice as much on average. Without weights it holds, as
    if peak memory were that of the caches.
    Holds: tables.in-proportion"""
    few, many = (
        tables.printed(load, method, "memory") - Fraction(2 * WEIGHTS, _GB) for load in (128, 256)
    )
    return many <= 2 * few or (
        f"{method}: {float(few):.1f} and {float(many):.1f} GB, {float(many / few):.2f} times"
    )


@CLAIMS.claim(
    "tables.in-proportion",
    "Tables 1 and 2",
    over=tables.METHODS,
    whole=True,
    ours=lambda seen: ", ".join(f"{float(x):.2f}" for x in seen) + " times",
)
def _in_proportion(method: str) -> str | Seen:
    """Peak memory itself at most doubles from 128 streams to 256.

    Checked: four methods
    Paper: 77.2 GB at 256 streams, 39.0 GB at 128"""
    ratio = tables.printed(256, method, "memory") / tables.printed(128, method, "memory")
    return Seen(ratio) if ratio <= 2 else method


@CLAIMS.claim("tables.tokens-held", "Tables 1 and 2, with (1)")
def _tokens_held() -> Finding:
    """If peak memory is that of the caches, FIFO's is 500 to 600 tokens a stream of Llama 7B at 128
    and 256 streams, and Token-PD's less than half of them at 256.

    Checked: 524,288 bytes a token
    Paper: 39.0, 77.2, 18.8 and 31.6 GB; top-k = 1024 for H2O
    Note: The lengths of chats. H2O's 1,024 tokens are more than any of these means, so that it can
    evict from the longest requests alone."""
    held = {
        (load, method): tables.printed(load, method, "memory") * _GB / load / KV_BYTES
        for load in (128, 256)
        for method in ("FIFO", tables.OURS)
    }
    fits = all(500 <= held[load, "FIFO"] <= 600 for load in (128, 256))
    bad = None if fits and 2 * held[256, tables.OURS] < held[256, "FIFO"] else "not so"
    return Finding(
        bad,
        "; ".join(
            f"{load} streams, {method}: {float(tokens):.0f}"
            for (load, method), tokens in held.items()
        ),
    )


@CLAIMS.fails("section-6.compute", "section 6, with Table 1")
def _compute() -> Finding:
    """With 90 % of the GPU's compute used under naive caching, another policy can complete 1.3
    times as many requests a second.

    Checked: the printed numbers
    Paper: ~90 % of its compute; 811 against 612 requests/s
    Note: Weights are multiplied with each token whatever is cached, and what was evicted is
    computed again. A share of time in which some kernel runs, as tools report it, would fit."""
    room = 1 / Fraction(9, 10)
    bad = [method for method in tables.METHODS[1:] if tables.times(256, "FIFO", method) > room]
    return Finding(
        not bad or f"{bad[0]}: {float(tables.times(256, 'FIFO', bad[0])):.2f} times",
        f"{float(room):.2f} times at most",
    )


@CLAIMS.fails("section-6.because-of-transfers", "section 6, results, with Table 2")
def _because_of_transfers() -> Finding:
    """Where FIFO's memory is not full, so that nothing has to be moved, it is as fast.

    Checked: 128 streams, FIFO at 39.0 of 80 GB
    Paper: evicting early alleviates paging and avoids host-device transfers
    Note: So at 128 streams the gain has another cause, such as shorter caches to read."""
    filled = tables.printed(128, "FIFO", "memory") * _GB / a100.MEMORY
    gains = {load: tables.times(load, "FIFO") - 1 for load in (128, 256)}
    return Finding(
        filled > Fraction(9, 10)
        or gains[128] < gains[256] / 10
        or f"{float(filled):.0%} of it filled, and Token-PD {float(gains[128]):.0%} faster",
        f"{float(gains[128]):.1%} at 128 streams, {float(gains[256]):.1%} at 256",
    )


@CLAIMS.claim("section-6.naive-saturates", "section 6, with Table 1", origin=Origin.PRINTED)
def _naive_saturates() -> Finding:
    """At 256 streams naive caching saturates memory: FIFO's peak is above 95 % of the 80 GB.

    Checked: the printed numbers
    Paper: saturates memory under naive caching
    Note: At 128 streams, which Appendix B calls lighter, it is 48.8 %."""
    filled = tables.printed(256, "FIFO", "memory") * _GB / a100.MEMORY
    return Finding(filled > Fraction(95, 100) or f"{float(filled):.1%}", f"{float(filled):.1%}")
