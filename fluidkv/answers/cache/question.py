"""`fluidkv cache`: the question, its answer as a person reads it and as a picture."""

import math
from functools import partial
from typing import Any

from fluidkv.answers.cache.study import CacheAnswer, cache_study
from fluidkv.answers.memory import converted_rows
from fluidkv.answers.prompt_options import prompted_rows
from fluidkv.figures.figure import Canvas, Data, Figure
from fluidkv.figures.style import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE
from fluidkv.questions.answer import crossed
from fluidkv.questions.pictures import Lines
from fluidkv.questions.question import Question, Sweep
from fluidkv.report.numbers import counted, half_shown, short
from fluidkv.report.page import Page, Row


def say_cache(page: Page, answer: CacheAnswer) -> None:
    """What could be found at all, what each policy finds, and what RLT is worth."""
    page.verdict(_in_short(answer))
    page.title(f"{answer.source}: {counted(answer.requests, 'request')}")
    page.heading("Prompt tokens found in the cache, in percent; capacity in tokens")
    rates = {curve.policy.value: curve.hit_rate for curve in answer.curves}
    page.table(*crossed("capacity", answer.capacities, rates, lambda rate: f"{100 * rate:.2f}"))
    page.line()
    page.rows(_notes(answer))
    lru, rlt = map(answer.curve, ("lru", "rlt"))
    if lru is not None and rlt is not None:
        page.heading("What RLT finds more than L-LRU, in points of prompt tokens")
        gains = zip(answer.capacities, rlt.hit_rate - lru.hit_rate, rlt.margin, strict=True)
        page.table(["capacity", "rlt - lru", "+-", ""], [_gain(*each) for each in gains])
    page.heading("What was run")
    page.rows([*prompted_rows(answer.prompted), *_rules(answer)])


def _in_short(answer: CacheAnswer) -> str:
    """What the smallest cache finds, by L-LRU if that was asked for, and what any could."""
    curve = answer.curve("lru") or answer.curves[-1]
    margin = half_shown(float(curve.margin[0]))
    bar = f" +- {_points(margin)} points" if margin > 0 else ""
    opt = answer.curve("opt")
    most = f"OPT {100 * opt.hit_rate[0]:.1f}%, " if opt not in (None, curve) else ""
    return (
        f"{answer.capacities[0]:,} tokens: {curve.policy.value} finds "
        f"{100 * curve.hit_rate[0]:.1f}%{bar} of prompt tokens, {most}a cache that never evicts "
        f"{100 * answer.ceiling:.1f}%"
    )


def _rules(answer: CacheAnswer) -> list[Row]:
    units = "single tokens go"
    if answer.nodes:
        units = "whole nodes of a radix tree go, as in SGLang (of OPT single tokens)"
    elif answer.page > 1:
        units = f"blocks of {answer.page:,} tokens go"
    cached = "prompts and answers" if answer.answers else "prompts alone"
    return [
        ("prompts", f"{answer.prompt_tokens:,} tokens, the longest request {answer.longest:,}"),
        (
            "infinite",
            f"a cache that never evicts finds {100 * answer.ceiling:.2f}% of them, with "
            f"{answer.whole:,} tokens",
        ),
        ("cached", f"{cached}; {units}, leaves first; requests come one by one"),
    ]


def _notes(answer: CacheAnswer) -> list[Row]:
    """How far the optimum is, and what chance does."""
    rows: list[Row] = []
    best = answer.curve("opt")
    others = [curve for curve in answer.curves if curve is not best]
    if best is not None and others:
        at = range(len(answer.capacities))
        nearest = [max(others, key=lambda curve: curve.hit_rate[place]) for place in at]
        ahead = [best.hit_rate[place] - nearest[place].hit_rate[place] for place in at]
        place = max(at, key=lambda place: ahead[place])
        rows.append(
            (
                "to OPT",
                f"it finds up to {_points(ahead[place])} points more than the best of the others "
                f"({nearest[place].policy.value}, at {answer.capacities[place]:,} tokens); it "
                "knows the future",
            )
        )
    drawn = [curve for curve in answer.curves if curve.policy.draws]
    names = " and ".join(curve.policy.value for curve in drawn)
    if drawn and drawn[0].seeds == 1:
        rows.append(("chance", f"{names}: one seed, which does not say what another would find"))
    elif drawn:
        widest = max(float(curve.margin.max()) for curve in drawn)
        rows.append(
            (
                "chance",
                f"{names}: means of {drawn[0].seeds} seeds, ± {_points(widest)} points or less "
                "(95 % for the mean over all seeds; the requests stay the same)",
            )
        )
    return rows


def _gain(size: int, gain: float, margin: float) -> list[str]:
    """What is within the margin may be chance."""
    shown = [f"{size:,}", f"{100 * gain:+.2f}"]
    if math.isnan(margin):
        return [*shown, "-", "one seed"]
    word = "more" if gain > margin else "less" if gain < -margin else "alike"
    return [*shown, f"{100 * margin:.2f}", word]


def _points(share: float) -> str:
    return short(round(100 * share, 2) + 0.0, 3)


# --- as a picture ---------------------------------------------------------------------------------

HIT_RATES = Lines(
    x="capacity",
    y="hit_rate",
    band="margin",
    level="ceiling",
    level_label="infinite",
    looks={
        "opt": (BLACK, "-", ""),
        "lru": (BLUE, "-", "o"),
        "rlt": (ORANGE, "-", "s"),
        "random": (ORANGE, ":", "D"),
        "slru": (GREEN, "-", "^"),
        "lfu": (GREEN, ":", "v"),
        "fifo": (BLUE, ":", "x"),
        "mru": (PURPLE, "-", "<"),
        "filo": (PURPLE, ":", ">"),
        "priority": (GREY, "-", "P"),
        "released": (GREY, ":", "+"),
    },
    labels={
        "opt": "OPT (knows the future)",
        "lru": "L-LRU",
        "rlt": "RLT",
        "random": "random leaf",
        "released": "least recently released",
    },
    axes=("cache size, tokens", "prompt tokens found, %"),
    factor=100,
)


def hit_rates(answer: CacheAnswer) -> dict[str, Any]:
    """Capacities, the ceiling, and of each policy its hit rates and their margins."""
    lines = ((curve.policy.value, curve) for curve in answer.curves)
    return HIT_RATES.data(answer.capacities, answer.ceiling, lines)


def cache_figure(answer: CacheAnswer) -> Figure:
    """Every curve of an answer."""
    return Figure(
        id="hit_rate_by_size",
        title=f"{answer.source}: what a prefix cache finds, by its size",
        source="fluidkv cache: prompts one by one, no engine",
        parameters={
            "source": answer.source,
            "page": answer.page,
            "nodes": answer.nodes,
            "answers_cached": answer.answers,
        },
        size=(7.5, 4.4),
        data=partial(hit_rates, answer),
        draw=_draw,
        caption=partial(_caption, answer),
    )


def _draw(data: Data, canvas: Canvas) -> None:
    ax = canvas.subplots()
    HIT_RATES.draw(data, ax)
    canvas.legend(*ax.get_legend_handles_labels(), loc="outside right upper")


def _caption(answer: CacheAnswer, data: Data) -> str:
    drawn = max(curve.seeds for curve in answer.curves)
    seeds = f" Bands: 95 % for the mean over seeds, from {drawn} of them." if drawn > 1 else ""
    cached = "prompts and answers" if answer.answers else "prompts alone"
    return (
        f"Share of prompt tokens found, {answer.requests:,} requests one by one, {cached} cached. "
        f"An infinite cache finds {100 * data['ceiling']:.2f} % (dashed)."
        f"{seeds}{HIT_RATES.coinciding(data)}"
    )


CACHE = Question(
    name="cache",
    ask=cache_study,
    say=say_cache,
    figures=cache_figure,
    notes=converted_rows,
    doing="filling caches",
    assumes=(
        "Requests come one by one, in the order of the source; times and durations do not matter.",
        "A token of a prompt is found if all tokens before it are found as well: caches hold "
        "beginnings.",
        "OPT knows all requests to come; no cache can. It bounds what any policy finds.",
    ),
    examples=(
        "fluidkv cache trace.jsonl --capacity 2000000 --capacity 10000000",
        "fluidkv cache --generator gsp --order round-robin --set groups=64",
    ),
    sweep=Sweep(
        settings=("generator", "capacity", "policy", "set", "seed"),
        variables={
            "hit_rate": "curves.hit_rate",
            "ceiling": "ceiling",
            "evicted": "curves.evicted",
            "asked": "prompt_tokens",
        },
        defaults={"policy": "lru"},
        fixed={"seeds": 1},
        python={"first_seed": "seed"},
    ),
)
