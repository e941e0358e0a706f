"""Every size that was tried as a row of a CSV table, one for each run."""

import csv
import io
import math

from fluidkv.answers.size.result import SizeAnswer


def table_of(answer: SizeAnswer) -> str:
    """A row for each size and run; empty where there is no value."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    names = sorted(answer.found(answer.answer))
    rows.writerow(["tokens", "rate", "replicas", "load", "run", "met", *names])
    for size in [*answer.along, *(size for size in answer.across if size not in answer.along)]:
        values = answer.found(size)
        place = [answer.tokens(size), answer.rate(size), size.replicas, answer.plan.load(size)]
        for run in range(answer.runs):
            met = int(answer.meets(size))
            rows.writerow([*place, run, met, *(_cell(float(values[n][run])) for n in names)])
    return text.getvalue()


def _cell(value: float) -> str:
    return repr(value) if math.isfinite(value) else ""
