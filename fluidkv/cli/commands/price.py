"""`fluidkv price`: which cached tokens to keep under a budget, and what a price does."""

import csv
import io
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from fluidkv.cli import arguments as read
from fluidkv.cli import options as opt
from fluidkv.cli.commands import price_values as values
from fluidkv.cli.output import give
from fluidkv.cli.progress import progress

if TYPE_CHECKING:
    from fluidkv.answers.price.brought import Brought
    from fluidkv.answers.price.result import PriceAnswer

_RULE, _PRICE = "What is kept", "The price"
_MOST_SEEDS, _MOST_SEED, _MOST_TOKENS = 1000, 2**31, 10**9
_OPTIONS = {  # of the functions -> of the command line
    "budget": "--budget",
    "delay": "--delay",
    "generator": "--generator",
    "penalty": "--penalty",
    "policy": "--policy",
    "predictor": "--predictor",
    "risk_aversion": "--risk-aversion",
    "seeds": "--seeds",
    "start": "--start-price",
    "step": "--eta",
}
_SOURCE = "Attention weights, rows summing to one: .npy, .npz or .safetensors."
_Source = Annotated[str | None, opt.argument("SOURCE", str, _SOURCE)]
_GENERATOR = (
    "Generated attention instead: recency, heavy-hitters, sinks, topic-shifts, needle, mixture."
)
_Generator = Annotated[str | None, opt.option("--generator NAME", str, _GENERATOR, opt.WHO)]
_SET = "A parameter of the generator, such as share=0.5; repeatable."
_Set = Annotated[list[str] | None, opt.option("--set NAME=VALUE", str, _SET, opt.WHO)]
_REQUESTS = r"Number of generated requests. \[default: 8]"
_Requests = Annotated[
    int | None, opt.option("--requests N", read.whole_number, _REQUESTS, opt.WHO, most=10**4)
]
_LENGTH = r"Tokens of a generated request, prompt and answer. \[default: 128]"
_Length = Annotated[
    int | None, opt.option("--length N", read.whole_number, _LENGTH, opt.WHO, least=2, most=10**5)
]
_PROMPT = (
    r"Tokens of the prompt: its rows are computed at once. \[default: a quarter of the request]"
)
_Prompt = Annotated[
    int | None, opt.option("--prompt N", read.whole_number, _PROMPT, opt.WHO, most=10**5)
]
_AXES = (
    "What the axes of SOURCE are, in order, out of layer, request, head, query, key. "
    r"\[default: by their number: query,key; head,query,key; request,head,query,key; "
    "layer,request,head,query,key]"
)
_Axes = Annotated[str | None, opt.option("--axes NAME,...", str, _AXES, opt.WHO)]
_OVER = (
    "What keeps tokens of its own: mean (a request; its layers and heads are averaged) or heads "
    r"(each head of each layer). \[default: mean]"
)
_Over = Annotated[str | None, opt.option("--over WHAT", str, _OVER, opt.WHO)]
_BUDGET = (
    "Tokens that all running requests may keep together; or a share, such as 25%, of what they "
    "hold at most if nothing is evicted."
)
_Budget = Annotated[str, opt.option("--budget M", str, _BUDGET, _RULE)]
_POLICY = (
    "Who stays: fifo, lru, h2o, streaming-llm, snapkv, scissorhands, each with -pooled behind it "
    "for one budget of all; token-pd, token-pd-hard, token-pd-heap; repeatable. "
    r"\[default: all]"
)
_Policy = Annotated[list[str] | None, opt.option("--policy NAME", str, _POLICY, _RULE)]
_PREDICTOR = (
    "Who says what a token is still worth, NAME[:PARAMETER=VALUE,...]: last-seen, average, "
    r"accumulated, mlp, constant; oracle and noisy-oracle, who are told. \[default: average]"
)
_Predictor = Annotated[
    str | None, opt.option("--predictor NAME", str, _PREDICTOR, _RULE)
]
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
_RISK = "How much a unit of variance counts against the return: lambda."
_Risk = Annotated[Fraction, opt.option("--risk-aversion L", values.from_0, _RISK, _PRICE)]
_PENALTY = "What bringing a token back costs, in mass: delta."
_Penalty = Annotated[Fraction, opt.option("--penalty D", values.from_0, _PENALTY, _PRICE)]
_SEEDS = r"Number of runs, each with other generated requests. \[default: 5]"
_Seeds = Annotated[
    int | None, opt.option("--seeds N", read.whole_number, _SEEDS, opt.RUN, most=_MOST_SEEDS)
]


def price(
    budget: _Budget,
    source: _Source = None,
    generator: _Generator = None,
    set_: _Set = None,
    requests: _Requests = None,
    length: _Length = None,
    prompt: _Prompt = None,
    axes: _Axes = None,
    over: _Over = None,
    policy: _Policy = None,
    predictor: _Predictor = None,
    kv_bytes: _KvBytes = None,
    delay: _Delay = 0,
    comes_back: _Back = False,
    eta: _Eta = None,
    start_price: _Start = None,
    risk_aversion: _Risk = Fraction(0),
    penalty: _Penalty = Fraction(0),
    seeds: _Seeds = None,
    seed: Annotated[int, opt.seed("the first run", most=_MOST_SEED)] = 0,
    out: Annotated[Path | None, opt.out("JSON, a table and a figure")] = None,
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
