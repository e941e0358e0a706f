"""The options of `fluidkv price`, and how their values are read."""

import math
from fractions import Fraction
from functools import partial
from typing import NamedTuple

from fluidkv.errors import InputError
from fluidkv.questions.kinds import Exact, Text, Whole, Word, Written, rational
from fluidkv.questions.options import WHO, Option

_who, _file = partial(Option, panel=WHO), partial(Option, panel="The file")
_rule, _price = partial(Option, panel="What is kept"), partial(Option, panel="The price")
_MOST_TOKENS = 8192
_FROM_0 = Exact(0, math.inf, example="0.01 or 1/100", included=True)
_BUDGET = (
    "a whole number of tokens, at least 1, or a share of what is held at most, such as 25%, up to "
    "100%"
)


class Sizes(NamedTuple):
    """Tokens: the least and the most, which may be the same."""

    least: int
    most: int

    def __str__(self) -> str:
        return str(self.least) if self.least == self.most else f"{self.least}:{self.most}"

    @property
    def plain(self) -> "int | tuple[int, int]":
        """As generators take them."""
        return self.least if self.least == self.most else (self.least, self.most)


class Memory(NamedTuple):
    """A budget: tokens, or a share of what is held at most."""

    amount: Fraction
    share: bool

    @property
    def budget(self) -> int | Fraction:
        """As `price_tokens` takes it."""
        return self.amount if self.share else int(self.amount)


def _memory(argument: str, text: str) -> Memory:
    """`512` or `25%`."""
    share = text.strip().endswith("%")
    value = rational(text.strip().removesuffix("%"))
    if value is None or ((not 0 < value <= 100) if share else value < 1 or value.denominator != 1):
        raise InputError(argument, text, _BUDGET)
    return Memory(value / 100 if share else value, share)


def _sizes(argument: str, text: str) -> Sizes:
    """`N` or `LEAST:MOST`."""
    parts = text.split(":")
    sizes = [Whole(1, _MOST_TOKENS).read(argument, part) for part in parts[:2]]
    if len(parts) > 2 or sizes[-1] < sizes[0]:
        raise InputError(argument, text, "a number of tokens, or LEAST:MOST, such as 64:256")
    return Sizes(sizes[0], sizes[-1])


SOURCE = Option(
    "SOURCE",
    Text(),
    "Attention weights, rows summing to one: .npy, .npz or .safetensors.",
    None,
    means=("path", "weights"),
)
GENERATOR = _who(
    "--generator NAME",
    Text(),
    "Generated attention instead: recency, heavy-hitters, sinks, topic-shifts, needle, mixed, "
    "uneven.",
)
REQUESTS = _who("--requests N", Whole(1, 10**4), r"Number of generated requests. \[default: 8]")
LENGTH = _who(
    "--length N",
    Written(_sizes),
    "Tokens of a generated request at its end, prompt included; LEAST:MOST: each draws its own. "
    r"\[default: 128]",
)
PROMPT = _who(
    "--prompt N",
    Written(_sizes),
    "Tokens of its prompt, whose rows are computed at once; LEAST:MOST as above. "
    r"\[default: a quarter of the length; of SOURCE what the file says]",
)
GAP = _who(
    "--gap ROUNDS",
    _FROM_0,
    r"Rounds between the starts of two generated requests. \[default: 0, all at once]",
)
AXES = _file(
    "--axes NAME,...",
    Text(),
    "What the axes of SOURCE's arrays are, in order: query,key at the end; before them request, "
    r"layer, head, where there are any. \[default: as the file says]",
)
OVER = _file(
    "--over WHAT",
    Word(("mean", "heads")),
    "What keeps tokens of its own: mean (a request; its layers and heads are averaged) or heads "
    r"(each head of each layer). \[default: mean]",
)
TENSORS = _file(
    "--tensors NAME",
    Text(),
    r"Arrays of weights in SOURCE: a name, or a pattern such as layer.*. \[default: all]",
)
KV_HEADS = _file(
    "--kv-heads N",
    Whole(1, 10**6),
    "Heads that have keys, where several query heads share them; with --over heads.",
)
RENORMALISE = _file(
    "--renormalise",
    None,
    "Divide rows that do not sum to one by their sums; otherwise they are refused.",
)
BUDGET = _rule(
    "--budget M",
    Written(_memory),
    "Tokens that all running requests may keep together; or a share, such as 25%, of what they "
    "hold at most if nothing is evicted.",
)
POLICY = _rule(
    "--policy NAME",
    Text(),
    "Which tokens stay: fifo, lru, h2o, streaming-llm, snapkv-like, scissorhands-like, random, "
    "return (the best by prediction); each in a request's own share of the budget, or with -pooled "
    "after it in one budget for all; token-pd, token-pd-hard, token-pd-heap, full; repeatable. "
    r"\[default: all but full]",
    many=True,
)
PREDICTOR = _rule(
    "--predictor NAME",
    Text(),
    "What predicts a token's return, NAME[:PARAMETER=VALUE,...]: last-seen, average, "
    "accumulated, mlp, constant; oracle and noisy-oracle, which are told.",
)
KV_BYTES = _rule(
    "--kv-bytes N",
    Whole(1, 10**9),
    "Bytes of one token's keys and values, such as 131072, to state the budget in GB.",
)
DELAY = _rule("--delay ROUNDS", Whole(0, 10**6), "Rounds until the policy sees a row of attention.")
COMES_BACK = _rule("--comes-back", None, "An evicted token may come back: it is computed again.")
ETA = _price(
    "--eta E",
    Exact(0, math.inf, example="0.01 or 1/100"),
    r"Step of the price. \[default: 1/sqrt(rounds)]",
    means=("step",),
)
START_PRICE = _price(
    "--start-price P",
    _FROM_0,
    r"Price of a token in the first round, in mass. \[default: the mean mass of a token]",
    means=("start",),
)
RISK_AVERSION = _price(
    "--risk-aversion L",
    _FROM_0,
    r"How much a unit of variance counts against the return: lambda. \[default: 0]",
)
OBJECTIVE = _price(
    "--objective NAME",
    Word(("utility", "rule", "appendix", "repaired")),
    "What a kept token is worth, with R its predicted return: rule (R - lambda variance, as in "
    "(4)), utility (delta, as (2) says literally), appendix (the rule's less delta), repaired "
    "(the rule's and delta).",
)
PENALTY = _price(
    "--penalty D", _FROM_0, r"What bringing a token back costs, in mass: delta. \[default: 0]"
)
SEEDS = Option(
    "--seeds N",
    Whole(1, 1000),
    r"Number of runs, each with other generated requests. \[default: 5]",
)
