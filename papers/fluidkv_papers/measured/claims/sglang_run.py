"""A measured SGLang run, predicted from the first half of its log; and what no prediction can be.

All is by one clock, fitted to the first 91 s; runs are on record (`sglang_study`), since the log
is not in the repository. Four repeats of the run differ among themselves; how far ours moves when
the clock or the arrivals do, within what is known of them, stands beside.
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from fluidkv.ledger import Evidence, Finding, Instance, Origin, Statements, Verdict
from fluidkv_papers.measured.instances import sglang_study as replayed
from fluidkv_papers.measured.instances.sglang_published import REPEATS, SETTINGS, Published
from fluidkv_papers.measured.instances.sglang_study import Outcome as Run

CLAIMS = Statements(
    "measured.sglang",
    "sglang-peak-kv-admission",
    origin=Origin.PREDICTION,
    evidence=Evidence.SAMPLED,
)

_RUNS = "data/derived/w3_runs.csv, reasoning_q2, default and upstream"
_LOG = "data/logs_sample/server_reasoning_q2__default_r1.log"
_OTHERS = "data/derived/w3_runs.csv and w3_det_runs.csv"
_FIRST = "one run, by the clock of the first half of the log"
_EACH = "one run of each, by the clock of the first half of the log"
_SLOWER = f"{_FIRST}, made slower by the median time per token of this run itself"
_MAIN = "fit first half of the log"
_RATES = ("reasoning", "reasoning_q0.5", "reasoning_q1")
_CAPS = ("cap65k", "tuned_n24", "tuned_n32", "tuned_n40", "tuned_n48")
MAIN = CLAIMS.section(place=_RUNS, kind="remark", checked=_FIRST, ours="{list}", paper="{list}")
OTHERS = CLAIMS.section(place=_OTHERS, kind="remark", checked=_EACH)

Number = Callable[[Run | Published], float]


def _of(name: str) -> Number:
    return lambda run: float(getattr(run, name))


def _main() -> Run:
    return replayed.recorded()[_MAIN][0]


@MAIN.claim(
    "latencies",
    "",
    "Median and 99th percentile of the time to the first token and of the time per token, and the "
    "99th percentile of the latency, are as measured, to within 5 %.",
    given=(("ttft_p50", "ttft_p99", "tpot_p50", "tpot_p99", "latency_p99"), 0.05, "{:.4g} s"),
)
@MAIN.claim(
    "recomputed",
    "",
    "21,452 tokens are computed again, to within 5 %.",
    given=(("recomputed",), 0.05, "{:,.0f}"),
)
@MAIN.claim(
    "wall",
    "",
    "The run lasts 285.7 s, to within 5 %.",
    given=(("wall_s",), 0.05, "{:.1f} s"),
)
@MAIN.claim(
    "running",
    "",
    "At most 68 requests run, and 59 wait, to within 5 %.",
    given=(("running", "waiting"), 0.05, "{:.0f}"),
)
@MAIN.claim(
    "retractions",
    "",
    "There are 20 retractions, to within 25 %.",
    given=(("retractions",), 0.25, "{:.0f}"),
)
def close(names: Sequence[str], part: float, form: str) -> Iterator[Instance]:
    """Each number within a part of those of the logged run."""
    for name in names:
        value, wanted = _of(name)(_main()), _of(name)(REPEATS[0])
        shown, printed = form.format(value), form.format(wanted)
        bad = f"{name}: {shown} for {printed}"
        yield Instance(abs(value / wanted - 1) <= part, shown, bad, printed)


@CLAIMS.claim("ratios", _LOG, checked=_FIRST, kind="remark")
def _ratios() -> Finding:
    """Of all 20 retractions, the new-token ratio after is the logged one to within 0.01."""
    ours, logged = (
        np.array([one.ratio_after for one in replayed.retractions(who)])
        for who in ("predicted", "measured")
    )
    same = len(ours) == len(logged)
    off = np.abs(ours - logged).max() if same else np.inf
    shown = f"{len(ours)} retractions, off by {off:.4f} at most"
    bad = None if same and off <= 0.01 else shown
    return Finding(bad, shown, paper=f"{len(logged)}, ratios {logged[0]} to {logged[-1]}")


def by_clocks(studies: Sequence[str]) -> Finding:
    """Retractions within 25 %, running and duration within 5 %."""
    bad, shown, measured = None, [], REPEATS[0]
    for study in studies:
        (run,) = replayed.recorded()[f"fit {study}"]
        shown.append(f"{run.retractions}, {run.running}, {run.wall_s:.0f} s")
        fine = abs(run.retractions / measured.retractions - 1) <= 0.25
        fine &= abs(run.running / measured.running - 1) <= 0.05
        if not (fine and abs(run.wall_s / measured.wall_s - 1) <= 0.05):
            bad = bad or f"{study}: {shown[-1]}"
    wanted = f"{measured.retractions}, {measured.running}, {measured.wall_s:.0f} s"
    return Finding(bad, "; ".join(shown), paper=wanted)


CLAIMS.claim(
    "any-part",
    _LOG,
    "The clock of a quarter of the log, of the first half of the run or of all of the log gives "
    "retractions within 25 %, and running and duration within 5 %, too.",
    kind="remark",
    checked="one run by each clock",
    given=(("first quarter of the log", "first half of the run", "whole log"),),
)(by_clocks)
CLAIMS.claim(
    "second-half",
    _LOG,
    "The clock of the second half of the log gives retractions within 25 %, and running and "
    "duration within 5 %.",
    kind="remark",
    expected=Verdict.FAILS,
    checked="one run",
    given=(("second half of the log",),),
    holds="any-part",
    note="Memory is full there all the time, so that what KV tokens cost stays in the constant.",
)(by_clocks)


@CLAIMS.claim("noise", _RUNS, checked=f"{replayed.DRAWS} draws of each", kind="remark")
def _noise() -> Finding:
    """What four repeats of the run differ by, ours does too, when arrivals move by 0.1 s or the
    clock by three standard errors: 19 and 20 retractions both lie among the draws."""
    studies = (f"clock {replayed.SPREADS[-1]}", f"moved {replayed.MOVED_S[-1]:g} s")
    bad, shown = None, []
    for study in studies:
        counts = {run.retractions for run in replayed.recorded()[study]}
        shown.append(f"{min(counts)} to {max(counts)}")
        missing = {run.retractions for run in REPEATS} - counts
        if missing:
            bad = bad or f"{study}: no draw with {min(missing)}"
    measured = sorted(run.retractions for run in REPEATS)
    return Finding(bad, " and ".join(shown), paper=f"{measured[0]} to {measured[-1]}")


@CLAIMS.claim("noise.milliseconds", _RUNS, checked=f"{replayed.DRAWS} draws", kind="remark")
def _milliseconds() -> Finding:
    """Arrivals that move by a millisecond leave the number of retractions as it is.

    Paper: 19 to 20 in four repeats"""
    counts = {run.retractions for run in replayed.recorded()[f"moved {replayed.MOVED_S[0]:g} s"]}
    shown = ", ".join(map(str, sorted(counts)))
    bad = None if counts == {_main().retractions} else f"{shown} retractions"
    return Finding(bad, f"{shown} in all draws")


@OTHERS.fails(
    "settings.deterministic.wall",
    "",
    "In deterministic mode the run lasts 564.1 s, to within 5 %.",
    given=(("det",), (("wall_s", 0.05, 0.0),), "{:.1f}"),
    checked=_SLOWER,
    note="Deterministic steps are longer by 1.8 at the median, and not all by the same.",
)
@OTHERS.claim(
    "settings.deterministic",
    "",
    "In deterministic mode, whose steps last longer, there are 30 retractions, to within 25 %, and "
    "at most 84 run, to within 5 %.",
    given=(("det",), (("retractions", 0.25, 0.0), ("running", 0.05, 0.0)), "{:.0f}"),
    checked=_SLOWER,
)
@OTHERS.claim(
    "settings.no-tree",
    "",
    "Without a tree the same requests last as long as measured, to within 5 %.",
    given=(("noradix",), (("wall_s", 0.05, 0.0), ("running", 0.05, 0.0)), "{:.1f}"),
)
@OTHERS.fails(
    "settings.retractions",
    "",
    "At other rates and caps, retractions are as many as measured, to within 25 %.",
    given=((*_RATES, *_CAPS), (("retractions", 0.25, 0.0),), "{:.0f}"),
)
@OTHERS.claim(
    "settings.ttft",
    "",
    "With caps on memory and running, the 99th percentile of the time to the first token is as "
    "measured, to within 5 %.",
    given=(_CAPS, (("ttft_p99", 0.05, 0.0),), "{:.1f}"),
)
@OTHERS.claim(
    "settings.running",
    "",
    "There, the most that run and wait at once are those measured, to within 1.",
    given=((*_RATES, *_CAPS), (("running", 0.0, 1.0), ("waiting", 0.0, 1.0)), "{:.0f}"),
)
@OTHERS.claim(
    "settings.wall",
    "",
    "At three other rates, with a quarter less memory, and with at most 24, 32, 40 and 48 running, "
    "the same requests last as long as measured, to within 5 %.",
    given=((*_RATES, *_CAPS), (("wall_s", 0.05, 0.0),), "{:.1f}"),
)
def other_settings(
    names: Sequence[str], numbers: Sequence[tuple[str, float, float]], form: str
) -> Iterator[Instance]:
    """Under each setting, numbers within a part of the measured ones, or an amount."""
    for setting in SETTINGS:
        measured, wrong = setting.measured, ""
        if measured.name not in names:
            continue
        (run,) = replayed.recorded()[f"setting {measured.name}"]
        for name, part, amount in numbers:
            value, wanted = _of(name)(run), _of(name)(measured)
            if abs(value - wanted) > max(part * wanted, amount):
                wrong = wrong or f"{measured.name}: {form.format(value)} for {form.format(wanted)}"
        shown, printed = (
            ", ".join(form.format(_of(name)(of)) for name, *_ in numbers) for of in (run, measured)
        )
        yield Instance(not wrong, shown, wrong, printed)
