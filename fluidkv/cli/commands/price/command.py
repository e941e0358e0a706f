"""`fluidkv price`: which cached tokens to keep under a budget, and what a price does."""

from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from fluidkv.cli import arguments as read
from fluidkv.cli import options as opt
from fluidkv.cli.commands.price import values as values
from fluidkv.cli.output import give
from fluidkv.cli.progress import progress
from fluidkv.plain import csv_text

if TYPE_CHECKING:
    from fluidkv.answers.price.brought import Brought
    from fluidkv.answers.price.result import PriceAnswer

_FILE, _RULE, _PRICE = "The file", "What is kept", "The price"
_MOST_SEEDS, _MOST_SEED, _MOST_TOKENS = 1000, 2**31, 10**9
_OPTIONS = {  # of the functions -> of the command line
    "budget": "--budget",
    "delay": "--delay",
    "gap": "--gap",
    "generator": "--generator",
    "length": "--length",
    "penalty": "--penalty",
    "policy": "--policy",
    "predictor": "--predictor",
    "prompt": "--prompt",
    "requests": "--requests",
    "risk_aversion": "--risk-aversion",
    "seeds": "--seeds",
    "start": "--start-price",
    "step": "--eta",
}
_SOURCE = "Attention weights, rows summing to one: .npy, .npz or .safetensors."
_Source = Annotated[str | None, opt.argument("SOURCE", str, _SOURCE)]
_GENERATOR = (
    "Generated attention instead: recency, heavy-hitters, sinks, topic-shifts, needle, mixed, "
    "uneven."
)
_Generator = Annotated[str | None, opt.option("--generator NAME", str, _GENERATOR, opt.WHO)]
_REQUESTS = r"Number of generated requests. \[default: 8]"
_Requests = Annotated[
    int | None, opt.option("--requests N", read.whole_number, _REQUESTS, opt.WHO, most=10**4)
]
_LENGTH = (
    "Tokens of a generated request at its end, prompt included; LEAST:MOST: each draws its own. "
    r"\[default: 128]"
)
_Length = Annotated[values.Sizes | None, opt.option("--length N", values.sizes, _LENGTH, opt.WHO)]
_PROMPT = (
    "Tokens of its prompt, whose rows are computed at once; LEAST:MOST as above. "
    r"\[default: a quarter of the length; of SOURCE what the file says]"
)
_Prompt = Annotated[values.Sizes | None, opt.option("--prompt N", values.sizes, _PROMPT, opt.WHO)]
_GAP = r"Rounds between the starts of two generated requests. \[default: 0, all at once]"
_Gap = Annotated[Fraction | None, opt.option("--gap ROUNDS", values.from_0, _GAP, opt.WHO)]
_AXES = (
    "What the axes of SOURCE's arrays are, in order: query,key at the end; before them request, "
    r"layer, head, where there are any. \[default: as the file says]"
)
_Axes = Annotated[str | None, opt.option("--axes NAME,...", str, _AXES, _FILE)]
_OVER = (
    "What keeps tokens of its own: mean (a request; its layers and heads are averaged) or heads "
    r"(each head of each layer). \[default: mean]"
)
_Over = Annotated[str | None, opt.option("--over WHAT", str, _OVER, _FILE)]
_TENSORS = r"Arrays of weights in SOURCE: a name, or a pattern such as layer.*. \[default: all]"
_Tensors = Annotated[str | None, opt.option("--tensors NAME", str, _TENSORS, _FILE)]
_KV_HEADS = "Heads that have keys, where several query heads share them; with --over heads."
_KvHeads = Annotated[
    int | None, opt.option("--kv-heads N", read.whole_number, _KV_HEADS, _FILE, most=10**6)
]
_RENORMALISE = "Divide rows that do not sum to one by their sums; otherwise they are refused."
_Renormalise = Annotated[bool, opt.flag("--renormalise", _RENORMALISE, _FILE)]
_BUDGET = (
    "Tokens that all running requests may keep together; or a share, such as 25%, of what they "
    "hold at most if nothing is evicted."
)
_Budget = Annotated[values.Memory, opt.option("--budget M", values.memory, _BUDGET, _RULE)]
_POLICY = (
    "Which tokens stay: fifo, lru, h2o, streaming-llm, snapkv-like, scissorhands-like, random, "
    "return (the best by prediction); each in a request's own share of the budget, or with -pooled "
    "after it in one budget for all; token-pd, token-pd-hard, token-pd-heap, full; repeatable. "
    r"\[default: all but full]"
)
_Policy = Annotated[list[str] | None, opt.option("--policy NAME", str, _POLICY, _RULE)]
_PREDICTOR = (
    "Who says what a token is still worth, NAME[:PARAMETER=VALUE,...]: last-seen, average, "
    "accumulated, mlp, constant; oracle and noisy-oracle, who are told."
)
_Predictor = Annotated[str, opt.option("--predictor NAME", str, _PREDICTOR, _RULE)]
_PREDICTS = "average"
_KV_BYTES = "Bytes of the KV of one token, such as 131072, to say the budget in GB."
_KvBytes = Annotated[
    int | None, opt.option("--kv-bytes N", read.whole_number, _KV_BYTES, _RULE, most=10**9)
]
_DELAY = "Rounds until a row of attention is seen by who decides."
_Delay = Annotated[
    int, opt.option("--delay ROUNDS", read.whole_number, _DELAY, _RULE, least=0, most=10**6)
]
_BACK = "An evicted token may come back: it is computed again."
_Back = Annotated[bool, opt.flag("--comes-back", _BACK, _RULE)]
_ETA = r"Step of the price. \[default: 1/sqrt(rounds)]"
_Eta = Annotated[Fraction | None, opt.option("--eta E", read.positive_number, _ETA, _PRICE)]
_START = r"Price of a token in the first round, in mass. \[default: the mean mass of a token]"
_Start = Annotated[Fraction | None, opt.option("--start-price P", values.from_0, _START, _PRICE)]
_RISK = r"How much a unit of variance counts against the return: lambda. \[default: 0]"
_Risk = Annotated[Fraction | None, opt.option("--risk-aversion L", values.from_0, _RISK, _PRICE)]
_OBJECTIVE = (
    "What a kept token is worth, with R its predicted return: rule (R - lambda variance, as in "
    "(4)), utility (delta, as (2) says by the letter), appendix (the rule's less delta), repaired "
    "(the rule's and delta)."
)
_Objective = Annotated[str, opt.option("--objective NAME", str, _OBJECTIVE, _PRICE)]
_PENALTY = r"What bringing a token back costs, in mass: delta. \[default: 0]"
_Penalty = Annotated[Fraction | None, opt.option("--penalty D", values.from_0, _PENALTY, _PRICE)]
_SEEDS = r"Number of runs, each with other generated requests. \[default: 5]"
_Seeds = Annotated[
    int | None, opt.option("--seeds N", read.whole_number, _SEEDS, opt.RUN, most=_MOST_SEEDS)
]


def price(
    budget: _Budget,
    source: _Source = None,
    generator: _Generator = None,
    requests: _Requests = None,
    length: _Length = None,
    prompt: _Prompt = None,
    gap: _Gap = None,
    axes: _Axes = None,
    over: _Over = None,
    tensors: _Tensors = None,
    kv_heads: _KvHeads = None,
    renormalise: _Renormalise = False,
    policy: _Policy = None,
    predictor: _Predictor = _PREDICTS,
    kv_bytes: _KvBytes = None,
    delay: _Delay = 0,
    comes_back: _Back = False,
    eta: _Eta = None,
    start_price: _Start = None,
    objective: _Objective = "rule",
    risk_aversion: _Risk = None,
    penalty: _Penalty = None,
    seeds: _Seeds = None,
    seed: Annotated[int, opt.seed("the first run", most=_MOST_SEED)] = 0,
    out: Annotated[Path | None, opt.out("JSON, a table and a figure")] = None,
    html: opt.Html = None,
    json_: opt.Json = False,
) -> None:
    """Which cached tokens to keep, what is lost, and what a price on memory does.

    Runs every eviction policy on the same attention weights, yours or generated:
    attention mass kept, error of the output, tokens used, regret. A policy gives
    each request its share of the budget, pools all tokens, or prices them, as
    Token-PD does; the page says how much pooling brings, and how much the price.

    [bold]fluidkv price --generator heavy-hitters --budget 25%[/bold]
    [bold]fluidkv price attention.safetensors --over heads --budget 512[/bold]
    """
    drawn = {"requests": requests, "length": length, "gap": gap, "seeds": seeds}
    file = {"axes": axes, "over": over, "tensors": tensors, "kv-heads": kv_heads}
    values.check_source(
        source, generator, drawn, file | {"renormalise": "given" if renormalise else None}
    )
    values.check_names(predictor, policy or (), objective)
    weighed = objective != "rule" or None
    read.only_with("--penalty", penalty, "--objective utility, appendix or repaired", weighed)
    told = None if predictor == _PREDICTS else predictor
    priced = {"--eta": eta, "--start-price": start_price, "--objective": weighed and objective}
    predicted = {"--predictor": told, "--risk-aversion": risk_aversion}
    values.check_used(policy or (), priced, predicted)
    if generator is not None:
        with read.as_options(_OPTIONS), progress(f"drawing {generator}"):
            brought = values.generated(generator, prompt, drawn, seed)
    else:
        brought = values.read_from(source or "", prompt, file, renormalise=renormalise)
    from fluidkv.cli.commands.price.text import ASSUMES, say_price

    rule = {"step": eta, "start": start_price, "risk_aversion": risk_aversion, "penalty": penalty}
    names = _OPTIONS if source is None else _OPTIONS | {"length": "SOURCE, length"}
    options = {"policies": policy or None, "predictor": predictor, "delay": delay}
    options |= {"comes_back": comes_back, "kv_bytes": kv_bytes, "seed": seed}
    answer = _run(brought, budget, rule, objective, names, options)
    give(
        answer.to_dict,
        lambda page: say_price(page, answer),
        as_json=json_,
        out=out,
        html=html,
        assumes=ASSUMES,
        name="price.json",
        beside=lambda: _beside(answer),
    )


def _run(
    brought: "Brought",
    budget: values.Memory,
    pricing: dict[str, Fraction | None],
    objective: str,
    names: dict[str, str],
    options: dict[str, Any],
) -> "PriceAnswer":
    from fluidkv.answers.price.rule import tokens_of, usual_pricing
    from fluidkv.answers.price.study import price_tokens
    from fluidkv.tokenpd.objective import Objective

    with progress("running every policy") as line, read.as_options(names):
        first = next(iter(brought))
        given = {name: float(value) for name, value in pricing.items() if value is not None}
        rule = usual_pricing(first, objective=Objective(objective), **given)
        tokens = tokens_of(budget.budget, first)
        return price_tokens(brought, tokens, pricing=rule, on_progress=line.count, **options)


def _beside(answer: "PriceAnswer"):
    from fluidkv.answers.figures.price import price_figure

    return {"price.csv": _table(answer).encode()}, [price_figure(answer)]


def _table(answer: "PriceAnswer") -> str:
    """A row for each policy, run and request."""
    rows = (
        [each.name, run, request, mass, error]
        for each in answer.kept
        for run, (masses, errors) in enumerate(zip(each.mass, each.error, strict=True))
        for request, (mass, error) in enumerate(zip(masses, errors, strict=True))
    )
    return csv_text(["policy", "run", "request", "mass_kept", "output_error"], rows)
