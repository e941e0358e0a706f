"""WAIT, Examples 1 and 2: one prompt type with l = l' = 1 in 12 units of memory, first come first
served, played out.

The narrative lets newcomers in before prompts that decode, and evicts those for them; the paper's
Sarathi does the reverse. Both are played. Four prompts come in each iteration, as the example has
it, or Poisson(4).
"""

from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING

from fluidkv.ledger.claim import Claim, Outcome
from fluidkv.ledger.outcomes import decimal, equals, holds_for, rounds_to, verdict
from fluidkv.papers.wait.paper import wait
from fluidkv.verdict import Evidence, Verdict

if TYPE_CHECKING:
    from fluidkv.papers.wait.fcfs_examples import Fate, Runs

_MEMORY, _ARRIVALS = 12, 4
_LOW, _HIGH = 3, Fraction(7, 2)  # "3-3.5 completions per iteration"
_RUNS, _LONG = 100, 2000  # of random arrivals: runs, iterations
_ERRORS = 5  # standard errors allowed; a right record fails one time in a million at most


@cache
def _constant(new_first: bool, iterations: int = 12) -> "Runs":
    """From 6 waiting and 3 decoding, with four arrivals an iteration."""
    import numpy as np

    from fluidkv.papers.wait.fcfs_examples import example_2

    arrivals = np.full((iterations, 1), _ARRIVALS)
    return example_2(arrivals, new_first=new_first)


def _row(name: str, new_first: bool, iterations: int) -> list[int]:
    return getattr(_constant(new_first), name)[:iterations, 0].tolist()


def _fate(new_first: bool) -> "Fate":
    from fluidkv.papers.wait.fcfs_examples import Counts, fate

    return fate(Counts(6, 3), arrivals=_ARRIVALS, capacity=_MEMORY, new_first=new_first)


# --- the narrative ------------------------------------------------------------------------------


def _balanced() -> Outcome:
    """Four prefills and four decodes: tokens, completions."""
    from fluidkv.papers.wait.fcfs_examples import Counts, play

    played = play(Counts(4, 4), capacity=_MEMORY, new_first=True)
    return equals((4 * 1 + 4 * 2, int(played.completed), int(played.evicted)), "12, 4, 0")


def _full() -> Outcome:
    """Iteration 1: 6 prefills, 3 decodes; then 6 decode."""
    from fluidkv.papers.wait.fcfs_examples import Counts, play

    played = play(Counts(6, 3), capacity=_MEMORY, new_first=True)
    tokens = 2 * int(played.after.decoding)
    return equals((int(played.completed), int(played.after.decoding), tokens), "3, 6, 12")


def _evicts_two() -> Outcome:
    evicted, completed = _row("evicted", True, 2)[1], _row("completed", True, 2)[1]
    return equals((evicted, 4 + 2 * completed), "2, 12")


def _must_evict() -> Outcome:
    """All ways to prefill 4 and keep the 6 decodes: some run (2 units each), the others pause."""

    def ways(paused: int) -> list[tuple[int, int]]:
        return [(d, 6 - d) for d in range(7) if 4 + 2 * d + paused * (6 - d) <= _MEMORY]

    most, computed = max(ways(2), default=None), max(ways(1), default=None)
    return holds_for(
        most and f"4 prefills, {most[0]} decodes, {most[1]} paused",
        ours=f"{most[1]} pause with their caches" if most else "two go",
        paper="we must evict 2 decode prompts",
        note="A prompt may pause with its cache (section 2.6), l + k = 2 units in (2) and in step "
        "2."
        + (
            f" Counted by what it has computed, 1 unit, {computed[1]} could pause and nobody goes."
            if computed
            else ""
        ),
    )


def _third_iteration() -> Outcome:
    """Six wait (2 evicted, 4 new), four are to decode."""
    completed = _row("completed", True, 3)
    return holds_for(
        None if completed[2] == 4 else "2 evicted and 4 new take 6 units; 3 of 4 decodes fit",
        ours=f"{completed[2]} (iterations 1 to 3: {', '.join(map(str, completed))})",
        paper="4 completions",
        note="Newcomers first, as in iteration 2; the evicted wait as new arrivals do. The four "
        "decodes of iteration 2 complete in it.",
    )


# --- the long run -------------------------------------------------------------------------------


def _persists(new_first: bool) -> Outcome:
    """The cycle is found by the state coming again, or by a queue that no longer matters."""
    found = _fate(new_first)
    endless = found.evicted > 0 and found.growth > 0
    return holds_for(
        None if endless else f"the cycle evicts {found.evicted}",
        ours=f"in {found.period} iterations {found.evicted} go, the queue gains {found.growth}",
        paper="the cycle persists indefinitely",
    )


def _completions(new_first: bool) -> Outcome:
    found = _fate(new_first).throughput
    shown = ", ".join(map(str, _row("completed", new_first, 12)))
    inside = _LOW <= found <= _HIGH
    return holds_for(
        None if inside else f"iterations 1 to 12 complete {shown}, and none later",
        ours=f"{found} an iteration in the long run",
        paper="approximately 3-3.5",
        note="Constant arrivals. In the end newcomers take all memory in each iteration and "
        "evict those of the one before."
        if new_first
        else "Constant arrivals: 12 prefills and 6 decodes in turn, 6 evictions a cycle.",
    )


def _random(new_first: bool) -> Outcome:
    import numpy as np

    from fluidkv.papers.wait.fcfs_examples import example_2

    arrivals = np.random.default_rng(1).poisson(_ARRIVALS, (_LONG, _RUNS))
    runs = example_2(arrivals, new_first=new_first).completed[_LONG // 2 :].mean(axis=0)
    mean, error = float(runs.mean()), float(runs.std(ddof=1)) / _RUNS**0.5
    margin = _ERRORS * error
    inside = _LOW - margin <= mean <= float(_HIGH) + margin
    return Outcome(
        verdict(inside),
        Evidence.SAMPLED,
        ours=f"{mean:.3f} ± {error:.3f} an iteration",
        paper="approximately 3-3.5",
        note=f"{_RUNS} runs of {_LONG} iterations, the first half left out; ± one standard error, "
        f"{_ERRORS} of which are allowed."
        + ("" if new_first else " A long queue alternates as under constant arrivals, at 3."),
        witness="" if inside else f"seed 1: {mean:.3f}",
    )


def _losses() -> Outcome:
    lost = [1 - Fraction(each) / _ARRIVALS for each in (_HIGH, _LOW)]
    return rounds_to(
        [100 * each for each in lost],
        "12, 25",
        note="The arithmetic alone: 3.5 and 3 of 4. 12.5 rounds either way.",
    )


def _loss(new_first: bool) -> Outcome:
    lost = 1 - _fate(new_first).throughput / _ARRIVALS
    inside = Fraction(12, 100) <= lost <= Fraction(25, 100)
    return holds_for(
        None if inside else f"from 6 waiting and 3 decoding: {decimal(100 * lost, 0)} %",
        ours=f"{decimal(100 * lost, 0)} %",
        paper="12-25 %",
    )


def _unstable() -> Outcome:
    """Starts of up to 20 waiting and 12 decoding, with constant arrivals."""
    from fluidkv.papers.wait.fcfs_examples import fates

    counts = {}
    for new_first in (True, False):
        found = fates(
            arrivals=_ARRIVALS, capacity=_MEMORY, new_first=new_first, most_waiting=20
        ).values()
        counts[new_first] = sum(each.growth > 0 for each in found), len(found)
    bad = None if all(grow > 0 for grow, _ in counts.values()) else "every start is served"
    shown = "; ".join(
        f"{'new' if first else 'running'} first: {grow} of {every} starts grow"
        for first, (grow, every) in counts.items()
    )
    return holds_for(bad, ours=shown, paper="triggers this cascade, making the system unstable")


_RULES = ((True, "new-first", "newcomers first"), (False, "running-first", "decodes first"))

CLAIMS: tuple[Claim, ...] = (
    wait(
        "example-1.balanced",
        "Four prefills and four decodes take 12 units, with 4 completions an iteration.",
        "Example 1",
        _balanced,
    ),
    wait(
        "example-1.full",
        "From 6 waiting and 3 decoding, 3 complete and 6 decodes then fill the memory.",
        "Example 1, steps 1 and 2; Example 2, iteration 1",
        _full,
    ),
    wait(
        "example-1.evicts-two",
        "To prefill four newcomers first, two of the six decodes go, and 12 units are used.",
        "Example 1, step 3; Example 2, iteration 2",
        _evicts_two,
    ),
    wait(
        "example-1.must-evict",
        "To prefill the four newcomers beside six decodes, two decodes must be evicted.",
        "Example 1, step 3; Example 2, iteration 2",
        _must_evict,
        checked="all batches that hold the six and prefill the four",
    ),
    wait(
        "example-2.third-iteration",
        "In iteration 3 of Example 2 four prompts complete.",
        "Example 2, iteration 3",
        _third_iteration,
        expected=Verdict.FAILS,
    ),
    *(
        wait(
            f"example-2.persists.{name}",
            f"The eviction-restart cycle persists indefinitely ({said}).",
            "Example 1, last paragraph; Example 2",
            lambda first=first: _persists(first),
            checked="four arrivals an iteration, for ever",
        )
        for first, name, said in _RULES
    ),
    wait(
        "example-1.unstable",
        "The server with M = M* can become unstable under first come, first served.",
        "Example 1, last paragraph",
        _unstable,
        checked="four arrivals an iteration, for ever, from 273 starts",
    ),
    *(
        wait(
            f"example-2.completions.{name}",
            f"The cycle completes approximately 3 to 3.5 prompts an iteration ({said}).",
            "Example 2, last paragraph",
            lambda first=first: _completions(first),
            expected=Verdict.FAILS if first else Verdict.HOLDS,
            checked="four arrivals an iteration, for ever",
        )
        for first, name, said in _RULES
    ),
    *(
        wait(
            f"example-2.completions.{name}.poisson",
            f"With Poisson arrivals 3 to 3.5 complete in an iteration as well ({said}).",
            "Example 2, last paragraph",
            lambda first=first: _random(first),
            expected=Verdict.FAILS if first else Verdict.HOLDS,
            checked=f"Poisson(4) arrivals, {_RUNS} runs of {_LONG} iterations (seed 1)",
        )
        for first, name, said in _RULES
    ),
    wait(
        "example-2.losses",
        "3 to 3.5 of 4 completions are 12 to 25 % lost.",
        "Example 2, last paragraph",
        _losses,
    ),
    *(
        wait(
            f"example-2.loss.{name}",
            f"FCFS loses 12 to 25 % of the throughput ({said}).",
            "section 1; Example 2, last paragraph",
            lambda first=first: _loss(first),
            expected=Verdict.FAILS if first else Verdict.HOLDS,
            checked="four arrivals an iteration, for ever",
        )
        for first, name, said in _RULES
    ),
)
