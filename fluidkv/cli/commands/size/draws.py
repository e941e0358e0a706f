"""What holds for fresh draws, as a person reads it."""

from fluidkv.answers import Size, SizeAnswer
from fluidkv.answers.memory import Memory
from fluidkv.answers.served.fresh import share_in, spread
from fluidkv.answers.size.nearly import Nearly
from fluidkv.answers.size.result import worst_of
from fluidkv.answers.size.search import met_by_run
from fluidkv.cli.commands.size.sizes import size_said, unit_of
from fluidkv.report.numbers import short
from fluidkv.report.page import Row


def holds_rows(answer: SizeAnswer, memory: Memory) -> list[Row]:
    """What holds for other draws, the worst of them, and what these requests alone would say."""
    nearly = answer.nearly
    if nearly is None:
        return []
    draws = f"{nearly.draws} fresh draws of {nearly.horizon:,} requests"
    if nearly.edge is None:
        last = list(nearly.along)[-1]
        what = f"{size_said(answer, last, memory)}: {_draws_miss(answer, last)}"
        return [("CAUTION", f"no size tried holds for {draws}, not even {what}")]
    all_of = f"all of {draws} meet it" if not nearly.misses else f"{draws} meet it"
    if nearly.misses:
        all_of += f" but for at most {nearly.misses}"
    at, plan = nearly.edge.answer, answer.plan
    worst = [
        f"{slo.metric} {short(worst_of(nearly.along[at], slo.metric))}{unit_of(answer, slo.metric)}"
        + (f" (bound {short(slo.bound)} for {nearly.horizon:,} requests)" if slo.is_count else "")
        for slo in plan.slos_of_draws
    ]
    rows: list[Row] = [
        ("holds for", f"{share_said(nearly)}: {all_of}"),
        ("worst draw", ", ".join(worst)),
    ]
    if nearly.edge.blocker is not None:
        less = nearly.edge.blocker
        rows.append(("next", f"{size_said(answer, less, memory)}: {_draws_miss(answer, less)}"))
    if answer.edge.answer != answer.answer:
        said = size_said(answer, answer.edge.answer, memory)
        rows.append(("these alone", f"{said}, which the requests that are run would do with"))
    return rows


def share_said(nearly: Nearly) -> str:
    """How many others meet it: draws, or days of a log, of which that is an estimate."""
    others = "draws like it" if not nearly.left_open else "other days (estimated)"
    return f"{nearly.share:.0%} of {others}"


def _draws_miss(answer: SizeAnswer, size: Size) -> str:
    """How many draws a size fails, of those that it was tried with, and the worst of them."""
    assert answer.nearly is not None  # it has tried the size
    values, slos = answer.nearly.along[size], answer.plan.slos_of_draws
    met = met_by_run(values, slos)
    worst = [
        f"{slo.metric} {short(worst_of(values, slo.metric))}{unit_of(answer, slo.metric)}"
        for slo in slos
        if not met_by_run(values, [slo]).all()
    ]
    return f"missed by {int((~met).sum())} of {met.size} draws; the worst has {', '.join(worst)}"


def count_rows(answer: SizeAnswer) -> list[Row]:
    """Counts by draws, and by clocks within their error."""
    nearly, against, at = answer.nearly, answer.against, answer.answer
    if nearly is None or at not in nearly.along:
        return []
    tried = [nearly.along[at]]
    if against is not None and at in against.along:
        tried.append(against.along[at])
    counts = []
    for metric, name in (("preemptions", "preemptions"), ("peak_kv", "tokens held at most")):
        ends = [spread(values[metric]) for values in tried]
        low, high = min(end[0] for end in ends), max(end[1] for end in ends)
        counts.append(f"{short(low)} to {short(high)} {name}")
    error, slow = "", len(tried[-1]["preemptions"])
    if len(tried) > 1:
        error = ", also with its error"
        error += f" in the first {slow} of them" * (slow < nearly.draws)
    return [(f"in {share_in(nearly.draws):.0%} of draws", f"{', '.join(counts)}{error}")]


def stretch_rows(answer: SizeAnswer) -> list[Row]:
    """What draws are like."""
    nearly, stretch = answer.nearly, answer.nearly and answer.nearly.stretch
    if nearly is None:
        return []
    if stretch is None:
        lengths = (
            "its requests, weighed anew in each" if nearly.left_open else "lengths by their shares"
        )
        return [("draws", f"{lengths}; Poisson arrivals")]
    what = "its conversations, weighed anew in each"
    if stretch.requests < stretch.of:
        what = (
            f"those of its busiest {stretch.requests:,} requests in a row, of {stretch.of:,} "
            f"({stretch.rate:.2f} a second at the trace's own times, {stretch.rate_of_all:.2f} in "
            "all of it), weighed anew in each"
        )
    return [("draws", f"{what}; arrivals: {stretch.arrivals}")]
