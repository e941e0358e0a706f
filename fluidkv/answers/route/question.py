"""`fluidkv route`: which router, and how much affinity to caches."""

import math
from collections.abc import Sequence

from fluidkv.answers.prompt_options import prompted_rows
from fluidkv.answers.route.ask import check, notes, route_study
from fluidkv.answers.route.result import RouteAnswer, Routing
from fluidkv.questions.question import Late, Question, Sweep, Swept
from fluidkv.report.numbers import counted, half_shown, percent, short
from fluidkv.report.page import Page, Row

_SWEPT = {
    "hit_rate": ("share of prompt tokens found in the cache of the worker", "1"),
    "throughput": ("requests served", "request / s"),
    "latency_mean": ("from arrival to last token, mean", "s"),
    "latency_p99": ("from arrival to last token, p99", "s"),
    "ttft_mean": ("from arrival to first token, mean", "s"),
    "ttft_p99": ("from arrival to first token, p99", "s"),
    "makespan": ("seconds of service on the worker with the most", "s"),
    "most_to_mean": ("service on the worker with the most, over the mean", "1"),
}
"""Measures that a sweep finds."""

_COLUMNS = (
    ("p50", "latency_p50"),
    ("p95", "latency_p95"),
    ("ttft p50", "ttft_p50"),
    ("p95", "ttft_p95"),
    ("hits %", "hit_rate"),
    ("req/s", "throughput"),
    ("work", "makespan"),
    ("uneven", "most_to_mean"),
)
_SWEEP = (
    ("p50", "latency_p50"),
    ("p95", "latency_p95"),
    ("hits %", "hit_rate"),
    ("work", "makespan"),
    ("uneven", "most_to_mean"),
    ("requests", "most_requests"),
)
_FIRST = (  # measure, 1: the least is best, what the best does
    ("latency_p50", 1, "has the least median latency"),
    ("hit_rate", -1, "finds most"),
    ("most_to_mean", 1, "is the most even"),
)
_MIN_GAIN = 0.01  # of the best: what is less is no difference to speak of
_ROUNDING = 1e-9  # of a mean: a margin below it is of the arithmetic, not of seeds


def say_route(page: Page, answer: RouteAnswer) -> None:
    """Who serves whom, every router, what no router can do better, and what follows."""
    page.verdict(_in_short(answer))
    page.title(
        f"{answer.source}: {counted(answer.requests, 'request')}, "
        f"{counted(answer.workers, 'worker')} of {answer.capacity:,} tokens"
    )
    page.heading("Seconds of latency and to the first token, and how even the work is")
    page.table(
        ["router", *(title for title, _ in _COLUMNS)],
        [*(_cells(each, _COLUMNS) for each in answer.routers), *_bound(answer)],
    )
    if len(answer.seeds) > 1 and any(each.seeds > 1 for each in answer.routers):
        page.heading("Half of the interval of the mean over all seeds, 95 %")
        page.table(
            ["router", *(title for title, _ in _COLUMNS)],
            [_margins(each) for each in answer.routers if each.seeds > 1],
        )
    if answer.sweep:
        page.heading("The linear score, by its weight of affinity (load has weight 1)")
        page.table(
            ["affinity", *(title for title, _ in _SWEEP)],
            [_cells(each, _SWEEP, each.name.removeprefix("affinity ")) for each in answer.sweep],
        )
    page.line()
    page.rows(_words(answer))
    page.heading("What was run")
    page.rows([*_workload(answer), *_server(answer)])


def _in_short(answer: RouteAnswer) -> str:
    """Who has the least median latency, and its interval."""
    first = min(answer.online, key=lambda each: _rank(each.mean("latency_p50")))
    median = first.mean("latency_p50")
    margin = half_shown(first.margin("latency_p50"), median)
    bar = f" +- {short(margin, 2)}" if margin > 0 else ""
    alone = len(answer.online) == 1
    said = "has a median latency of" if alone else "has the least median latency,"
    close = _close(answer.online, first, "latency_p50", 1)
    return f"{first.name} {said} {short(median, 3)} s{bar}{close}"


def _workload(answer: RouteAnswer) -> list[Row]:
    hidden = ("seed",) if answer.rate is None else ("seed", "rate")
    rows = prompted_rows(answer.prompted, hidden)
    if answer.rate is not None:
        rows.append(("arrivals", f"Poisson, {short(answer.rate)} requests per second"))
    first, last = answer.seeds[0], answer.seeds[-1]
    return [*rows, ("seeds", f"{first} to {last}" if last > first else str(first))]


def _server(answer: RouteAnswer) -> list[Row]:
    from fluidkv.routing import Service

    service = answer.fleet.service
    evicts = "" if answer.policy is None else f"; a full cache evicts by {answer.policy}"
    if isinstance(service, Service):
        served = (
            f"one request after the other: {_ms(service.missed)} ms for 1,000 prompt tokens, "
            f"{_ms(service.cached)} ms if cached, {_ms(service.output)} ms for an output token"
        )
        if service.at_once > 1:
            served = served.replace("one request after the other", f"{service.at_once} at once")
    else:
        clock = service.clock
        served = (
            f"{service.name}'s scheduler and cache, blocks of {service.block_size}; an iteration "
            f"takes {_ms(clock.base)} ms, and {_ms(1000 * clock.per_prefill_token)} ms for 1,000 "
            "prompt tokens computed"
        )
    belief = answer.fleet.belief
    knows = "what is in the caches"
    if belief.of == "sent":
        latest = "all" if belief.most is None else f"the latest {belief.most:,} tokens of what"
        knows = f"{latest} that it sent to each worker, not what that has evicted"
    return [("a worker", served + evicts), ("a router", f"knows {knows}")]


def _ms(seconds: float) -> str:
    return short(round(1000 * seconds, 6))


def _cells(each: Routing, columns: Sequence[tuple[str, str]], name: str | None = None) -> list[str]:
    return [_short(name or each.name), *(_cell(m, each.mean(m)) for _, m in columns)]


def _cell(measure: str, value: float) -> str:
    if math.isnan(value):
        return "-"
    return f"{100 * value:.1f}" if measure == "hit_rate" else short(value, 3)


def _short(name: str) -> str:
    """A name with parameters is cut to what a table takes."""
    return name if len(name) <= 24 else f"{name[:21]}..."


def _margins(each: Routing) -> list[str]:
    return [_short(each.name), *(_cell(m, _margin(each, m)) for _, m in _COLUMNS)]


def _margin(each: Routing, measure: str) -> float:
    margin = each.margin(measure)
    return 0.0 if margin < _ROUNDING * abs(each.mean(measure)) else margin


def _bound(answer: RouteAnswer) -> list[list[str]]:
    if answer.bounds is None:
        return []
    hits, work = answer.bounds.hit_rate, answer.bounds.makespan
    speed = answer.bounds.throughput
    cells = [_cell("hit_rate", hits), short(speed, 3), short(work, 3), "1"]
    return [["no router", "-", "-", "-", "-", *cells]]


def _words(answer: RouteAnswer) -> list[Row]:
    rows: list[Row] = [
        (
            "columns",
            "p50, p95: of latency; ttft: of the time to the first token; hits: prompt tokens found "
            "in the cache; req/s: requests over the time from first arrival to last token; "
            "work: seconds of it on the busiest worker; uneven: that over the mean"
            + ("; requests: of the worker with most, over the mean" if answer.sweep else ""),
        )
    ]
    online = answer.online
    if len(answer.seeds) == 1 and any(each.drawn for each in (*answer.routers, *answer.sweep)):
        rows.append(("chance", "one seed, which does not say what another would give"))
    if len(online) > 1:
        rows.append(("best", _best(online)))
    rows += _believed(online)
    stuck = [each.name for each in online if each.mean("unserved") > 0]
    if stuck:
        said = f"under {', '.join(stuck)} some requests outgrew the memory and block their worker"
        rows.append(("unserved", said))
    if answer.bounds is not None:
        rows.append(
            (
                "no router",
                "finds more, is faster to the end or has less work on its busiest worker; "
                f"{_offline(answer, answer.bounds.makespan)}",
            )
        )
    return rows


def _best(routers: Sequence[Routing]) -> str:
    """Who is first in three measures, and who may be as good: within 1 %, or the intervals."""
    said = []
    for measure, sign, what in _FIRST:
        first = min(routers, key=lambda each: _rank(sign * each.mean(measure)))
        said.append(f"{first.name} {what}{_close(routers, first, measure, sign)}")
    return "; ".join(said)


def _close(routers: Sequence[Routing], first: Routing, measure: str, sign: int) -> str:
    """Those that are not told from the first in a measure."""
    least = first.mean(measure)
    close = [
        each.name
        for each in routers
        if each is not first
        and not sign * (each.mean(measure) - least)
        > _MIN_GAIN * abs(least) + first.margin(measure) + each.margin(measure)
    ]
    names = ", ".join(close) if len(close) < len(routers) - 1 else "any other"
    return f" (not told from {names})" if close else ""


def _rank(value: float) -> float:
    return math.inf if math.isnan(value) else value


def _believed(routers: Sequence[Routing]) -> list[Row]:
    found = [
        f"{each.name} {100 * each.mean('believed_rate'):.1f}, {100 * each.mean('hit_rate'):.1f}"
        for each in routers
        if not math.isnan(each.mean("believed_rate"))
    ]
    return (
        [("believed", f"percent of prompt tokens, and found: {'; '.join(found)}")] if found else []
    )


def _offline(answer: RouteAnswer, least: float) -> str:
    ours = next((each for each in answer.routers if each.name == "offline"), None)
    if ours is None:
        return ""
    over = ours.mean("makespan") / least - 1
    return (
        f"offline knows all requests, keeps together what begins alike, and comes within "
        f"{percent(over)} of that work"
    )


ROUTE = Question(
    name="route",
    ask=route_study,
    say=say_route,
    figures=Late("fluidkv.answers.route.figures:route_figures"),
    check=check,
    notes=notes,
    doing="routing",
    time="s",
    assumes=(
        "All routers get the same requests at the same times, and workers are alike.",
        "A worker is what stands beside 'a worker': a plain server with constant costs, or an "
        "engine's own scheduler with its prefix cache. None is measured here.",
        "A router knows what it sent, not what a worker has evicted, unless the answer says so.",
        "Going from the router to the worker takes no time.",
    ),
    examples=(
        "fluidkv route --generator gsp --workers 4 --capacity 200000",
        "fluidkv route trace.jsonl --workers 8 --capacity 3000000",
    ),
    sweep=Sweep(
        settings=(
            *("generator", "router", "workers", "capacity", "rate"),
            *("cached_ms", "prefill_ms", "set", "seed"),
        ),
        names={"prefill_ms": "missed_ms"},
        variables={
            name: Swept(f"routers.measures.{name}.mean", *about) for name, about in _SWEPT.items()
        },
        defaults={"workers": 4, "cached_ms": 0.0, "missed_ms": 150.0},
        fixed={"seeds": 1, "output_ms": 0, "jobs": 1},
    ),
)
