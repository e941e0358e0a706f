"""Congestion, Figures 31 and 32: mixing and rate limits under periodic bursts, on Vidur's machine.

The paper prints neither the lengths nor the arrivals of these sweeps. Chosen here: the nodes of
Tables 6 and 7, Poisson arrivals with a periodic burst, and a little more in the mean than can be
served ("overloaded arrivals", as the caption of Table 6 has it): below that, vidur-sarathi hardly
evicts at all.
"""

from fractions import Fraction
from functools import cache

import numpy as np

from fluidkv import exact, runs, serving
from fluidkv.ledger import Evidence, Finding, Origin, Verdict
from fluidkv_papers.congestion.experiments import a100
from fluidkv_papers.congestion.experiments.printed_tables import TABLE_6, TABLE_7, Lengths, Routed
from fluidkv_papers.congestion.paper import statements

FACTORS = (1.0, 2.0, 4.0, 8.0, 16.0)
"""Arrivals in a burst over those between bursts."""
REQUESTS, SEED = 10_000, 31
LOAD = 1.1
"""Mean arrivals at each node, over what the pool serves at x* with full memory."""
LIFETIMES, PART = 4, 0.2
"""Period, in mean lifetimes of the pool's requests; part of it that is a burst."""


def rate_per_s(case: Routed) -> float:
    """Mean arrivals at a node."""
    return LOAD * float(best(case.lengths[2])) / _full_s()


def period_s(case: Routed) -> float:
    pool = case.lengths[2]
    return round(LIFETIMES * _full_s() * sum(pool) / len(pool), 1)


def best(lengths: Lengths) -> Fraction:
    """x*, to a thousandth: the cap of the rate-limited runs."""
    return exact.eviction_free_equilibrium(a100.system(lengths)).rate.limit_denominator(1000)


@cache
def evictions(case: Routed, engine: str) -> dict[str, np.ndarray]:
    """For a thousand requests, by factor; keys "apart.greedy", "mixed.capped" and so on.

    Segregated values are averages of the two nodes, each with as many requests as a mixed one.
    """
    first, second, pool = (_node(case, lengths, engine) for lengths in case.lengths)
    found = {}
    for i, admission in enumerate(("greedy", "capped")):
        found[f"apart.{admission}"] = (first[i] + second[i]) / 2
        found[f"mixed.{admission}"] = pool[i]
    return found


def _full_s() -> float:
    """An iteration with full memory."""
    return a100.BASE_S + a100.PER_KV_TOKEN_S * a100.CAPACITY


def _node(case: Routed, lengths: Lengths, engine: str) -> list[np.ndarray]:
    """Greedy, capped at x*: evictions for a thousand requests by factor."""
    tables = [
        runs.bursts(
            a100.workload(lengths),
            rate_per_s(case),
            REQUESTS,
            period=period_s(case),
            window=PART * period_s(case),
            contrast=factor,
            rng=SEED,
            per_iteration=False,
        )
        for factor in FACTORS
    ]
    caps = [None] * len(FACTORS) + [best(lengths)] * len(FACTORS)
    run = serving.serve(
        tables + tables,
        serving.Server(engine, [a100.limits(engine, cap) for cap in caps], clock=a100.clock()),
        every=100,
        keep_requests=False,
    )
    counted = 1000 * run.preempt.sum("window").values / REQUESTS
    return list(counted.reshape(2, -1))


def _shown(values: np.ndarray) -> str:
    return ", ".join(f"{value:.1f}" for value in values)


_CHECKED = f"burst factors {', '.join(f'{f:g}' for f in FACTORS)}; 10,000 requests a node, one seed"

CLAIMS = statements(origin=Origin.REPRODUCTION, evidence=Evidence.SAMPLED)


def _mixing(case: Routed) -> Finding:
    bad, shown = None, []
    for engine in a100.ENGINES:
        of = evictions(case, engine)
        apart, mixed = of["apart.greedy"], of["mixed.greedy"]
        for factor, a, m in zip(FACTORS, apart, mixed, strict=True):
            if m > a:
                bad = bad or f"{engine}, factor {factor:g}: {m:.1f} > {a:.1f}"
        shown.append(f"{engine}: {_shown(apart)} apart, {_shown(mixed)} mixed")
    return Finding(
        bad,
        "evictions for 1,000 requests by factor, " + "; ".join(shown),
        paper="mixing reduces evictions under greedy admission",
    )


def _capped(case: Routed, engine: str) -> Finding:
    of = evictions(case, engine)
    most = max(of["apart.capped"].max(), of["mixed.capped"].max())
    note = "restart has no watermark, and chance may admit the longer class beyond its share."
    return Finding(
        not most or f"{most:.1f} of 1,000",
        f"at most {most:.1f} evictions for 1,000 requests; greedy up to "
        f"{of['apart.greedy'].max():.1f}",
        paper="rate limiting eliminates evictions over this horizon",
        note="Capped at x* of each node." + (f" {note}" if engine == "restart" else ""),
    )


for _number, _case in ((31, TABLE_6), (32, TABLE_7)):
    _place = f"Figure {_number}, caption, with the lengths of Table {_case.key}"
    CLAIMS.claim(
        f"figure-{_number}.mixing",
        _place,
        "Under bursts and greedy admission mixing evicts less.",
        checked=f"{_CHECKED}; restart and vidur-sarathi",
        given=(_case,),
    )(_mixing)
    CLAIMS.claim(
        f"figure-{_number}.rate-limit",
        _place,
        "Rate-limited admission evicts nothing under bursts.",
        checked=f"{_CHECKED}; vidur-sarathi",
        given=(_case, "vidur-sarathi"),
    )(_capped)
    CLAIMS.claim(
        f"figure-{_number}.rate-limit-restart",
        f"Figure {_number}, caption, in the model of section 2",
        "Rate-limited admission evicts nothing under bursts where progress is lost.",
        expected=Verdict.UNDECIDED if _number == 32 else Verdict.HOLDS,
        checked=f"{_CHECKED}; restart",
        given=(_case, "restart"),
    )(_capped)
