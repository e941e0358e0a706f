"""WAIT, Examples 1 and 2: one prompt type with l = l' = 1 in 12 units of memory, first come first
served, played out.

The narrative lets newcomers in before prompts that decode, and evicts those for them, in iteration
2; in iteration 3 it lets all decodes complete beside those who wait. The paper's vLLM does the one
and its Sarathi the other. Which rule goes on is not said: the long run is read both ways. Four
prompts come in each iteration, as the example has it, or Poisson(4).
"""

from fractions import Fraction
from functools import cache

from fluidkv.ledger import (
    Evidence,
    Finding,
    Origin,
    Outcome,
    Verdict,
    decimal,
    equals,
    np,
    rounds_to,
)
from fluidkv_papers.wait import instances
from fluidkv_papers.wait.instances.statistics import ERRORS, mean_and_error
from fluidkv_papers.wait.paper import statements

CLAIMS = statements()

_MEMORY, _ARRIVALS = 12, 4
_LOW, _HIGH = 3, Fraction(7, 2)  # "3-3.5 completions per iteration"
_RUNS, _LONG = 100, 2000  # of random arrivals: runs, iterations
_RULES = {"new-first": "newcomers first", "running-first": "decodes first"}
_ENDLESS = "four arrivals per iteration, for ever"


# --- the narrative ------------------------------------------------------------------------------


def _played(waiting: int, decoding: int, *, new_first: bool) -> "instances.fcfs.Played":
    counts = instances.fcfs.Counts(waiting, decoding)
    return instances.fcfs.play(counts, capacity=_MEMORY, new_first=new_first)


@CLAIMS.claim("example-1.balanced", "Example 1")
def _balanced() -> Outcome:
    """Four prefills and four decodes take 12 units, with 4 completions per iteration."""
    played = _played(4, 4, new_first=True)
    return equals((4 * 1 + 4 * 2, int(played.completed), int(played.evicted)), "12, 4, 0")


@CLAIMS.claim("example-1.full", "Example 1, steps 1 and 2; Example 2, iteration 1")
def _full() -> Outcome:
    """From 6 waiting and 3 decoding, 3 complete and 6 decodes then fill the memory."""
    played = _played(6, 3, new_first=True)
    decoding = int(played.after.decoding)
    return equals((int(played.completed), decoding, 2 * decoding), "3, 6, 12")


@CLAIMS.claim("example-1.evicts-two", "Example 1, step 3; Example 2, iteration 2")
def _evicts_two() -> Outcome:
    """To prefill four newcomers first, two of the six decodes go, and 12 units are used."""
    played = _played(4, 6, new_first=True)
    return equals((int(played.evicted), 4 + 2 * int(played.completed)), "2, 12")


@CLAIMS.claim("example-1.must-evict", "Example 1, step 3; Example 2, iteration 2")
def _must_evict() -> Finding:
    """To prefill the four newcomers beside six decodes, two decodes must be evicted.

    Checked: all batches that hold the six and prefill the four
    Paper: we must evict 2 decode prompts"""
    # All ways to prefill 4 and keep the 6 decodes: some run (2 units each), the others pause.

    def ways(paused: int) -> list[tuple[int, int]]:
        return [(d, 6 - d) for d in range(7) if 4 + 2 * d + paused * (6 - d) <= _MEMORY]

    most, computed = max(ways(2), default=None), max(ways(1), default=None)
    counted = f"{computed[1]} could pause and nobody goes" if computed else "two go as well"
    return Finding(
        most and f"4 prefills, {most[0]} decodes, {most[1]} paused",
        f"{most[1]} pause with their caches" if most else "two go",
        note="A prompt may pause with its cache (section 2.6), l + k = 2 units in (2) and in step "
        f"2. Counted by what it has computed, 1 unit, {counted}.",
    )


def _third(new_first: bool) -> Finding:
    """Six wait (2 evicted, 4 new), four are to decode."""
    played = _played(6, 4, new_first=new_first)
    completed, evicted = int(played.completed), int(played.evicted)
    return Finding(
        (completed, evicted) == (4, 0)
        or f"2 evicted and 4 new take 6 units; {completed} of 4 decodes fit",
        f"{completed} complete, {evicted} go",
        paper="4 completions",
    )


@CLAIMS.claim("example-2.third-iteration", "Example 2, iteration 3")
def _third_iteration() -> Finding:
    """In iteration 3 of Example 2 the four prompts that decode complete, and of those who wait as
    many are prefilled as then fit."""
    return _third(new_first=False)


CLAIMS.fails(
    "example-2.third-iteration.new-first",
    "Example 2, iteration 3 (read with the rule of iteration 2)",
    "In iteration 3 of Example 2 four complete though all who wait go first, as in iteration 2.",
    origin=Origin.READING,
    holds="example-2.third-iteration",
)(lambda: _third(new_first=True))


# --- the long run -------------------------------------------------------------------------------


def _fate(rule: str) -> "instances.fcfs.Fate":
    """From 6 waiting and 3 decoding."""
    start = instances.fcfs.Counts(6, 3)
    return instances.fcfs.fate(
        start, arrivals=_ARRIVALS, capacity=_MEMORY, new_first=rule == "new-first"
    )


def _first(rule: str) -> str:
    """Completions of iterations 1 to 12, from 6 waiting and 3 decoding."""
    arrivals = np.full((12, 1), _ARRIVALS)
    found = instances.fcfs.example_2(arrivals, new_first=rule == "new-first").completed
    return ", ".join(map(str, found[:, 0]))


@cache
def _runs(rule: str) -> "tuple[float, float]":
    """Completions per iteration with random arrivals: mean over runs and its standard error."""
    arrivals = np.random.default_rng(1).poisson(_ARRIVALS, (_LONG, _RUNS))
    found = instances.fcfs.example_2(arrivals, new_first=rule == "new-first").completed
    return mean_and_error(found[_LONG // 2 :].mean(axis=0))


@CLAIMS.claim("example-1.unstable", "Example 1, last paragraph")
def _unstable() -> Finding:
    """The server with M = M* can become unstable under first come, first served.

    Checked: four arrivals per iteration, for ever, from 273 starts
    Paper: triggers this cascade, making the system unstable"""
    # Starts of up to 20 waiting and 12 decoding, with constant arrivals.
    counts = {}
    for rule, first in (("new", True), ("running", False)):
        found = instances.fcfs.fates(
            arrivals=_ARRIVALS, capacity=_MEMORY, new_first=first, most_waiting=20
        ).values()
        counts[rule] = sum(each.growth > 0 for each in found), len(found)
    return Finding(
        all(grow > 0 for grow, _ in counts.values()) or "every start is served",
        "; ".join(f"{rule} first: {g} of {of} starts grow" for rule, (g, of) in counts.items()),
    )


def _with_random_arrivals(rule: str) -> Finding:
    mean, error = _runs(rule)
    inside = _LOW - ERRORS * error <= mean <= float(_HIGH) + ERRORS * error
    alternates = " A long queue alternates as under constant arrivals, at 3."
    return Finding(
        inside or f"seed 1: {mean:.3f}",
        f"{mean:.3f} ± {error:.3f} per iteration",
        paper="approximately 3-3.5",
        note=f"{_RUNS} runs of {_LONG} iterations, the first half left out; ± one standard error, "
        f"{ERRORS} of which are allowed.{alternates if rule == 'running-first' else ''}",
    )


def _under(rule: str) -> None:
    """The claims about the long run, under one rule."""
    said = _RULES[rule]
    new_first = rule == "new-first"
    missed = Verdict.FAILS if new_first else Verdict.HOLDS
    holds = "example-2.{}.running-first" if new_first else ""

    @CLAIMS.claim(
        f"example-2.persists.{rule}",
        "Example 1, last paragraph; Example 2",
        f"The eviction-restart cycle persists indefinitely ({said}).",
        origin=Origin.READING,
        checked=_ENDLESS,
    )
    def _persists() -> Finding:
        """The cycle is found by the state coming again, or by a queue that no longer matters."""
        found = _fate(rule)
        endless = found.evicted > 0 and found.growth > 0
        return Finding(
            None if endless else f"the cycle evicts {found.evicted}",
            f"in {found.period} iterations {found.evicted} go, the queue gains {found.growth}",
            paper="the cycle persists indefinitely",
        )

    @CLAIMS.claim(
        f"example-2.completions.{rule}",
        "Example 2, last paragraph",
        f"The cycle completes approximately 3 to 3.5 prompts per iteration ({said}).",
        expected=missed,
        holds=holds.format("completions"),
        origin=Origin.READING,
        checked=_ENDLESS,
    )
    def _completions() -> Finding:
        found = _fate(rule).throughput
        return Finding(
            _LOW <= found <= _HIGH or f"iterations 1 to 12 complete {_first(rule)}",
            f"{found} per iteration in the long run",
            paper="approximately 3-3.5",
            note="Constant arrivals. In the end newcomers take all memory in each iteration and "
            "evict those of the one before."
            if new_first
            else "Constant arrivals: 12 prefills and 6 decodes in turn, 6 evictions a cycle.",
        )

    @CLAIMS.claim(
        f"example-2.completions.{rule}.poisson",
        "Example 2, last paragraph",
        f"With Poisson arrivals 3 to 3.5 complete per iteration as well ({said}).",
        expected=missed,
        holds=f"{holds.format('completions')}.poisson" if new_first else "",
        evidence=Evidence.SAMPLED,
        origin=Origin.READING,
        checked=f"Poisson(4) arrivals, {_RUNS} runs of {_LONG} iterations (seed 1)",
    )
    def _random() -> Finding:
        return _with_random_arrivals(rule)

    @CLAIMS.claim(
        f"example-2.loss.{rule}",
        "section 1; Example 2, last paragraph",
        f"FCFS loses 12 to 25 % of the throughput ({said}).",
        expected=missed,
        holds=holds.format("loss"),
        origin=Origin.READING,
        checked=_ENDLESS,
    )
    def _loss() -> Finding:
        lost = 1 - _fate(rule).throughput / _ARRIVALS
        inside = Fraction(12, 100) <= lost <= Fraction(25, 100)
        return Finding(
            None if inside else f"from 6 waiting and 3 decoding: {decimal(100 * lost, 0)} %",
            f"{decimal(100 * lost, 0)} %",
            paper="12-25 %",
        )


for each in _RULES:
    _under(each)


@CLAIMS.claim("example-2.losses", "Example 2, last paragraph")
def _losses() -> Outcome:
    """3 to 3.5 of 4 completions are 12 to 25 % lost."""
    lost = [1 - Fraction(each) / _ARRIVALS for each in (_HIGH, _LOW)]
    return rounds_to(
        [100 * each for each in lost],
        "12, 25",
        note="The arithmetic alone: 3.5 and 3 of 4. 12.5 rounds either way.",
    )
