"""Which policy is ahead in runs side by side, in one sentence; sampled, not proved."""

import math
from collections.abc import Sequence

from fluidkv.answers.wait.runs import Comparison, PolicyRuns


def ahead(runs: Comparison) -> str:
    """Who completes more and who is faster, policy against the better kind of FCFS.

    A difference is called one where all runs agree on its sign; they are too few for more.

    Examples:
        >>> from fluidkv.answers.wait.ahead import ahead
        >>> from fluidkv.wait import PromptType, WaitSystem
        >>> system = WaitSystem([PromptType(2, 1, 1)], 1, Fraction(1, 12))
        >>> said = ahead(fk.wait_study(system, 12, seeds=2, duration=50).runs)
        >>> said.split(" than ")[0]
        'Here WAIT evicts nobody and completes 12% more tokens'
    """
    own, best = runs.policies[0], best_fcfs(runs)
    alike = all(each.evictions == best.evictions for each in runs.policies[1:])
    other = "first come, first served" if alike and not any(best.evictions) else best.name
    if math.isnan(mean(own.latency_mean)):
        kept = "evicts nobody" if not any(best.evictions) else "evicts"
        if math.isnan(mean(best.latency_mean)):
            return f"Here neither {own.name} nor {other} completes a prompt in the second halves."
        return (
            f"Here {own.name} completes no prompt in the second halves; {other} does, and {kept}."
        )
    if not any(own.evictions) and not any(best.evictions):
        if not alike:
            return f"Here {other} evicts nobody, either, and {faster(own, best, 'it')}."
        return f"Here nobody is evicted, and {faster(own, best, other)}."
    if not any(own.evictions):
        return f"Here {own.name} evicts nobody and {_completes(own, best)}."
    itself = f"Here {own.name} itself evicts, for its thresholds do not fit"
    if any(best.evictions):
        return f"{itself}; {other} evicts, too, and {own.name} {_completes(own, best)}."
    return f"{itself}; {other} evicts nobody, and {faster(own, best, 'it')}."


def faster(own: PolicyRuns, best: PolicyRuns, other: str) -> str:
    """By mean latency."""
    pairs = list(zip(own.latency_mean, best.latency_mean, strict=True))
    ratio = mean(own.latency_mean) / mean(best.latency_mean)
    if all(ours > theirs for ours, theirs in pairs):
        return f"{other} is {_times(ratio)}"
    if all(ours < theirs for ours, theirs in pairs):
        return f"{own.name} is {_times(1 / ratio)}"
    return f"who is faster, {own.name} or {other}, differs from run to run"


def best_fcfs(runs: Comparison) -> PolicyRuns:
    """Of the two kinds the one with more tokens; running first where they have as many.

    Examples:
        >>> from fluidkv.answers.wait.ahead import best_fcfs
        >>> from fluidkv.wait import PromptType, WaitSystem
        >>> system = WaitSystem([PromptType(2, 1, 1)], 1, Fraction(1, 12))
        >>> found = fk.wait_study(system, 12, seeds=2, duration=50)
        >>> best_fcfs(found.runs).name
        'FCFS, running first'
    """
    return max(reversed(runs.policies[1:]), key=lambda each: mean(each.throughput))


def mean(values: Sequence[float]) -> float:
    """Of those that there are; NaN: none.

    Examples:
        >>> from fluidkv.answers.wait.ahead import mean
        >>> mean([0.8, float("nan"), 1.0])  # of a run without a value nothing is said
        0.9
    """
    there = [value for value in values if not math.isnan(value)]
    return sum(there) / len(there) if there else math.nan


def _completes(own: PolicyRuns, best: PolicyRuns) -> str:
    pairs = list(zip(own.throughput, best.throughput, strict=True))
    more = mean(own.throughput) / mean(best.throughput) - 1 if any(best.throughput) else math.inf
    latency = mean(own.latency_mean) / mean(best.latency_mean)
    late = "" if math.isnan(latency) else f", at {latency:.2g} times its mean latency"
    if all(ours > theirs for ours, theirs in pairs):
        share = f"{more:.2g} times" if more >= 10 else f"{100 * more:.2g}%"
        much = "tokens where none come from" if math.isinf(more) else f"{share} more tokens than"
        return f"completes {much} {best.name}{late}"
    if all(ours < theirs for ours, theirs in pairs):
        return f"completes {-100 * more:.2g}% fewer tokens than {best.name}{late}"
    return f"completes about as many tokens as {best.name}{late}"


def _times(ratio: float) -> str:
    if ratio < 1.1:
        return f"{max(100 * (ratio - 1), 0.1):.1g}% faster"
    return "twice as fast" if 1.95 <= ratio < 2.05 else f"{ratio:.2g} times as fast"
