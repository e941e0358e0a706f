"""The answer of `fluidkv preempt`, as a person reads it."""

import math
from collections.abc import Sequence

from fluidkv.answers.preempt.effects import Effects
from fluidkv.answers.preempt.pick import SHARES, Aim
from fluidkv.answers.preempt.result import PreemptAnswer
from fluidkv.answers.preempt.rules import FACTORS, RELEASED, SEE_LENGTHS
from fluidkv.answers.preempt.run_rows import rows_of_runs
from fluidkv.answers.recommend.records import MARGIN
from fluidkv.answers.served.published import misses_of
from fluidkv.answers.served.rows import not_measured, published_rows
from fluidkv.answers.served.segments import SEGMENTS
from fluidkv.report.numbers import counted, percent, short
from fluidkv.report.page import Page, Row
from fluidkv.serving.clock import FREE_PREFILL
from fluidkv.serving.rules import name_of

_ROWS = 40  # of a table; --json has all
_AGAINST = 14  # rows of differences
_NOISY = 0.25  # of the variance between combinations, from which on noise is spoken of
TITLES = {
    "recompute_tax": "tax %",
    "preemptions": "preempt",
    "throughput": "req/it",
    "throughput_per_time": "req/s",
    "ttft_p99": "TTFT p99",
    "longest_gap_p99": "gap p99",
    "attained": "SLO %",
}
WORDS = {
    "recompute_tax": "tax",
    "throughput": "throughput",
    "throughput_per_time": "throughput",
    "ttft_p99": "p99 TTFT",
    "longest_gap_p99": "p99 gap",
    "attained": "attainment",
}


def say_preemption(page: Page, answer: PreemptAnswer) -> None:
    """Every combination, what it is worth beside the engine's own, what matters, what to take."""
    at = f"{answer.name} at " if answer.name else ""
    page.verdict(_in_short(answer))
    page.title(f"{at}{answer.limits.capacity:,} KV tokens, rules of {answer.engine.label}")
    shown = sections(answer)
    columns = columns_of(answer)
    for section in shown:
        page.heading(f"{_around(answer, section[0])}: means of {counted(answer.runs, 'run')}")
        page.table(
            ["victim, restore", *(TITLES[metric] for metric in columns)],
            [
                *(_cells(answer, i, columns) for i in section[:_ROWS]),
                *([None] if len(section) > _ROWS else []),
            ],
        )
    if answer.runs > 1 and answer.table.preemptions.values.any():
        _against(page, answer, [i for section in shown for i in section], columns)
    page.line()
    page.rows(_words(answer, shown))
    if answer.effects:
        page.heading("What matters")
        page.rows(_effects(answer))
    page.heading("What to take")
    page.rows(_pick(answer))
    page.heading("What was run")
    page.rows([*answer.notes, *rows_of_runs(answer)])


def _in_short(answer: PreemptAnswer) -> str:
    """What to take, and what that does to the first aim."""
    pick, aim = answer.pick, answer.aims[0]
    if not answer.table.preemptions.values.any():
        return "Leave it: nothing is preempted"
    if pick.index:
        by = next((each for each in answer.aims if each.metric == pick.by), aim)
        return f"Take {label(answer, pick.index)}: {_change(answer, pick.index, by)}"
    own = _cell(aim.metric, answer.mean(0, aim.metric)) + " %" * (aim.metric in SHARES)
    if answer.runs == 1 and answer.pairs == "run":
        return f"No pick from one run: {WORDS[aim.metric]} {own} by the engine's own rules"
    best = next((i for i in answer.ranked if i), 0)
    beside = f"; {label(answer, best)} {_change(answer, best, aim)}" if best else ""
    return f"Leave it: {WORDS[aim.metric]} {own} by the engine's own rules{beside}"


def _change(answer: PreemptAnswer, index: int, aim: Aim) -> str:
    """Of an aim against the engine's own rules, with its interval."""
    gap = answer.against[aim.metric]
    mean, half = 100 * gap.mean[index], 100 * gap.half[index]
    return f"{WORDS[aim.metric]} {mean:+.1f} ± {half:.1f} {'%' if gap.relative else 'points'}"


def columns_of(answer: PreemptAnswer) -> tuple[str, ...]:
    """The metrics of the tables."""
    first = ("ttft_p99",) if answer.first_tokens else ()
    slo = () if answer.objectives is None else ("attained",)
    tax = ("recompute_tax", "preemptions")
    return (*tax, answer.throughput, *first, "longest_gap_p99", *slo)


def sections(answer: PreemptAnswer) -> list[list[int]]:
    """Victims and restores under one allocation and predictor: the engine's own, and the best.

    The best is the pick, or else the first of the others in `ranked`, whose order all have.
    """
    around = [(c.allocation, c.predictor) for c in answer.combinations]
    order = answer.ranked
    chosen = [around[0], around[answer.pick.index or order[min(1, len(order) - 1)]]]
    return [[i for i in order if around[i] == each] for each in dict.fromkeys(chosen)]


def label(answer: PreemptAnswer, index: int) -> str:
    """Victim and restore; a star where no release has one of them."""
    rules = answer.combinations[index]
    victim, restore = (
        name_of(rule) + ("" if rule in RELEASED else "*") for rule in (rules.victim, rules.restore)
    )
    several = len({each.restore for each in answer.combinations}) > 1
    return f"{victim} {restore}" if several else victim


def _around(answer: PreemptAnswer, index: int) -> str:
    rules = answer.combinations[index]
    several = {c.predictor for c in answer.combinations} != {rules.predictor}
    text = f"Allocation {name_of(rules.allocation)}"
    return f"{text}, predictor {rules.predictor}" if several else text


def _cells(answer: PreemptAnswer, index: int, columns: Sequence[str]) -> list[str]:
    values = [answer.mean(index, metric) for metric in columns]
    mark = " <" if index == 0 else ""
    return [label(answer, index) + mark, *map(_cell, columns, values)]


def _cell(metric: str, value: float) -> str:
    if math.isnan(value):
        return "-"
    return f"{100 * value:.1f}" if metric in SHARES else short(value, 3)


def _against(
    page: Page, answer: PreemptAnswer, shown: Sequence[int], columns: Sequence[str]
) -> None:
    """Differences from the engine's own rules, with their intervals."""
    others = [i for i in shown if i]
    if not others:
        return
    best = [i for i in answer.ranked if i in others][:_AGAINST]
    metrics = [metric for metric in columns if metric != "preemptions"]
    page.heading(f"Less {label(answer, 0)}, in percent of it (tax and SLO in points), 95 %")
    names = [_around(answer, i) for i in best]
    page.table(
        ["victim, restore", *(TITLES[metric] for metric in metrics)],
        [
            [
                label(answer, i) + ("" if name == names[0] else " +"),
                *_differences(answer, i, metrics),
            ]
            for i, name in zip(best, names, strict=True)
        ],
    )


def _differences(answer: PreemptAnswer, index: int, metrics: Sequence[str]) -> list[str]:
    cells = []
    for metric in metrics:
        against = answer.against[metric]
        mean, half = 100 * against.mean[index], 100 * against.half[index]
        if not math.isfinite(mean):
            cells.append("-")
            continue
        digits = 0 if abs(mean) >= 100 or half >= 10 else 1  # five such columns fit
        cells.append(f"{mean:+.{digits}f}±{half:.{digits}f}")
    return cells


# --- words --------------------------------------------------------------------------------------


def _words(answer: PreemptAnswer, shown: Sequence[Sequence[int]]) -> list[Row]:
    rows: list[Row] = [
        (
            "columns",
            "tax: recomputed tokens over all tokens computed; preempt: preemptions in a run; gap: "
            f"the longest wait between two tokens of a request; times in {_unit(answer)}"
            + ("; SLO: requests that meet all objectives" if answer.objectives else ""),
        ),
        (
            "order",
            f"the engine's own (<) first, the others by {WORDS[answer.aims[0].metric]}, the "
            "highest first",
        ),
    ]
    tried = {rule for c in answer.combinations for rule in (c.victim, c.restore, c.allocation)}
    if not tried <= set(RELEASED):
        rows.append(("*", "in no released engine (docs/preemption.md says where it is proposed)"))
    hidden = len(answer.combinations) - sum(map(len, shown))
    if hidden:
        rows.append(("", f"{hidden:,} combinations more are in --json"))
    if answer.free_prefill:
        rows.append(
            (
                "CAUTION",
                "what is computed again costs tokens and no seconds, so that recomputing is free: "
                f"{FREE_PREFILL}",
            )
        )
    if answer.unfinished:
        labels = ", ".join(label(answer, i) for i in answer.unfinished[:3])
        many = len(answer.unfinished)
        rows.append(("CAUTION", f"{counted(many, 'combination')} did not end: {labels}"))
    return rows


def _effects(answer: PreemptAnswer) -> list[Row]:
    """Of each metric, what each of the four values explains."""
    metrics = dict.fromkeys(("recompute_tax", *(aim.metric for aim in answer.aims)))
    return [
        (WORDS[metric], _effect(metric, answer.effects[metric]))
        for metric in metrics
        if metric in answer.effects
    ]


def _effect(metric: str, effects: Effects) -> str:
    parts = []
    for effect in effects.of:
        at = sorted(zip(effect.means, effect.levels, strict=True))
        (low, least), (high, most) = at[0], at[-1]
        between = f"{least} {_cell(metric, low)} to {most} {_cell(metric, high)}"
        alone = "" if len(effects.of) == 1 else f" {percent(effect.share)} of what differs,"
        parts.append(f"{effect.factor}{alone} {between}")
    if effects.together > 0.01:
        parts.append(f"together {percent(effects.together)}")
    if effects.noise > _NOISY:
        parts.append(f"noise of seeds is {percent(min(effects.noise, 1))} of it")
    return "; ".join(parts)


def _pick(answer: PreemptAnswer) -> list[Row]:
    pick = answer.pick
    own = answer.combinations[0].names
    if not answer.table.preemptions.values.any():
        return [("leave it", "nothing is preempted: memory is enough, and no rule matters")]
    if answer.runs == 1 and answer.pairs == "run":
        why = "one run does not say what another would give; --seeds 8"
        return [("no pick", why), *_measured(answer)]
    aims = ", ".join(WORDS[aim.metric] for aim in answer.aims)
    if not pick.index:
        return [
            (
                "leave it",
                f"no rule is better than {own['victim']}, {own['restore']} in {aims} by more than "
                f"its noise and {percent(MARGIN)}, and worse in none of them beyond the same",
            ),
            *_untold(answer),
            *_measured(answer),
        ]
    taken = answer.combinations[pick.index].names
    changed = [f"{name} {taken[name]}" for name in FACTORS if taken[name] != own[name]]
    changed += _needs(answer, pick.index)
    gains = [_change(answer, pick.index, aim) for aim in answer.aims]
    rows: list[Row] = [
        ("take", ", ".join(changed)),
        ("against now", "; ".join(gains)),
        (
            "confidence",
            f"{WORDS[pick.by or '']} is better in {pick.wins} of {_pairs(answer)}; more than "
            f"noise at 95 % for all {len(answer.combinations) - 1} rules at once",
        ),
    ]
    worse = [
        f"{WORDS[aim.metric]} by {percent(abs(answer.against[aim.metric].mean[pick.index]))}"
        for aim in answer.aims
        if -aim.sign * answer.against[aim.metric].mean[pick.index] > MARGIN
    ]
    if worse:
        rows.append(("open", f"worse in the mean, within noise: {', '.join(worse)}"))
    if pick.close:
        close = ", ".join(label(answer, i) for i in pick.close[:4])
        more = f" and {len(pick.close) - 4} more" if len(pick.close) > 4 else ""
        rows.append(("as good", f"not told from it: {close}{more}"))
    victim = answer.combinations[pick.index].victim
    if victim not in RELEASED:
        rows.append(("", f"no released engine has {name_of(victim)} as its victim rule"))
    return [*rows, *_untold(answer), *_measured(answer)]


def _pairs(answer: PreemptAnswer) -> str:
    """What differences are taken over."""
    return f"{SEGMENTS} parts" if answer.pairs == "segment" else f"{answer.runs} runs"


def _needs(answer: PreemptAnswer, index: int) -> list[str]:
    """What a combination has to know, as more words of the line that takes it."""
    if index not in answer.knows:
        return []
    if answer.combinations[index].victim in SEE_LENGTHS:
        return ["which was told the true length of every answer, as its max_tokens"]
    return ["which needs the true length of every answer (a perfect predictor)"]


def _untold(answer: PreemptAnswer) -> list[Row]:
    """What would be taken if lengths were known, where no option says that they are."""
    names = dict.fromkeys(label(answer, i) for i in answer.pick.untold)
    if not names:
        return []
    labels = ", ".join([*names][:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
    return [
        (
            "not taken",
            f"{labels}: better, but here with the true length of every answer, which no server "
            "knows; --predictor says what yours does, and perfect allows these",
        )
    ]


def _unit(answer: PreemptAnswer) -> str:
    return "seconds" if answer.clock.unit == "s" else "iterations"


def _measured(answer: PreemptAnswer) -> list[Row]:
    """The log beside the simulation of the engine's own rules; without one, what we miss."""
    titles = {"output_throughput_per_time": "output", "ttft_p99": "p99 TTFT"}
    parts = [
        f"{titles.get(name, name)} {short(bias.measured, 3)} measured, {short(bias.simulated, 3)} "
        f"simulated ({100 * bias.relative:+.1f} %)"
        for name, bias in answer.bias.items()
    ]
    if parts:
        return [("the log", "; ".join(parts))]
    turned = answer.combinations[answer.pick.index].victim is not answer.engine.victim
    return [
        ("not measured", not_measured(answer.engine.name, caching=False)),
        *(published_rows(misses_of(["victim"])) if turned else []),
    ]
