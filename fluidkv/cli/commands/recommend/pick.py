"""What to set and how sure that is, as a person reads it."""

import math

from fluidkv.answers.recommend import Recommendation, knobs
from fluidkv.answers.recommend.choosing import MARGIN
from fluidkv.answers.served.fresh import share_in, spread
from fluidkv.answers.served.paired import gained
from fluidkv.answers.served.rows import TITLES, not_measured, published_rows
from fluidkv.answers.served.setting import Setting
from fluidkv.report.numbers import percent, short, signed
from fluidkv.report.page import Row

FAR = 2.0
"""Times what the simulation misses, from which on a gain is worth a test that cannot be sold."""
_ALL_START = "memory holds a good part of all requests at once: these runs are mostly their start"
_NAMES = {"admission_rate": "rate cap"}


def in_short(found: Recommendation) -> str:
    """What to do, what it brings in the first thing that users feel, and how sure that is."""
    index, best = found.choice.index, found.candidate
    if found.ran.nothing_to_gain:
        return f"Leave it as it is: nothing is preempted in {found.requests:,} requests"
    if found.all_start:
        return f"No pick: runs of {found.requests:,} requests are mostly their start"
    if index is None:
        return f"No setting meets what is asked, of {len(found.settings):,} that were tried"
    if index:
        flags = " ".join(f"{flag} {value}" for flag, value in found.flags(index))
        won = next((m for m in found.felt if found.gains.of(index, m).counts), found.felt[0])
        return f"Set {flags or setting_said(found, index)}: {_gain_said(found, index, won)}"
    if best:
        return (
            f"Leave it as it is: the best tried brings {_gain_said(found, best, found.felt[0])}, "
            f"and {percent(found.gains.of(best, found.felt[0]).needed)} would count"
        )
    return f"Leave it as it is: nothing tried is better by more than {MARGIN:.0%}"


def _gain_said(found: Recommendation, index: int, metric: str) -> str:
    gain = found.gains.of(index, metric)
    change = gain.relative if _up(found, metric) else -gain.relative
    bar = f" +- {percent(gain.half)}" if math.isfinite(gain.half) else ""
    return f"{_name(found, metric)} {signed(change)}{bar}"


def pick_rows(found: Recommendation) -> list[Row]:
    """What to take, what it gains, what holds that, and what else there is."""
    if found.ran.nothing_to_gain:
        return [("why", _nothing(found))]
    if found.all_start:
        return [("why", f"{_ALL_START}; take more --requests"), *_free_prefill(found)]
    index = found.choice.index
    if index is None:
        closest = found.choice.closest or 0
        rows: list[Row] = [("closest", setting_said(found, closest))]
        rows += _slo_rows(found, closest)
    elif index == 0:
        rows = [("leave it", _left(found)), *_uneven(found), *_slo_rows(found, 0)]
    else:
        rows = [*_flag_rows(found, index), ("gain", _gains(found, index))]
        rows += _slo_rows(found, index)
    rows += _like_rows(found)
    rows += _at_hand(found)
    rows += _in_front(found)
    if found.candidate or index is None:
        rows += _sure(found)
    rows += _free_prefill(found)
    rows += published_rows(found.depends_on(_spoken_of(found)))
    rows.append(("no preemption", _end(found)))
    return rows


def _like_rows(found: Recommendation) -> list[Row]:
    """What holds for its like: the same setting on fresh draws, which chose nothing."""
    likes, index = found.likes, _spoken_of(found)
    if likes is None or index not in likes.indices or not index:
        return []
    changes = []
    for metric in found.felt:
        gain = likes.of(index, metric)
        if gain is not None and math.isfinite(gain.paired):
            change = gain.paired if _up(found, metric) else -gain.paired
            changes.append(f"{_name(found, metric)} {signed(change)} (+- {gain.half:.1%})")
    draws = f"{likes.draws} fresh draws of {likes.days.requests:,} requests"
    rows: list[Row] = [("its like", f"on {draws}: {', '.join(changes)}")]
    place = likes.indices.index(index)
    now, then = (
        " to ".join(short(end) for end in spread(likes.gains.table.preemptions.values[row]))
        for row in (0, place)
    )
    rows.append(
        ("", f"preemptions in {share_in(likes.draws):.0%} of draws: {now} today, {then} so")
    )
    if found.plan.asked:
        rows.append(("", f"{likes.met[place]} of {likes.draws} draws meet what is asked"))
    return rows


def _spoken_of(found: Recommendation) -> int:
    return found.choice.index or found.candidate or found.choice.closest or 0


def _nothing(found: Recommendation) -> str:
    runs = f"in {found.runs} runs" if found.runs > 1 else "in a run"
    queue = found.mean(0, "queue_most")
    waiting = "nobody waits" if not queue else "no cap of today's makes anybody wait"
    return (
        f"nothing is preempted {runs} of {found.requests:,} requests, and {waiting}: a watermark, "
        "a lower max_num_seqs or a rate cap can only let less run at once. Nothing else was tried; "
        "name a --watermark or --max-num-seqs to try it"
    )


def _left(found: Recommendation) -> str:
    best = found.candidate
    if not best:
        better = f"better by more than {MARGIN:.0%} in something that users feel"
        return f"nothing tried is {better} and worse by as much in nothing of it"
    beyond = "what the simulation misses on this log and " if found.bias else ""
    likes = found.likes
    if likes is not None and best in likes.indices and found.gains.real(best):
        return (
            "what gains on these requests gains nothing that counts on fresh draws of their like. "
            f"It was {setting_said(found, best)}: {_simulated(found, best)}"
        )
    return (
        f"nothing tried gains more than {beyond}chance makes of it. The best of it, "
        f"{setting_said(found, best)}: {_simulated(found, best)}"
    )


def _uneven(found: Recommendation) -> list[Row]:
    """Gains far beyond what the simulation misses, which parts of the run do not share."""
    best, said = found.candidate, []
    for metric in found.felt if best and found.bias else ():
        gain = found.gains.of(best or 0, metric)
        if gain.held and gain.relative > FAR * gain.needed and not gain.counts:
            change = gain.relative if _up(found, metric) else -gain.relative
            said.append(
                f"{_name(found, metric)} {change:+.1%}, where {gain.needed:.1%} is missed and "
                f"quarters differ by +- {gain.half:.1%}"
            )
    if not said:
        return []
    why = "quarters differ so where requests wait in some of them only: a test on the server tells"
    return [("worth a test", f"{'; '.join(said)}. {why[0].upper()}{why[1:]}")]


def _simulated(found: Recommendation, index: int) -> str:
    metrics = (found.throughput, *found.tails)
    gains = [(_name(found, metric), found.gain(index, metric)) for metric in metrics]
    parts = [f"{signed(gain)} {name}" for name, gain in gains if not math.isnan(gain)]
    now, then = (short(found.mean(i, "preemptions")) for i in (0, index))
    return ", ".join(parts) + f" and {now} -> {then} preemptions, both simulated"


def _gains(found: Recommendation, index: int) -> str:
    """What counts, with its interval; what it costs; what is neither."""
    won, lost, even = [], [], []
    for metric in found.felt:
        gain = found.gains.of(index, metric)
        if math.isnan(gain.relative):
            continue
        change = gain.relative if _up(found, metric) else -gain.relative
        if gain.counts:
            interval = f" (+- {gain.half:.1%})" if math.isfinite(change) else ""
            won.append(f"{_name(found, metric)} {signed(change)}{interval}")
        elif gain.relative < -MARGIN:
            lost.append(f"{_name(found, metric)} {signed(change)}")
        else:
            even.append(_name(found, metric))
    parts = [", ".join(won)] if won else ["what is asked"]
    parts += [f"at {', '.join(lost)}"] if lost else []
    parts += [f"no gain that counts in {', '.join(even)}"] if even else []
    now, then = (short(found.mean(i, "preemptions")) for i in (0, index))
    return "; ".join([*parts, f"preemptions {now} -> {then}"])


def _up(found: Recommendation, metric: str) -> bool:
    return found.plan.felt.more_is_better(metric)


def _name(found: Recommendation, metric: str) -> str:
    return "output" if metric == found.throughput else TITLES.get(metric, metric)


def _sure(found: Recommendation) -> list[Row]:
    """What holds the gain: the log, or nothing; and what such simulations missed where it was."""
    if found.bias:
        return []
    return [("not measured", not_measured(found.plan.engine.rules.name, found.plan.caching))]


# --- other picks --------------------------------------------------------------------------------


def _at_hand(found: Recommendation) -> list[Row]:
    """What the version of the log can do, where the pick needs a newer one."""
    spoken = _spoken_of(found)
    rows: list[Row] = []
    for flag, first in found.needs(spoken):
        rows.append(("needs", f"{flag}: {found.plan.rules.name} >= {first}; it is {found.version}"))
    if not rows or found.choice.index is None:
        return rows
    index = found.picks.at_hand.index
    if index:
        flags = " ".join(f"{flag} {value}" for flag, value in found.flags(index))
        said = f"{flags}; {_gains(found, index)}"
    else:
        best = found.picks.at_hand.candidate
        said = "leave it as it is"
        if best:
            said += f"; the best there, {setting_said(found, best)}: {_simulated(found, best)}"
    return [*rows, (f"with {found.version}", said)]


def _in_front(found: Recommendation) -> list[Row]:
    """What a rate limiter would gain beyond it."""
    index = found.in_front
    if index is None:
        return []
    base = found.choice.index
    parts = [] if base is not None else ["meets what is asked"]
    for metric in found.felt:
        more = gained(found.mean(index, metric), found.mean(base or 0, metric))
        if abs(more) > MARGIN / 2:
            parts.append(f"{signed(more)} {_name(found, metric)}")
    said = ", ".join(parts) or "about as good"
    beside = "today" if not base else "that"
    return [
        ("in front", f"{_limiter(found, index)}; no engine has a flag: {said}, beside {beside}")
    ]


def _limiter(found: Recommendation, index: int) -> str:
    setting, now = found.settings[index], found.settings[0]
    parts = []
    if setting.clients != now.clients:
        parts.append(f"at most {setting.clients} requests at once from the clients")
    if setting.admission_rate is not None and setting.admission_rate != now.admission_rate:
        rate = float(setting.admission_rate)
        share = rate / float(found.plan.equilibrium.rate)
        where = f"{rate:.4g} admissions per iteration ({share:.0%} of what full memory completes)"
        if found.plan.clock.unit == "s":
            length = found.mean(index, "duration") / found.mean(index, "iterations")
            where += f", {rate / length:.3g} per second at {1000 * length:.3g} ms per iteration"
        parts.append(f"a rate limiter of {where}")
    flags = [f"{flag} {value}" for flag, value in found.flags(index)]
    return ", ".join([*parts, *flags])


# --- one setting --------------------------------------------------------------------------------


def setting_said(found: Recommendation, index: int) -> str:
    """Its knobs, as far as the engine has them."""
    setting, there = found.settings[index], knobs(found.plan.rules, found.plan.demand)
    parts = [f"watermark {setting.watermark:g}"] if "watermark" in there else []
    parts.append(_knob(setting, "max_num_seqs") if setting.max_num_seqs else "no max_num_seqs")
    if setting.conservativeness is not None:
        parts.append(_knob(setting, "conservativeness"))
    if setting.admission_rate is not None:
        parts.append(f"{_knob(setting, 'admission_rate')} per iteration")
    if setting.clients is not None:
        parts.append(_knob(setting, "clients"))
    return ", ".join(parts)


def _knob(setting: Setting, name: str) -> str:
    value = getattr(setting, name)
    return f"{_NAMES.get(name, name)} {float(value):.4g}"


def _flag_rows(found: Recommendation, index: int) -> list[Row]:
    flags = " ".join(f"{flag} {value}" for flag, value in found.flags(index))
    rows: list[Row] = [("set", f"{flags}   ({found.label})")] if flags else []
    setting = found.settings[index]
    for knob in found.without_flag(index):
        said = f"{knob} {getattr(setting, knob)}; {found.label} has no flag for it"
        rows.append(("set", said))
    return rows


def _slo_rows(found: Recommendation, index: int) -> list[Row]:
    rows: list[Row] = []
    for slo in found.plan.asked:
        values = found.table[slo.metric].values[index]
        worst = values.min() if slo.at_least else values.max()
        met = bool(slo.met(values[None])[0])
        sign = ">=" if slo.at_least else "<="
        unit = found.table[slo.metric].attrs["units"]
        bound = f"{slo.metric} {sign} {slo.bound:g} {unit}".rstrip()
        rows.append(
            ("asked", f"{bound}: {'met' if met else 'MISSED'}, worst run {short(float(worst))}")
        )
    return rows


def _free_prefill(found: Recommendation) -> list[Row]:
    if not found.free_prefill:
        return []
    what = "caps look worse than they are"
    if "watermark" in knobs(found.plan.rules, found.plan.demand):
        what = "a watermark looks worse than it is"
    silent = "; it has no time to first token" if found.plan.demand.kind != "saturated" else ""
    said = f"prefill costs nothing here: {what}{silent}; give --clock D0:D1:D2"
    return [("CAUTION", said)]


def _end(found: Recommendation) -> str:
    """The smallest watermark that ends preemption, all else as it is now."""
    tried = found.watermarks
    if len(tried) < 2:
        why = f"{found.label} has no flag for it"
        if "watermark" in knobs(found.plan.rules, found.plan.demand):
            why = "no other than the one that is set now was to be tried"
        return f"watermark not tried: {why}"
    end = found.end_of_preemption
    largest = found.settings[tried[-1]].watermark
    if end is None:
        left = short(found.mean(tried[-1], "preemptions"))
        return f"no watermark tried ends it: {left} per run are left at {largest:g}"
    if not found.settings[end].watermark:
        return "no watermark is needed: no run preempts without one"
    cost = signed(found.gain(end, found.throughput))
    return f"from a watermark of {found.settings[end].watermark:g} on, at {cost} output"
