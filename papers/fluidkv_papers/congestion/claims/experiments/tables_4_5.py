"""Congestion, Tables 4 and 5, Figures 18 to 21: routing classes apart or together, in the model.

The tables print M, l0 and the decode lengths. Open: arrivals, horizon, seeds, what "s" and "req/s"
are in a model whose time is iterations, and the classes' rates. Chosen here: every class brings as
many requests, an empty server, and either an endless queue or Poisson arrivals with a queue.
Counts over a horizon are then ours to choose, so it is orders, signs and ratios that are compared;
`tables_4_5_counts` asks for the counts.
"""

from collections.abc import Callable, Iterator
from functools import cache

from fluidkv.ledger import Evidence, Finding, Instance, Origin, Verdict
from fluidkv_papers.congestion.experiments import nodes
from fluidkv_papers.congestion.experiments.open_runs import Totals, poisson, totals
from fluidkv_papers.congestion.experiments.printed_tables import TABLE_4, TABLE_5, ModelTable
from fluidkv_papers.congestion.paper import statements

ITERATIONS, RUNS, SEED = 4000, 8, 45
RATES = {nodes.COPRIME: (1.0, 1.2, 1.3, 1.4), nodes.PARTIAL: (0.4, 0.5, 0.6)}
"""Requests per iteration at each node, below and around what the nodes can serve."""

_ENDLESS = "endless queue, 3600 iterations after the first 1800"

CLAIMS = statements(origin=Origin.REPRODUCTION, evidence=Evidence.SAMPLED)


@cache
def under_poisson(routing: nodes.Routing, lengths: nodes.Lengths, rate: float) -> Totals:
    """One node at this rate: means over the runs, of all iterations."""
    system = nodes.node(routing, lengths)
    arrivals = poisson(system, rate, iterations=ITERATIONS, count=RUNS, seed=SEED)
    return totals(system, arrivals)


def _segregated_mean(values: Callable[[nodes.Lengths], float], routing: nodes.Routing) -> float:
    return sum(values(pool) for pool in routing.segregated) / 2


@CLAIMS.claim(
    "table-5.order",
    "Table 5",
    "The node of lengths 20 and 40 evicts more than that of 25 and 50.",
    given=(nodes.PARTIAL, TABLE_5),
    checked="endless queue",
)
@CLAIMS.claim(
    "table-4.order",
    "Table 4",
    "The node of lengths 9 and 15 evicts more than that of 6 and 10.",
    given=(nodes.COPRIME, TABLE_4),
    checked="endless queue",
)
def _saturated_order(routing: nodes.Routing, table: ModelTable) -> Finding:
    first, second = (nodes.saturated(routing, pool)[1] for pool in routing.segregated)
    (one, *_), (other, *_), _ = table
    same = (first > second) == (int(one) > int(other))
    return Finding(
        None if same else f"[{first}, {second}]",
        f"{first:.4f} and {second:.4f} evicted per iteration",
        paper=f"{one} > {other}" if int(one) > int(other) else f"{one} < {other}",
        note="Endless queue.",
    )


@CLAIMS.undecided(
    "table-5.evictions.saturated",
    "Table 5, caption",
    "Mixing cuts evictions by half.",
    given=(nodes.PARTIAL, 0.52),
    checked=_ENDLESS,
)
@CLAIMS.claim(
    "table-4.evictions.saturated",
    "Table 4, caption",
    "Mixing cuts evictions by 100 %.",
    given=(nodes.COPRIME, 1.0),
    checked=_ENDLESS,
)
def _saturated_evictions(routing: nodes.Routing, reduction: float) -> Finding:
    """Less eviction in the pool, by as much as printed."""
    apart = _segregated_mean(lambda pool: nodes.saturated(routing, pool)[1], routing)
    pooled = nodes.saturated(routing, routing.mixed)[1]
    less = 1 - pooled / apart
    return Finding(
        abs(less - reduction) < 0.1 or f"{less:.1%} less",
        f"{apart:.4f} per iteration on average apart, {pooled:.4f} mixed: {less:.1%} less",
        paper=f"{reduction:.0%} fewer",
        note="Endless queue; within ten percentage points would do.",
    )


@CLAIMS.claim(
    "table-5.throughput.saturated", "Table 5", given=(nodes.PARTIAL, "+12.9 %, from 37.9 and 42.8")
)
@CLAIMS.undecided(
    "table-4.throughput.saturated", "Table 4, caption", given=(nodes.COPRIME, "+5.3 %")
)
def _saturated_throughput(routing: nodes.Routing, printed: str) -> Finding:
    """The mixed node completes more than the segregated nodes on average.

    Checked: endless queue at every node
    Note: Endless queue at every node, so that the node of short requests serves more of them than
    its share of the workload; requests of different work are added up."""
    apart = _segregated_mean(lambda pool: nodes.saturated(routing, pool)[0], routing)
    pooled = nodes.saturated(routing, routing.mixed)[0]
    return Finding(
        pooled > apart or f"{pooled:.4f} < {apart:.4f}",
        f"{apart:.4f} per iteration on average apart, {pooled:.4f} mixed: "
        f"{pooled / apart - 1:+.1%}",
        paper=printed,
    )


@CLAIMS.claim("table-5.throughput.common-rate", "Table 5", given=(nodes.PARTIAL,))
@CLAIMS.claim("table-4.throughput.common-rate", "Table 4, caption", given=(nodes.COPRIME,))
def _common_rate(routing: nodes.Routing) -> Finding:
    """At one rate for all nodes, the mixed pair serves more than the segregated pair.

    Checked: the rate at which the first node saturates
    Paper: mixing increases throughput at the same workload and budget
    Note: Equal rates of all classes. Most of the gain is balance: the pool evens out the load of
    two nodes of different capacity, whether memory oscillates or not."""
    # Both nodes at one rate: the node of longer requests limits the segregated pair.
    apart = min(nodes.saturated(routing, pool)[0] for pool in routing.segregated)
    pooled = nodes.saturated(routing, routing.mixed)[0]
    smooth = min(float(nodes.certified(routing, p).equilibrium.rate) for p in routing.segregated)
    return Finding(
        pooled > apart or f"{pooled:.4f}",
        f"{pooled / apart - 1:+.1%} of the rate that all nodes can serve; "
        f"{float(nodes.certified(routing, routing.mixed).equilibrium.rate) / smooth - 1:+.1%} "
        "would be there without any eviction",
    )


@CLAIMS.fails(
    "figure-20.closes-the-gap.partial",
    "Figure 20, caption, which names no lengths",
    "Mixed, the node completes x* for the lengths of Table 5 too.",
    origin=Origin.READING,
    given=(nodes.PARTIAL,),
    checked="endless queue, lengths of Table 5",
    holds="figure-20.closes-the-gap",
)
@CLAIMS.claim(
    "figure-20.closes-the-gap",
    "Figure 20, caption, which names no lengths",
    "Mixed, the node completes x*; segregated, the nodes stay below theirs.",
    origin=Origin.READING,
    given=(nodes.COPRIME,),
    checked="endless queue, lengths of Table 4",
)
def _closes_the_gap(routing: nodes.Routing) -> Finding:
    x = {pool: float(nodes.certified(routing, pool).equilibrium.rate) for pool in routing.pools}
    share = {pool: nodes.saturated(routing, pool)[0] / x[pool] for pool in routing.pools}
    told = ", ".join(f"{{{', '.join(map(str, pool))}}} {share[pool]:.2%}" for pool in routing.pools)
    # The pool converges to x*; floats of a mean over thousands of iterations.
    closed = abs(share[routing.mixed] - 1) < 1e-6
    open_apart = all(share[pool] < 0.999 for pool in routing.segregated)
    return Finding(
        None if closed and open_apart else told,
        f"of x*, {told}",
        paper="mixing removes the gap between optimal and worst-cycle throughput",
        note="Endless queue, from an empty server.",
    )


@CLAIMS.undecided(
    "figure-19.coprime.no-evictions",
    "Figure 19, caption",
    checked=f"rates {', '.join(map(str, RATES[nodes.COPRIME]))}, {RUNS} runs of {ITERATIONS} "
    "iterations",
    ours=f"{{list}}, in {ITERATIONS} iterations",
)
def _none_under_poisson() -> Iterator[Instance]:
    """Under Poisson arrivals coprime mixing evicts nothing.

    Paper: coprime mixing eliminates evictions over this simulated horizon
    Note: Stable does not mean without eviction: a chance excess of arrivals overshoots, because
    admission fills memory with requests that still grow. With an endless queue, after the first
    iterations, there is none."""
    for rate in RATES[nodes.COPRIME]:
        evicted = under_poisson(nodes.COPRIME, nodes.COPRIME.mixed, rate).evicted * ITERATIONS
        # One request in a run would still print as a count of zero or one.
        yield Instance(evicted <= 1, f"{evicted:.1f} at rate {rate:g}")


def _poisson(routing: nodes.Routing, what: str, rates: tuple[float, ...], more: bool) -> Finding:
    """Whether the pool has less (or more) of something than the average, at every rate."""
    bad, told = None, []
    for rate in rates:
        seen = {p: under_poisson(routing, p, rate) for p in routing.pools}
        apart = _segregated_mean(lambda pool, seen=seen: getattr(seen[pool], what), routing)
        pooled = getattr(seen[routing.mixed], what)
        told.append(f"{rate:g}: {apart:.4g} apart, {pooled:.4g} mixed")
        if (pooled <= apart) == more and bad is None:
            bad = f"rate {told[-1]}"
    return Finding(
        bad,
        "; ".join(told),
        paper=f"{'more' if more else 'less'} under mixed routing",
        note=f"{what}, by requests per iteration at each node; {RUNS} runs of {ITERATIONS} "
        "iterations.",
    )


for _name, _routing in (("coprime", nodes.COPRIME), ("partial", nodes.PARTIAL)):
    for _key, _what, _words, _more, _rates in (
        ("evictions", "evicted", "fewer evictions", False, RATES[_routing]),
        ("latency", "latency", "lower latency", False, RATES[_routing]),
        # Below saturation every node completes what arrives; that compares samples.
        ("throughput", "throughput", "higher throughput", True, RATES[_routing][-1:]),
    ):
        _missed = (_name, _key) == ("partial", "evictions")
        CLAIMS.claim(
            f"figure-19.{_name}.{_key}",
            "Figure 19, caption",
            f"Under Poisson arrivals mixing has {_words} than the segregated average.",
            expected=Verdict.UNDECIDED if _missed else Verdict.HOLDS,
            checked=f"rates {', '.join(map(str, _rates))}, {RUNS} runs of {ITERATIONS} iterations "
            "at each rate",
            given=(_routing, _what, _rates, _more),
        )(_poisson)
