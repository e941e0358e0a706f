"""Congestion, Tables 4 and 5: is there a rate and a horizon at which the model has the counts.

Neither is printed. Both are chosen where the two segregated nodes come nearest to their counts;
what the mixed node then evicts is not chosen.
"""

from functools import cache

from fluidkv import fluid
from fluidkv.ledger import Evidence, Finding, Origin, np
from fluidkv_papers.congestion.experiments.nodes import COPRIME, PARTIAL, Lengths, Routing, node
from fluidkv_papers.congestion.experiments.open_runs import poisson
from fluidkv_papers.congestion.experiments.printed_tables import TABLE_4, TABLE_5, ModelTable
from fluidkv_papers.congestion.paper import statements

_RATES = {
    COPRIME: (1.2, 1.4, 1.6, 1.8, 2.0, 2.2, 2.4, 2.8),
    PARTIAL: (0.4, 0.5, 0.55, 0.6, 0.65, 0.7, 0.8, 1.0, 2.2),
}
"""From where a node hardly evicts to where all are overloaded."""
_EVERY, _LONGEST, _RUNS, _SEED = 50, 1500, 64, 45
_TAIL = 0.05
"""A printed count lies among the runs if a twentieth of them or more is on either side of it: what
the very largest of some runs is depends on how many were made."""

CLAIMS = statements(origin=Origin.REPRODUCTION, evidence=Evidence.SAMPLED)


def _tried(routing: Routing) -> str:
    return (
        f"rates {', '.join(map(str, _RATES[routing]))} at each node, horizons of {_EVERY} to "
        f"{_LONGEST} iterations, {_RUNS} runs"
    )


@cache
def evicted(routing: Routing, lengths: Lengths) -> "np.ndarray":
    """Requests evicted until each horizon, shape (rate, run, horizon)."""
    system, rates = node(routing, lengths), _RATES[routing]
    arrivals = [
        poisson(system, rate, iterations=_LONGEST, count=_RUNS, seed=_SEED) for rate in rates
    ]
    found = fluid.simulate_open(
        system, arrivals=np.concatenate(arrivals), every=_EVERY, record=["evicted"]
    )
    masses = found.evicted.sum("class").transpose("batch", "iteration").values
    return masses.cumsum(axis=1).reshape(len(rates), _RUNS, -1)


def least_tail(evicted: "np.ndarray", count: float) -> "np.ndarray":
    """Runs on the smaller side of a printed count, as a share; half a request is rounding."""
    below, above = evicted <= count + 0.5, evicted >= count - 0.5
    return below.mean(axis=1).clip(max=above.mean(axis=1))


@CLAIMS.undecided(
    "table-5.counts",
    "Table 5",
    "Where the nodes come nearest to 248 and 190, all counts lie among the runs, 105 mixed too.",
    given=(PARTIAL, TABLE_5),
    checked=_tried(PARTIAL),
)
@CLAIMS.claim(
    "table-4.counts",
    "Table 4",
    "Where the nodes come nearest to 63 and 112, all counts lie among the runs, 0 mixed too.",
    given=(COPRIME, TABLE_4),
    checked=_tried(COPRIME),
)
def _counts(routing: Routing, table: ModelTable) -> Finding:
    counts = [row[0] for row in table]
    runs = [evicted(routing, pool) for pool in routing.pools]
    tails = np.array([least_tail(seen, float(n)) for seen, n in zip(runs, counts, strict=True)])
    nodes = tails[:2].min(axis=0)  # (rate, horizon)
    i, j = np.unravel_index(nodes.argmax(), nodes.shape)
    shares, shown = tails[:, i, j], ", ".join(counts)
    means = ", ".join(f"{seen[i, :, j].mean():.0f}" for seen in runs)
    at = f"rate {_RATES[routing][i]:g}, {_EVERY * (j + 1)} iterations"
    told = ", ".join(f"{share:.0%}" for share in shares)
    return Finding(
        shares.min() >= _TAIL or f"{at}: {told}",
        f"{at}: {means} evicted in the mean; {told} of the runs on the smaller side of the counts",
        paper=shown,
        note=f"At least {_TAIL:.0%} on either side would do. Rate and horizon are fitted to the "
        "first two numbers: that the model can give them does not show that the paper had these.",
    )
