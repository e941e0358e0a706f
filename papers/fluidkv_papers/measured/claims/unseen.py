"""Logs of servers that were not looked at before: what was printed of another log holds for them.

The bounds were written down first (`instances/unseen.py`). Ours are on record, since the logs are
not in the repository.
"""

from collections.abc import Iterator, Sequence

from fluidkv.answers.served.bias import OUTPUT
from fluidkv.answers.served.elsewhere import recorded
from fluidkv.ledger import Evidence, Finding, Instance, Origin, Statements, Verdict
from fluidkv_papers.measured.instances import unseen

CLAIMS = Statements(
    "measured.unseen",
    "measured servers",
    origin=Origin.PREDICTION,
    evidence=Evidence.SAMPLED,
)
_WHERE = "requests.jsonl and timeseries.csv of three runs of vLLM 0.19.0"
REMARKS = CLAIMS.section(place=_WHERE, kind="remark", checked="one run of each, on record")
_KNOWN, _ENGINE = "vllm_rtx4090_llama31_8b", "vllm+cache"
ALL = tuple(log.name for log in unseen.LOGS)
ONE_GPU = tuple(log.name for log in unseen.LOGS if log.modelled is not None)
TWO_GPUS = tuple(log.name for log in unseen.LOGS if log.modelled is None)


@REMARKS.fails(
    "modelled.prefill",
    "",
    "A token of prefill lasts as long as the clock from data sheets says, to within 25 %.",
    given=(ONE_GPU, "modelled", ("prefill token",), unseen.MODELLED),
)
@REMARKS.claim(
    "modelled.steps",
    "",
    "A step lasts as long as the clock from data sheets says, to within 25 %, with the least and "
    "the most memory of the log.",
    given=(ONE_GPU, "modelled", ("step, least memory", "step, most memory"), unseen.MODELLED),
)
@REMARKS.claim(
    "duration",
    "",
    "The run lasts as long as measured, to within 5 %.",
    given=(ALL, "run", ("duration",), unseen.DURATION),
)
@REMARKS.claim(
    "peak",
    "",
    "As many run at most as measured, to within 5 %.",
    given=(ALL, "run", ("peak running",), unseen.PEAK),
)
@REMARKS.claim(
    "running",
    "",
    "Requests running in the second half are off by at most 12 % of their mean, root mean square.",
    given=(ALL, "second half", ("running",), unseen.RUNNING),
)
@REMARKS.fails(
    "latency.two-gpus",
    "",
    "Two GPUs that share a model: by the clock of the first half, latencies of the requests that "
    "finish in the second are off by at most 5 % of their time there, in the median.",
    given=(TWO_GPUS, "second half", ("latency", "ttft", "tpot"), unseen.LATENCY),
    holds="latency",
)
@REMARKS.claim(
    "latency",
    "",
    "One GPU: by the clock of the first half, latencies of the requests that finish in the second "
    "are off by at most 5 % of their time there, in the median.",
    given=(ONE_GPU, "second half", ("latency", "ttft", "tpot"), unseen.LATENCY),
)
def within(logs: Sequence[str], part: str, whats: Sequence[str], most: float) -> Finding:
    """Each error of each log is at most so large; of times and of series it is above 0."""
    bad, shown = None, []
    for log in logs:
        for what in whats:
            row = unseen.held(log, part, what)
            shown.append("missing" if row is None else f"{row.off:+.1%}")
            if row is None or abs(row.off) > most:
                bad = bad or f"{log}: {what} {shown[-1]}"
    return Finding(bad, ", ".join(shown), paper=f"within {most:.0%}")


def printed_bar(metric: str) -> Finding:
    """A metric, simulated as `recommend` does it, within what it prints of the known log."""
    rows = [one for one in recorded() if (one.engine, one.metric) == (_ENGINE, metric)]
    bar = next(one.error_bar for one in rows if one.log == _KNOWN)
    bad, shown = None, []
    for one in rows:
        if one.log in ALL:
            shown.append(f"{one.relative:+.1%}")
            if abs(one.relative) > bar:
                bad = bad or f"{one.log}: {shown[-1]}"
    return Finding(bad, ", ".join(shown), paper=f"within {bar:.1%}")


for _id, _says, _metric, _expected, _note, _holds in (
    ("bars.throughput", "Output throughput is", OUTPUT, Verdict.HOLDS, "", ""),
    ("bars.latency", "The 99th percentile of latency is", "latency_p99", Verdict.HOLDS, "", ""),
    (
        *("bars.ttft", "The 99th percentile of TTFT is", "ttft_p99", Verdict.FAILS),
        "A cap on running requests makes them wait.",
        "bars.throughput, bars.latency",
    ),
):
    REMARKS.claim(
        _id,
        "",
        f"{_says} simulated, by a clock of the whole log, to within the error bar that the RTX "
        "4090's log of 20 August gives.",
        expected=_expected,
        checked="one run of each by the rules of vllm+cache, on record",
        given=(_metric,),
        note=_note,
        holds=_holds,
    )(printed_bar)


@REMARKS.claim("preemptions")
def _preemptions() -> Iterator[Instance]:
    """Nobody is preempted where memory never fills, and where it does at least as many are as the
    log shows.

    Paper: the logs' own"""
    for log in ALL:
        row = unseen.held(log, "run", "preemptions at least")
        assert row is not None  # every log has one
        shown = f"{row.ours:.0f} for at least {row.measured:.0f}"
        right = row.ours >= row.measured and (row.ours > 0) == (row.measured > 0)
        yield Instance(right, shown, f"{log}: {shown}")
