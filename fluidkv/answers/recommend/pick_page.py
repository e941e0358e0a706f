"""What to set and how sure that is, as a person reads it."""

import math
from collections.abc import Iterable
from typing import NamedTuple

from fluidkv.answers.recommend.choosing import watermarks_alone
from fluidkv.answers.recommend.records import MARGIN
from fluidkv.answers.recommend.result import Recommendation
from fluidkv.answers.recommend.settings import knobs, without_flag
from fluidkv.answers.served.fresh import share_in, spread
from fluidkv.answers.served.paired import gained
from fluidkv.answers.served.published import misses_of
from fluidkv.answers.served.rows import TITLES, not_measured, published_rows
from fluidkv.report.numbers import half_shown, percent, short, signed
from fluidkv.report.page import Row

FAR = 2.0
"""Times what the simulation misses, from which on a gain is worth a test that cannot be sold."""


class Outcome(NamedTuple):
    """What is said of a pick.

    Fields:
        sentence: what to do, what it brings in the first thing that users feel, how sure that is.
        heading: of the rows.
        rows: what to take, what it gains, what holds that, and what else there is.
    """

    sentence: str
    heading: str
    rows: list[Row]


def outcome_of(answer: Recommendation) -> Outcome:
    """Whether nothing can be gained, nothing can be said, nothing is good enough, or what to do."""
    gains, felt, requests = answer.gains, answer.felt, answer.plan.size
    index, candidate, best = answer.choice.index, answer.choice.candidate, answer.best or 0
    if answer.ran.nothing_to_gain:
        sentence = f"Leave it as it is: nothing is preempted in {requests:,} requests"
        rows: list[Row] = [("why", _why_nothing(answer))]
        return Outcome(sentence, "Nothing to gain: leave it as it is", rows)
    if answer.plan.short:
        sentence = f"No pick: runs of {requests:,} requests are mostly their start"
        start = "memory holds a good part of all requests at once: these runs are mostly their"
        rows = [("why", f"{start} start; take more --requests"), *_prefill_rows(answer)]
        return Outcome(sentence, "No pick", rows)
    heading = "What to set, and how sure"
    if index is None:
        heading = "No setting meets what is asked"
        sentence = f"{heading}, of {len(answer.settings):,} that were tried"
        rows = [("closest", setting_text(answer, best))]
    elif index:
        what = _flags(answer, index) or setting_text(answer, index)
        won = next((metric for metric in felt if gains.of(index, metric).counts), felt[0])
        sentence = f"Set {what}: {_with_bar(answer, index, won)}"
        rows = [*_flag_rows(answer, index), ("gain", _gains(answer, index))]
    else:
        why = f"nothing tried is better by more than {MARGIN:.0%}"
        if candidate:
            needed = percent(gains.of(candidate, felt[0]).needed)
            brings = _with_bar(answer, candidate, felt[0])
            why = f"the best tried brings {brings}, and {needed} would count"
        sentence = f"Leave it as it is: {why}"
        rows = [("leave it", _why_left(answer)), *_uneven_rows(answer)]
    rows += _slo_rows(answer, best if index is None else index)
    rows += _like_rows(answer)
    rows += _version_rows(answer)
    rows += _limiter_rows(answer)
    if not answer.bias and (candidate or index is None):
        engine = answer.plan.engine
        rows.append(("not measured", not_measured(engine.rules.name, engine.caching)))
    rows += _prefill_rows(answer)
    rows += published_rows(misses_of(answer.settings[best].changed(answer.settings[0])))
    return Outcome(sentence, heading, [*rows, ("no preemption", _end(answer))])


# --- why it is left as it is --------------------------------------------------------------------


def _why_nothing(answer: Recommendation) -> str:
    runs = f"in {answer.runs} runs" if answer.runs > 1 else "in a run"
    queue = answer.mean(0, "queue_most")
    waiting = "nobody waits" if not queue else "no cap of today's makes anybody wait"
    return (
        f"nothing is preempted {runs} of {answer.plan.size:,} requests, and {waiting}: a watermark,"
        " a lower max_num_seqs or a rate cap can only let less run at once. Nothing else was tried;"
        " name a --watermark or --max-num-seqs to try it"
    )


def _why_left(answer: Recommendation) -> str:
    best, likes = answer.choice.candidate, answer.likes
    if not best:
        better = f"better by more than {MARGIN:.0%} in something that users feel"
        return f"nothing tried is {better} and worse by as much in nothing of it"
    text = f"{setting_text(answer, best)}: {_simulated(answer, best)}"
    if likes is not None and best in likes.indices and answer.gains.real(best):
        return (
            "what gains on these requests gains nothing that counts on fresh draws of their like. "
            f"It was {text}"
        )
    beyond = "what the simulation misses on this log and " if answer.bias else ""
    return f"nothing tried gains more than {beyond}chance makes of it. The best of it, {text}"


def _uneven_rows(answer: Recommendation) -> list[Row]:
    """Gains far beyond what the simulation misses, which parts of the run do not share."""
    best = answer.choice.candidate
    if not best or not answer.bias:
        return []
    gains = {metric: answer.gains.of(best, metric) for metric in answer.felt}
    parts = [
        f"{_name(answer, metric)} {gain.change:+.1%}, where {gain.needed:.1%} is missed and "
        f"quarters differ by +- {gain.half:.1%}"
        for metric, gain in gains.items()
        if gain.held and gain.relative > FAR * gain.needed and not gain.counts
    ]
    why = "Quarters differ so where requests wait in some of them only: a test on the server tells"
    return [("worth a test", f"{'; '.join(parts)}. {why}")] if parts else []


# --- gains --------------------------------------------------------------------------------------


def _gains(answer: Recommendation, index: int) -> str:
    """What counts, with its interval; what it costs; what is neither."""
    won, lost, even = [], [], []
    for metric in answer.felt:
        gain, name = answer.gains.of(index, metric), _name(answer, metric)
        if gain.counts:
            interval = f" (+- {gain.half:.1%})" if math.isfinite(gain.change) else ""
            won.append(f"{name} {signed(gain.change)}{interval}")
        elif gain.relative < -MARGIN:
            lost.append(f"{name} {signed(gain.change)}")
        elif not math.isnan(gain.relative):
            even.append(name)
    parts = [", ".join(won) or "what is asked"]
    parts += [f"at {', '.join(lost)}"] if lost else []
    parts += [f"no gain that counts in {', '.join(even)}"] if even else []
    return "; ".join([*parts, f"preemptions {_preemptions(answer, index)}"])


def _simulated(answer: Recommendation, index: int) -> str:
    gains = {m: answer.gain(index, m) for m in (answer.throughput, *answer.tails)}
    parts = _signed_parts(answer, gains.items())
    return f"{', '.join(parts)} and {_preemptions(answer, index)} preemptions, both simulated"


def _signed_parts(answer: Recommendation, gains: Iterable[tuple[str, float]]) -> list[str]:
    """ "+2.0% output", of those that have a value."""
    return [f"{signed(gain)} {_name(answer, m)}" for m, gain in gains if not math.isnan(gain)]


def _preemptions(answer: Recommendation, index: int) -> str:
    """Now, and with a setting."""
    return " -> ".join(short(answer.mean(i, "preemptions")) for i in (0, index))


def _with_bar(answer: Recommendation, index: int, metric: str) -> str:
    gain = answer.gains.of(index, metric)
    bar = f" +- {percent(half_shown(gain.half))}" if math.isfinite(gain.half) else ""
    return f"{_name(answer, metric)} {signed(gain.change)}{bar}"


def _name(answer: Recommendation, metric: str) -> str:
    return "output" if metric == answer.throughput else TITLES.get(metric, metric)


def _like_rows(answer: Recommendation) -> list[Row]:
    """What holds for its like: the same setting on fresh draws, which chose nothing."""
    likes, index = answer.likes, answer.best
    if likes is None or not index or index not in likes.indices:
        return []
    place = likes.indices.index(index)
    gains = {metric: likes.gains.of(place, metric) for metric in answer.felt}
    changes = ", ".join(
        f"{_name(answer, metric)} {signed(gain.sign * gain.paired)} (+- {gain.half:.1%})"
        for metric, gain in gains.items()
        if math.isfinite(gain.paired)
    )
    now, then = (
        " to ".join(short(end) for end in spread(likes.gains.table.preemptions.values[row]))
        for row in (0, place)
    )
    rows: list[Row] = [
        (
            "its like",
            f"on {likes.draws} fresh draws of {likes.days.requests:,} requests: {changes}",
        ),
        ("", f"preemptions in {share_in(likes.draws):.0%} of draws: {now} today, {then} so"),
    ]
    if answer.plan.asked:
        rows.append(("", f"{likes.met[place]} of {likes.draws} draws meet what is asked"))
    return rows


# --- other picks --------------------------------------------------------------------------------


def _version_rows(answer: Recommendation) -> list[Row]:
    """What the version of the log can do, where the pick needs a newer one."""
    name, version = answer.plan.engine.rules.name, answer.version
    rows: list[Row] = [
        ("needs", f"{flag}: {name} >= {first}; it is {version}")
        for flag, first in answer.needs(answer.best or 0)
    ]
    if not rows or answer.choice.index is None:
        return rows
    choice = answer.picks.at_hand
    if choice.index:
        text = f"{_flags(answer, choice.index)}; {_gains(answer, choice.index)}"
    else:
        best = choice.candidate
        text = "leave it as it is"
        if best:
            text += f"; the best there, {setting_text(answer, best)}: {_simulated(answer, best)}"
    return [*rows, (f"with {version}", text)]


def _limiter_rows(answer: Recommendation) -> list[Row]:
    """What a rate limiter would gain beyond it."""
    index, base = answer.pick_in_front, answer.choice.index
    if index is None:
        return []
    more = {m: gained(answer.mean(index, m), answer.mean(base or 0, m)) for m in answer.felt}
    parts = _signed_parts(answer, [(m, gain) for m, gain in more.items() if abs(gain) > MARGIN / 2])
    text = ", ".join([*([] if base is not None else ["meets what is asked"]), *parts])
    beside = "today" if not base else "that"
    flag = "no engine has a flag"
    limiter = f"{_limiter(answer, index)}; {flag}: {text or 'about as good'}, beside {beside}"
    return [("in front", limiter)]


def _limiter(answer: Recommendation, index: int) -> str:
    setting, now = answer.settings[index], answer.settings[0]
    parts = []
    if setting.clients != now.clients:
        parts.append(f"at most {setting.clients} requests at once from the clients")
    if setting.admission_rate is not None and setting.admission_rate != now.admission_rate:
        rate = float(setting.admission_rate)
        share = rate / float(answer.plan.equilibrium.rate)
        where = f"{rate:.4g} admissions per iteration ({share:.0%} of what full memory completes)"
        if answer.plan.clock.unit == "s":
            length = answer.mean(index, "duration") / answer.mean(index, "iterations")
            where += f", {rate / length:.3g} per second at {1000 * length:.3g} ms per iteration"
        parts.append(f"a rate limiter of {where}")
    flags = [f"{flag} {value}" for flag, value in answer.flags(index)]
    return ", ".join([*parts, *flags])


# --- one setting --------------------------------------------------------------------------------


def setting_text(answer: Recommendation, index: int) -> str:
    """Its knobs, as far as the engine has them."""
    setting = answer.settings[index]
    parts = [f"watermark {setting.watermark:g}"] if _has_watermark(answer) else []
    caps = (
        ("max_num_seqs", setting.max_num_seqs, ""),
        ("conservativeness", setting.conservativeness, ""),
        ("rate cap", setting.admission_rate, " per iteration"),
        ("clients", setting.clients, ""),
    )
    for name, value, unit in caps:
        if value is not None:
            parts.append(f"{name} {float(value):.4g}{unit}")
        elif name == "max_num_seqs":
            parts.append("no max_num_seqs")
    return ", ".join(parts)


def _has_watermark(answer: Recommendation) -> bool:
    return "watermark" in knobs(answer.plan.engine.rules, answer.plan.demand)


def _flags(answer: Recommendation, index: int) -> str:
    return " ".join(f"{flag} {value}" for flag, value in answer.flags(index))


def _flag_rows(answer: Recommendation, index: int) -> list[Row]:
    flags, setting = _flags(answer, index), answer.settings[index]
    rows: list[Row] = [("set", f"{flags}   ({answer.label})")] if flags else []
    for knob in without_flag(answer.plan.engine.rules, setting, answer.settings[0]):
        rows.append(("set", f"{knob} {getattr(setting, knob)}; {answer.label} has no flag for it"))
    return rows


def _slo_rows(answer: Recommendation, index: int) -> list[Row]:
    rows: list[Row] = []
    for slo in answer.plan.asked:
        values = answer.table[slo.metric].values[index]
        worst = short(float(values.min() if slo.at_least else values.max()))
        met = "met" if slo.met(values[None])[0] else "MISSED"
        unit = answer.table[slo.metric].attrs["units"]
        sign = ">=" if slo.at_least else "<="
        bound = f"{slo.metric} {sign} {slo.bound:g} {unit}".rstrip()
        rows.append(("asked", f"{bound}: {met}, worst run {worst}"))
    return rows


def _prefill_rows(answer: Recommendation) -> list[Row]:
    """Where computing a lost prompt again costs no time, only a place in the batch."""
    plan = answer.plan
    if plan.clock.prefills:
        return []
    what = "a watermark looks worse than it is"
    what = what if _has_watermark(answer) else "caps look worse than they are"
    silent = "; it has no time to first token" if plan.demand.kind != "saturated" else ""
    return [("CAUTION", f"prefill costs nothing here: {what}{silent}; give --clock D0:D1:D2")]


def _end(answer: Recommendation) -> str:
    """The smallest watermark that ends preemption, all else as it is now."""
    tried, end = watermarks_alone(answer.settings), answer.end_of_preemption
    if len(tried) < 2:
        why = f"{answer.label} has no flag for it"
        if _has_watermark(answer):
            why = "no other than the one that is set now was to be tried"
        return f"watermark not tried: {why}"
    if end is None:
        left = short(answer.mean(tried[-1], "preemptions"))
        largest = answer.settings[tried[-1]].watermark
        return f"no watermark tried ends it: {left} per run are left at {largest:g}"
    watermark = answer.settings[end].watermark
    if not watermark:
        return "no watermark is needed: no run preempts without one"
    cost = signed(answer.gain(end, answer.throughput))
    return f"from a watermark of {watermark:g} on, at {cost} output"
