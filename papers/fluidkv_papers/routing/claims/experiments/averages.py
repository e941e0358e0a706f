"""Routing, the averages of section 5 and appendix B: beside Table 2, and in simulation.

The figures that they average are pictures that our copy lacks. Generated prefixes, one of the four
benchmarks, stand in Table 2 too; the others can only be simulated. A hit rate or a throughput that
is so many per cent higher counts as a factor, too.
"""

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from fluidkv.ledger import Evidence, Finding, Origin, Seen, Verdict, decimal, span
from fluidkv_papers.routing.claims.experiments.spans import ratio
from fluidkv_papers.routing.instances import setting as served
from fluidkv_papers.routing.instances.printed import TABLE_2
from fluidkv_papers.routing.paper import statements

CLAIMS = statements(origin=Origin.REPRODUCTION, evidence=Evidence.SAMPLED)

_BASE, _BEST, _BENCHMARKS = "cache-aware+lru", "lbgr+rlt", 4
_ROWS: dict[str, dict[str, str]] = {
    "cache-aware+rlt": {"latency": "6.98", "ttft": "6.40"},
    "lbgr+lru": {"latency": "9.98", "ttft": "9.58"},
    _BEST: {
        "latency": "11.96",
        "ttft": "14.06",
        "latency_p95": "2.03",
        "ttft_p95": "2.62",
        "hit_rate": "36.45 %",
        "throughput": "36.51 %",
    },
}
"""Section 5: averages over four benchmarks, over Cache-Aware with LRU; factors, or percentages."""
_RISES = ("hit_rate", "throughput")


def _factor(measure: str, said: str) -> Fraction:
    """The least factor that is printed so; a time that falls by s per cent falls 1 / (1 - s)."""
    if not said.endswith(" %"):
        return span(said)[0]
    share = span(said.removesuffix(" %"))[0] / 100
    return 1 + share if measure in _RISES else 1 / (1 - share)


def _averages() -> Iterator[tuple[str, str, str]]:
    """(method, measure, printed average)"""
    return ((name, key, said) for name, row in _ROWS.items() for key, said in row.items())


@CLAIMS.claim(
    "section-5.averages",
    "Figure 2, section 5, with Table 2",
    over=_averages,
    origin=Origin.READING,
    whole=True,
    ours=lambda seen: f"factors of {', '.join(seen)} are left",
)
def _leaves_more(method: str, measure: str, said: str) -> bool | str | Seen:
    """Where Table 2 is one of the four benchmarks, each printed average leaves the method better
    than Cache-Aware with LRU in the mean of the other three, which our copy lacks.

    Checked: the ten printed averages over Cache-Aware with LRU
    Paper: 6.98, 6.40; 9.98, 9.58; 11.96, 14.06, 2.03, 2.62 times, 36.45 % and 36.51 %"""
    # Rounding is taken at its unkindest: the average as low, Table 2 as high, as may be.
    base, other = (getattr(TABLE_2[name], measure) for name in (_BASE, method))
    _, most = ratio(other, base) if measure in _RISES else ratio(base, other)
    left = (_BENCHMARKS * _factor(measure, said) - most) / (_BENCHMARKS - 1)
    shown = decimal(left, 2)
    return Seen(shown) if left > 1 else f"{method}, {measure}: {shown} are left of {said}"


@CLAIMS.fails(
    "section-1.up-to",
    "section 1, with Figure 3, section 5, and Figure 8, appendix B",
    origin=Origin.READING,
    evidence=Evidence.EXACT,
    kind="figure",
)
def _up_to() -> Finding:
    """No benchmark on Llama-3.1-70B has a factor in median latency above the 5.46 that section 1
    calls the most.

    Checked: the 38 % of conversations taken for 70B alone, and for the mean with a Mixtral that
    gains nothing
    Paper: up to 5.46 and 7.19 times; 5.46 and 7.19 on average; 38 % and 44.87 %
    Note: Appendix B has them as averages. As a largest value they understate; as values that were
    reached they stand. For TTFT the printed numbers leave it open."""
    # Conversations are one of four benchmarks; what they have less, the others have more.
    (average, most), saved = span("5.46"), span("38")[1] / 100
    conversations = [1 / (1 - share) for share in (saved, 2 * saved)]
    others = [(_BENCHMARKS * average - one) / (_BENCHMARKS - 1) for one in conversations]
    least = min(others)
    return Finding(
        not (least > most) or f"one of the other three has {decimal(least, 2)} at least",
        f"conversations have {decimal(conversations[0], 2)}, or at most "
        f"{decimal(conversations[1], 2)}",
    )


_PEAKS = Fraction(181, 989)
"""Of an L40 over an H200, dense BF16, by NVIDIA's data sheets."""
_SLOWER = {
    "8B": Fraction(1),
    "70B": Fraction(70_554, 8_030) * _PEAKS,
    "Mixtral": Fraction(12_880, 8_030) * _PEAKS,
}
"""Seconds of a prompt token over those of Llama-3.1-8B on an L40: active parameters over peaks."""


_FOUR = [served.half(), served.half_chats(), served.half_chats(), served.half_documents()]
"""Conversations, which have no texts here, stand for ShareGPT and for UltraChat."""
_MEDIANS = {"latency": "latency_p50", "ttft": "ttft_p50"}


def _mean_factor(settings: list[served.Setting], over: str, method: str, measure: str) -> float:
    """By which a method is better than another, the mean over settings; one draw."""
    factors = []
    for of in settings:
        base, other = (served.measured(of, name, 0)[measure] for name in (over, method))
        factors.append(other / base if measure in _RISES else base / other)
    return sum(factors) / len(factors)


def _reached(
    settings: list[served.Setting], server: str, over: str, method: str, printed: dict[str, str]
) -> Finding:
    """Whether each printed number is reached, on servers of a speed."""
    slower = float(_SLOWER[server]) * served.SECONDS_PER_1000
    of = [replace(setting, seconds=slower) for setting in settings]
    found = {key: _mean_factor(of, over, method, _MEDIANS.get(key, key)) for key in printed}
    short = [key for key, said in printed.items() if found[key] < _factor(key, said)]
    return Finding(
        not short or f"{_NAMES[short[0]]}: {found[short[0]]:.2f}",
        ", ".join(f"{_NAMES[key]} {factor:.2f}" for key, factor in found.items()),
        paper=", ".join(f"{_NAMES[key]} {said}" for key, said in printed.items()),
        note="Factors. Texts, clock, threshold and LBGR's step are ours; a factor between a queue "
        "that grows and one that does not is as large as the experiment is long.",
    )


_RANDOM = "random+lru"
_METHODS = {
    _RANDOM: "Random + LRU",
    _BASE: "Cache-Aware + LRU",
    "cache-aware+rlt": "Cache-Aware + RLT",
    "lbgr+lru": "LBGR + LRU",
    _BEST: "LBGR + RLT",
}
_NAMES = {
    "latency": "median latency",
    "ttft": "median TTFT",
    "hit_rate": "hit rate",
    "latency_p95": "P95 latency",
    "ttft_p95": "P95 TTFT",
    "throughput": "throughput",
}
_TAILS = {key: _ROWS[_BEST][key] for key in ("latency_p95", "ttft_p95")}
_REST = {key: said for key, said in _ROWS[_BEST].items() if key not in _TAILS}


def _claim(
    id: str,
    place: str,
    printed: dict[str, str],
    *,
    of: list[served.Setting] = _FOUR,
    server: str = "8B",
    over: str = _BASE,
    method: str = _BEST,
    expected: Verdict = Verdict.UNDECIDED,
) -> None:
    """Declare that a method is as much better than another as is printed, or more."""
    numbers = ", ".join(f"{_NAMES[key]} {said}" for key, said in printed.items())
    CLAIMS.claim(
        id,
        f"{place}, in simulation",
        f"{_METHODS[method]} is as much better than {_METHODS[over]} as printed, or more: "
        f"{numbers}.",
        expected=expected,
        checked=f"half of each workload, 100,000 tokens a worker; servers as fast as those of "
        f"{server}; one draw",
        given=(of, server, over, method, printed),
    )(_reached)


_SIMULATED, _PLACE = "section-5.averages.simulated", "Figure 2, section 5"
_claim(f"{_SIMULATED}.random", _PLACE, {"latency": "30.9", "ttft": "44.49"}, over=_RANDOM)
for _end, _method in (("rlt", "cache-aware+rlt"), ("lbgr", "lbgr+lru")):
    _claim(f"{_SIMULATED}.{_end}", _PLACE, _ROWS[_method], method=_method)
_claim(f"{_SIMULATED}.both", _PLACE, _REST)
_claim(f"{_SIMULATED}.both.tails", _PLACE, _TAILS, expected=Verdict.HOLDS)
for _number, _place, _of, _server, _latency, _ttft in (
    (3, "section 5", [served.half_chats()], "70B", "38 %", "44.87 %"),
    (4, "section 5", [served.half_documents(order="round-robin")], "8B", "22.8", "15.5"),
    (8, "appendix B", _FOUR, "70B", "5.46", "7.19"),
    (9, "appendix B", _FOUR, "Mixtral", "24.2 %", "24.2 %"),
):
    _claim(
        f"figure-{_number}.simulated.factors",
        f"Figure {_number}, {_place}",
        {"latency": _latency, "ttft": _ttft},
        of=_of,
        server=_server,
    )
