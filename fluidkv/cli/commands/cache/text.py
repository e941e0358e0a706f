"""The answer of `fluidkv cache`, as a person reads it."""

from math import isnan

import numpy as np

from fluidkv.answers.cache.study import CacheAnswer
from fluidkv.cli.prompted import parameters_said
from fluidkv.prefix.policies import Policy
from fluidkv.report.numbers import counted, short
from fluidkv.report.page import Page, Row

ASSUMES = (
    "Requests come one by one, in the order of the source; times and durations do not matter.",
    "A token of a prompt is found if all tokens before it are found as well: caches hold "
    "beginnings.",
    "OPT knows all requests to come; no cache can. It bounds what any policy finds.",
)
"""What the answer takes for granted, for the report."""


def say_cache(page: Page, answer: CacheAnswer) -> None:
    """What could be found at all, what each policy finds, and what RLT is worth."""
    requests = answer.prompted.requests
    page.title(f"{answer.prompted.name}: {counted(len(requests), 'request')}")
    page.rows([*_workload(answer), *_rules(answer)])
    page.heading("Prompt tokens found in the cache, in percent; capacity in tokens")
    page.table(
        ["capacity", *(curve.policy.value for curve in answer.curves)],
        [
            [f"{size:,}", *(_percent(curve.hit_rate[place]) for curve in answer.curves)]
            for place, size in enumerate(answer.capacities)
        ],
    )
    page.line()
    page.rows(_notes(answer))
    if _rlt(answer):
        page.heading("What RLT finds more than L-LRU, in points of prompt tokens")
        page.table(["capacity", "rlt - lru", "+-", ""], _rlt(answer))


def _workload(answer: CacheAnswer) -> list[Row]:
    requests, read = answer.prompted.requests, answer.prompted.read
    total = int(requests.input_length.sum())
    rows = [("read", read)] if read else []
    if answer.prompted.parameters:
        rows.append(("generated", parameters_said(answer.prompted.parameters)))
    return [
        *rows,
        ("prompts", f"{total:,} tokens, the longest request {answer.longest:,}"),
        (
            "infinite",
            f"a cache that never evicts finds {_percent(answer.ceiling)}% of them, with "
            f"{answer.whole:,} tokens",
        ),
    ]


def _rules(answer: CacheAnswer) -> list[Row]:
    granularity = answer.granularity
    units = "single tokens go"
    if granularity.nodes:
        units = "whole nodes of a radix tree go, as in SGLang (of OPT single tokens)"
    elif granularity.page > 1:
        units = f"blocks of {granularity.page:,} tokens go"
    kept = "prompts and answers" if answer.answers else "prompts alone"
    return [("cached", f"{kept}; {units}, leaves first; requests come one by one")]


def _notes(answer: CacheAnswer) -> list[Row]:
    """How far the optimum is, and what chance does."""
    rows: list[Row] = []
    best = answer.curve(Policy.OPT)
    others = [curve for curve in answer.curves if curve.policy is not Policy.OPT]
    if best is not None and others:
        rates = np.array([curve.hit_rate for curve in others])
        ahead = best.hit_rate - rates.max(axis=0)
        place = int(ahead.argmax())
        name = others[int(rates[:, place].argmax())].policy.value
        rows.append(
            (
                "to OPT",
                f"it finds up to {_points(ahead[place])} points more than the best of the others "
                f"({name}, at {answer.capacities[place]:,} tokens); it knows the future",
            )
        )
    drawn = [curve for curve in answer.curves if curve.policy.draws]
    names = " and ".join(curve.policy.value for curve in drawn)
    if drawn and drawn[0].tokens.shape[1] == 1:
        rows.append(("chance", f"{names}: one seed, which does not say what another would find"))
    elif drawn:
        widest = max(float(curve.margin.max()) for curve in drawn)
        seeds = drawn[0].tokens.shape[1]
        rows.append(
            (
                "chance",
                f"{names}: means of {seeds} seeds, ± {_points(widest)} points or less (95 % for "
                "the mean over all seeds; the requests stay the same)",
            )
        )
    return rows


def _rlt(answer: CacheAnswer) -> list[list[str]]:
    """A row for each size, where both were asked for; chance explains what is within the margin."""
    lru, rlt = answer.curve(Policy.LRU), answer.curve(Policy.RLT)
    if lru is None or rlt is None:
        return []
    rows = []
    for size, gain, margin in zip(
        answer.capacities, rlt.hit_rate - lru.hit_rate, rlt.margin, strict=True
    ):
        word = "more" if gain > margin else "less" if gain < -margin else "alike"
        if isnan(margin):
            rows.append([f"{size:,}", _signed(gain), "-", "one seed"])
        else:
            rows.append([f"{size:,}", _signed(gain), f"{100 * margin:.2f}", word])
    return rows


def _percent(share: float) -> str:
    return f"{100 * share:.2f}"


def _points(share: float) -> str:
    return short(round(100 * share, 2) + 0.0, 3)


def _signed(share: float) -> str:
    return f"{100 * share:+.2f}"
