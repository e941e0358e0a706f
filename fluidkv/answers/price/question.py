"""`fluidkv price`: which cached tokens to keep under a budget, and what a price does."""

from fluidkv.answers.price.ask import check, price_tokens
from fluidkv.answers.price.result import Brings, Difference, Kept, PriceAnswer
from fluidkv.answers.prompt_options import parameters_text
from fluidkv.plain import csv_text
from fluidkv.questions.question import Late, Question
from fluidkv.report.numbers import counted, listed, short
from fluidkv.report.page import Page, Row

_COLUMNS = ("kept", "p5", "worst", "error", "used", "peak", "back", "regret", "held")

_MUCH = 0.05
"""Of the tokens that the pool keeps: what a price leaves unused is said from there on."""


def say_price(page: Page, answer: PriceAnswer) -> None:
    """What was brought, what each policy keeps, what the price did, and what follows."""
    each = "" if answer.runs == 1 else f" in each of {answer.runs} runs"
    page.verdict(_best(answer))
    page.title(f"{answer.name}: {counted(answer.requests, 'request')}{each}")
    page.heading("What is kept, in percent of attention mass; memory in tokens")
    page.table(["policy", *_COLUMNS], [_cells(answer, each) for each in answer.kept])
    priced = [each for each in answer.kept if each.price is not None]
    if priced:
        page.heading("What the price did; what rounds used above the budget, in tokens")
        header = ["policy", "first", "last", "least", "most", "netted", "positive", "largest"]
        page.table(header, [_priced(answer, each) for each in priced])
    if answer.pick.brings:
        page.heading("What pooling and pricing bring, in points of mass; all else alike")
        header = ["with", "without", "brings", "points", "from", "to", ""]
        page.table(header, [_change(answer, each) for each in answer.pick.brings])
    page.line()
    page.rows([_columns(answer), *_words(answer)])
    page.heading("What was run")
    page.rows([*_brought(answer), *_rules(answer)])


def _brought(answer: PriceAnswer) -> list[Row]:
    rows: list[Row] = [("read", answer.read)] if answer.read else []
    rows.append(("attention", " ".join(answer.summary.sentences()[1:])))
    if answer.parameters:
        rows.append(("generated", parameters_text(answer.parameters)))
    heads = f", {answer.streams:,} streams of keys" if answer.streams > answer.requests else ""
    first = "" if answer.runs == 1 else " of the first run"
    rows.append(("rounds", f"{answer.rounds:,}{first}{heads}; {answer.rows:,} rows after prompts"))
    share = f"{100 * answer.budget / answer.demand:.3g}%"
    tokens = counted(answer.budget, "token")
    held = f"{tokens} for all that run at once, who hold up to {answer.demand:,}"
    held += f" ({share})" if answer.budget < answer.demand else ": all fit, and nothing has to go"
    return [*rows, ("budget", held + _gigabytes(answer))]


def _gigabytes(answer: PriceAnswer) -> str:
    if answer.kv_bytes is None:
        return ""
    return f"; {short(answer.budget * answer.kv_bytes / 1e9, 3)} of " + (
        f"{short(answer.demand * answer.kv_bytes / 1e9, 3)} GB"
    )


def _rules(answer: PriceAnswer) -> list[Row]:
    rule = answer.rule
    parts = [f"eta {short(rule['eta'], 3)}", f"from {short(rule['start'], 3)}"]
    if rule["objective"] != "rule":
        parts.append(f"worth as {rule['objective']} says")
    if rule["risk_aversion"]:
        parts.append(f"lambda {short(rule['risk_aversion'], 3)}")
    if rule["penalty"]:
        parts.append(f"delta {short(rule['penalty'], 3)}")
    late = f"; rows are seen {counted(answer.delay, 'round')} late" if answer.delay else ""
    gone = "may be computed again" if answer.comes_back else "gone for good"
    rows: list[Row] = [("evicted", gone + late)]
    if any(hasattr(each.policy.score, "predictor") for each in answer.kept):
        rows.append(("returns", f"predicted by {answer.predictor}"))
    if any(each.price is not None for each in answer.kept):
        rows.append(("price", ", ".join(parts)))
    return rows


def _cells(answer: PriceAnswer, each: Kept) -> list[str]:
    rows = answer.rows / answer.runs
    held = "-" if each.regret_held is None else _percent(each.regret_held / rows)
    return [
        _named(each),
        *map(_percent, (each.mean, each.low, each.worst, each.output_error)),
        short(round(each.average, 1)),
        f"{each.peak:,}",
        short(round(each.recomputed, 1)),
        _percent(each.regret / rows),
        held,
    ]


def _named(each: Kept) -> str:
    return each.name + ("*" if each.foresees else "") + ("" if each.fits else "+")


def _percent(share: float) -> str:
    return f"{round(100 * share, 1) + 0.0:.1f}"


def _priced(answer: PriceAnswer, each: Kept) -> list[str]:
    assert each.price is not None  # the caller looked
    price = each.price
    ends = (price[0], price[-1], price.min(), price.max())
    over = (round(each.netted, 1), round(each.positive, 1), each.largest)
    return [_named(each), *(short(float(p), 3) for p in ends), *map(short, over)]


def _columns(answer: PriceAnswer) -> Row:
    said = (
        "kept: mass on the tokens that are there, mean over requests; p5, worst: of the requests; "
        "error: of the attention output on random values; used, peak: tokens in a round; back: "
        "tokens brought back after they were evicted; regret: mass below the best set of each "
        "round; held: below the best schedule that brings nothing back"
    )
    marks = []
    if any(each.foresees for each in answer.kept):
        marks.append("*: is told weights to come")
    if not all(each.fits for each in answer.kept):
        marks.append(
            "+: uses more than the budget in some rounds, and what it keeps more may come of that"
        )
    return "columns", "; ".join([said, *marks])


def _words(answer: PriceAnswer) -> list[Row]:
    rows = _pooling(answer)
    over = [each for each in answer.kept if not each.fits]
    if over:
        said = [f"{each.name} {_above(answer, each)}" for each in over]
        rows.append(("over budget", "; ".join(said)))
    if answer.unheld:
        rows.append(("not held", f"no regret against what brings nothing back: {answer.unheld}"))
    rows.append(("spread", _spread(answer)))
    return rows


def _above(answer: PriceAnswer, each: Kept) -> str:
    shares = [float((used > answer.budget).mean()) for used in each.used]
    return (
        f"in {100 * sum(shares) / len(shares):.0f}% of rounds, up to {each.largest:,} tokens above"
    )


def _best(answer: PriceAnswer) -> str:
    pick = answer.pick
    if pick.name is None:
        return "none to name: who stays within the budget is told weights to come, or nobody does"
    best = answer.of(pick.name)
    assert best is not None
    said = f"{pick.name} keeps most within the budget, {_percent(best.mean)}%"
    told = [name for name in pick.behind if name not in pick.close]
    if pick.close:
        said += f"; not told from {listed(pick.close)}"
    if told:
        nearest = min(told, key=lambda name: pick.behind[name].mean)
        ahead = pick.behind[nearest]
        bar = f" ({_signed(ahead.low)} to {_signed(ahead.high)})" if ahead.known else ""
        said += f"; {_signed(ahead.mean)} points{bar} more than {nearest}"
    return said


def _change(answer: PriceAnswer, brings: Brings) -> list[str]:
    found, with_it = brings.mass, answer.of(brings.with_it)
    name = brings.with_it if with_it is None else _named(with_it)
    ends = [_signed(found.low), _signed(found.high)] if found.known else ["-", "-"]
    return [name, brings.without, brings.what, _signed(found.mean), *ends, _word(found)]


def _word(found: Difference) -> str:
    if not found.known:
        return "no spread"
    if not found.told:
        return "none"
    return "more" if found.mean > 0 else "less"


def _pooling(answer: PriceAnswer) -> list[Row]:
    """What the two bring where tokens are ordered by the same returns as the price weighs."""
    rows: list[Row] = []
    for what, name in (("pooling", "return-pooled"), ("pricing", "token-pd-hard")):
        each = next((one for one in answer.pick.brings if one.with_it == name), None)
        if each is None:
            continue
        found, behind = each.mass, f"({each.with_it} against {each.without})"
        if not found.known:
            said = f"{_signed(found.mean)} points, with no spread to hold it against {behind}"
        elif found.told:
            said = f"{_signed(found.mean)} points of mass {behind}"
        else:
            said = f"none that can be told {behind}"
        if what == "pricing":
            said += _unused(answer, each)
        rows.append((what, said))
    return rows


def _unused(answer: PriceAnswer, brings: Brings) -> str:
    """A price far from where memory is full leaves memory empty, and another rule may not."""
    pool, priced = answer.of(brings.without), answer.of(brings.with_it)
    if pool is None or priced is None or answer.budget >= answer.demand:
        return ""
    unused = pool.average - priced.average
    if unused < _MUCH * pool.average:
        return ""
    return (
        f"; it keeps {short(round(unused, 1))} tokens fewer in the mean, so that another --eta or "
        "--start-price may do better"
    )


def _signed(share: float) -> str:
    return f"{round(100 * share, 2) + 0.0:+.2f}"


def _spread(answer: PriceAnswer) -> str:
    from fluidkv.answers.price.spread import fewest

    if answer.runs > 1:
        return f"intervals of 95 % for the mean over all seeds, from {answer.runs}; all sampled"
    if answer.requests < fewest():
        return (
            f"{counted(answer.requests, 'request')} of one run: too few to tell policies apart "
            f"(from {fewest()} on, or several seeds)"
        )
    return (
        "intervals of 95 % over these requests, drawn again (bootstrap); other requests may differ"
    )


def _masses_csv(answer: PriceAnswer) -> str:
    """A row for each policy, run and request."""
    rows = (
        [each.name, run, request, mass, error]
        for each in answer.kept
        for run, (masses, errors) in enumerate(zip(each.mass, each.error, strict=True))
        for request, (mass, error) in enumerate(zip(masses, errors, strict=True))
    )
    return csv_text(["policy", "run", "request", "mass_kept", "output_error"], rows)


PRICE = Question(
    name="price",
    ask=price_tokens,
    say=say_price,
    figures=Late("fluidkv.answers.price.figures:price_figure"),
    check=check,
    tables=lambda answer: {"price.csv": _masses_csv(answer)},
    doing="running every policy",
    time="iteration",
    assumes=(
        "Attention weights are those of the source, or drawn by the generator: evicting a token "
        "does not change the weights of rows to come, as it would in a model.",
        "What is kept is counted in attention mass. The error of the output is of random values; "
        "no text was generated, and no perplexity measured.",
        "A budget counts tokens after a round; the new ones of a round are there while it is "
        "computed.",
    ),
    examples=(
        "fluidkv price --generator heavy-hitters --budget 25%",
        "fluidkv price attention.safetensors --over heads --budget 512",
    ),
    sweep=None,
)
