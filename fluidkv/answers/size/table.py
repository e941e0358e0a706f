"""Every size that was tried as a row of a CSV table, one for each run."""

from fluidkv.answers.size.result import SizeAnswer
from fluidkv.plain import csv_text


def table_of(answer: SizeAnswer) -> str:
    """A row for each size and run; empty where there is no value."""
    names = sorted(answer.found(answer.answer))
    sizes = [*answer.along, *(size for size in answer.across if size not in answer.along)]
    rows = (
        [
            *(answer.tokens(size), answer.rate(size), size.replicas, answer.plan.load(size)),
            *(run, int(answer.meets(size))),
            *(answer.found(size)[name][run] for name in names),
        ]
        for size in sizes
        for run in range(answer.runs)
    )
    return csv_text(["tokens", "rate", "replicas", "load", "run", "met", *names], rows)
