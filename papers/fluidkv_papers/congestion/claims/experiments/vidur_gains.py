"""Congestion, Tables 1, 2, 3, 6 and 7: where can the printed gain in throughput come from.

From fewer iterations, as in the theory; from fewer tokens to compute, where the evicted keep
theirs; or from an iteration that lasts less for another reason, of which neither speaks.
"""

from collections.abc import Iterator
from fractions import Fraction

from fluidkv import exact
from fluidkv.ledger import Evidence, Finding, Instance, Origin, Verdict, decimal
from fluidkv_papers.congestion.experiments import printed_tables as tables
from fluidkv_papers.congestion.experiments.a100 import CAPACITY, INPUT, Lengths, system, totals
from fluidkv_papers.congestion.paper import statements

_VIDUR = "vidur-sarathi"
_RUN = "20,000 requests that all wait at the start, classes in turn"
_GPU_INPUT = 300  # of Table 2
_CLOCKS = f"{_RUN}; vidur-sarathi, every clock d0 + d1 KV + d2 prefill"
_BEYOND_A_CLOCK, _BEYOND_THEORY = {"1", "6"}, {"1", "2", "6"}

CLAIMS = statements(origin=Origin.REPRODUCTION, evidence=Evidence.SAMPLED)


@CLAIMS.claim(
    "section-6-2.iterations-where-tokens-are-kept",
    "section 6.2; not stated there",
    origin=Origin.READING,
    checked=_RUN,
)
def _iterations_stay() -> Iterator[Instance]:
    """Where the evicted keep their tokens, mixing leaves the number of iterations as it is.

    Ours: iterations, mixed against the average of the nodes: {all}
    Paper: higher throughput
    Note: So where tokens are kept, less eviction is less recomputation, and no more requests an
    iteration: the loss of the theory is not there to be won back."""
    for case in tables.ON_VIDUR:
        change, lost = (
            2 * pool / (first + second) - 1
            for engine in (_VIDUR, "restart")
            for first, second, pool in [[totals(n, engine).iterations for n in case.lengths]]
        )
        shown = f"{tables.PLACE[case.key]} {change:+.1%} (restart {lost:+.1%})"
        # the last requests leave a machine that is partly empty
        yield Instance(abs(change) <= 0.005, shown)


def _gain(printed: str, most: dict[str, float]) -> Finding:
    largest = max(most.values())
    gained = float(printed)
    return Finding(
        largest >= gained or f"{printed} % > {largest:.1f} %",
        "at most " + ", ".join(f"{value:+.1f} % if {name}" for name, value in most.items()),
        paper=f"{gained:+.1f} %",
        note="t = d0 (iterations) + d1 (KV tokens, summed over them) + d2 (prefill tokens) with "
        "any d0, d1, d2 >= 0: a ratio of two such times is at most the largest of the three "
        "ratios.",
    )


def _ratios(before: list[float], after: list[float]) -> dict[str, float]:
    names = ("iterations cost time", "KV tokens do", "prefill tokens do")
    return {n: 100 * (b / a - 1) for n, b, a in zip(names, before, after, strict=True)}


def _costs(lengths: Lengths, cap: int | None = None) -> list[float]:
    found = totals(lengths, _VIDUR, cap=cap)
    return [found.iterations, found.kv_token_iterations, found.prefill_tokens]


def _routing_gain(case: tables.Routed) -> Finding:
    first, second, pool = (_costs(lengths) for lengths in case.lengths)
    apart = [(a + b) / 2 for a, b in zip(first, second, strict=True)]
    return _gain(case.changes[2], _ratios(apart, pool))


def _theory_gain(case: tables.Routed) -> Finding:
    """x* of the pool over the average of the nodes' synchronized cycles."""
    input_length = _GPU_INPUT if case is tables.TABLE_2 else INPUT

    def cycle(lengths: Lengths) -> Fraction:
        if len(lengths) == 2:
            return exact.pulse_cycle(system(lengths, input_length)).throughput
        return Fraction(CAPACITY, (input_length + lengths[0]) * lengths[0])

    first, second, pool = case.lengths
    best = exact.eviction_free_equilibrium(system(pool, input_length)).rate
    gain = 100 * (2 * best / (cycle(first) + cycle(second)) - 1)
    printed = case.changes[2]
    return Finding(
        gain >= Fraction(printed) or f"+{printed} % > {decimal(gain, 2)} %",
        f"at most {decimal(gain, 2)} % more requests per iteration",
        paper=f"+{printed} %",
        note="From the synchronized cycles of the nodes (one length: the maximal-eviction cycle; "
        "two: the pulse cycle) to the eviction-free equilibrium of the pool, as a change of the "
        "arithmetic mean of two unlike rates, which is above what both nodes could take alike. "
        "Whatever more is gained is gained in seconds per iteration. Capacity cancels.",
    )


for _case in tables.ON_VIDUR:
    CLAIMS.claim(
        f"table-{_case.key}.gain.linear-clock",
        tables.PLACE[_case.key],
        "The gain in requests a second can come from what these runs schedule.",
        expected=Verdict.UNDECIDED if _case.key in _BEYOND_A_CLOCK else Verdict.HOLDS,
        checked=_CLOCKS,
        given=(_case,),
    )(_routing_gain)

for _case in tables.ROUTED:
    CLAIMS.claim(
        f"table-{_case.key}.gain.theory",
        f"{tables.PLACE[_case.key]}, beside section 6.2; not stated there",
        "The gain in throughput is no more than segregated cycles lose in the theory.",
        expected=Verdict.FAILS if _case.key in _BEYOND_THEORY else Verdict.HOLDS,
        evidence=Evidence.EXACT,
        origin=Origin.READING,
        checked="exact, the lengths and inputs of the table, equal shares",
        given=(_case,),
    )(_theory_gain)


@CLAIMS.undecided("table-3.gain.linear-clock", "Table 3", checked=_CLOCKS)
def _cap_gain() -> Finding:
    """The gain in requests a second can come from what these runs schedule."""
    # All requests at once, so that what happens in an iteration does not depend on the clock.
    greedy, capped = (
        _costs(tables.TABLE_3_LENGTHS),
        _costs(tables.TABLE_3_LENGTHS, tables.TABLE_3_CAP),
    )
    return _gain(tables.TABLE_3_CHANGES[2], _ratios(greedy, capped))
