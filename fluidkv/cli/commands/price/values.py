"""What the options of `fluidkv price` say, as values."""

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

from fluidkv.cli import arguments as read
from fluidkv.cli.progress import progress
from fluidkv.errors import InputError
from fluidkv.text import nearest

if TYPE_CHECKING:
    from fluidkv.answers.price.brought import Brought


class Sizes(NamedTuple):
    """Tokens: the least and the most, which may be the same."""

    least: int
    most: int

    def __str__(self) -> str:
        return str(self.least) if self.least == self.most else f"{self.least}:{self.most}"


class Memory(NamedTuple):
    """A budget: tokens, or a share of what is held at most."""

    amount: Fraction
    share: bool

    @property
    def budget(self) -> int | Fraction:
        """As `tokens_of` takes it."""
        return self.amount if self.share else int(self.amount)


_MOST_TOKENS = 8192
_MOST_WEIGHTS = 2**28
"""Of generated attention; a gigabyte, and a run takes several times that."""

_NUMBER = "a number of at least 0, such as 0.01 or 1/100"
_BUDGET = (
    "a whole number of tokens, at least 1, or a share of what is held at most, such as 25%, up to "
    "100%"
)


def from_0(argument: str, text: str) -> Fraction:
    """A number that may be 0."""
    value = read.exact_number(argument, text, _NUMBER)
    if value < 0:
        raise InputError(argument, text, _NUMBER)
    return value


def memory(argument: str, text: str) -> Memory:
    """`512` or `25%`."""
    share = text.strip().endswith("%")
    value = read.exact_number(argument, text.strip().removesuffix("%"), _BUDGET)
    if (not 0 < value <= 100) if share else (value < 1 or value.denominator != 1):
        raise InputError(argument, text, _BUDGET)
    return Memory(value / 100 if share else value, share)


def unknown(argument: str, name: str, known: Iterable[str]) -> InputError:
    """A name that is not there: names near it, or all."""
    return InputError(argument, name, nearest(name, known))


def sizes(argument: str, text: str) -> Sizes:
    """`N` or `LEAST:MOST`."""
    parts = text.split(":")
    found = [read.whole_number(argument, part, most=_MOST_TOKENS) for part in parts[:2]]
    if len(parts) > 2 or found[-1] < found[0]:
        raise InputError(argument, text, "a number of tokens, or LEAST:MOST, such as 64:256")
    return Sizes(found[0], found[-1])


def check_names(predictor: str, policies: Iterable[str], objective: str) -> None:
    """Refuse names that nobody has, before anything is read or drawn."""
    from fluidkv.answers.price.forecasts import AT_WRITING, FORECASTS, MLP, predictor_of
    from fluidkv.tokenpd.eviction.named import policies as named_policies
    from fluidkv.tokenpd.objective import Objective
    from fluidkv.tokenpd.pricing import Pricing
    from fluidkv.tokenpd.returns.averages import LastSeen

    name = predictor.partition(":")[0].removesuffix(AT_WRITING)
    if name not in (*FORECASTS, MLP):
        raise unknown("--predictor", predictor, (*FORECASTS, MLP))
    with read.as_options({"predictor": "--predictor", **_parameters(predictor)}):
        predictor_of(predictor)
    known = named_policies(LastSeen(), Pricing(1))
    for each in policies:
        if each not in known:
            raise unknown("--policy", each, known)
    if objective not in (each.value for each in Objective):
        raise unknown("--objective", objective, (each.value for each in Objective))


def _parameters(text: str) -> dict[str, str]:
    """Parameter -> what the reader wrote it behind."""
    name, _, rest = text.partition(":")
    given = [part.partition("=")[0] for part in rest.split(",")]
    return {each: f"--predictor {name}:{each}" for each in given if each}


def check_used(
    policies: Iterable[str], pricing: Mapping[str, object], predicting: Mapping[str, object]
) -> None:
    """Refuse options that none of the policies looks at.

    Args:
        policies: those that were named; none: all are run.
        pricing, predicting: options of a price and of returns, None where they were not given.
    """
    named = list(policies)
    priced = [each for each in named if each.startswith("token-pd")]
    returns = [each for each in named if each in ("return", "return-pooled")]
    for options, other, there in (
        (pricing, "a --policy token-pd, token-pd-hard or token-pd-heap", priced),
        (predicting, "a --policy return, return-pooled or token-pd", priced + returns),
    ):
        for name, value in options.items():
            read.only_with(name, value, other, there or not named)


def check_source(
    source: str | None,
    generator: str | None,
    drawn: Mapping[str, object],
    file: Mapping[str, object],
) -> None:
    """Refuse two sources, none, and options of the other one.

    Args:
        drawn, file: options of a generator and of a file, None where they were not given.
    """
    read.exactly_one(source=source, generator=generator)
    for options, other, there in ((drawn, "--generator", generator), (file, "SOURCE", source)):
        for name, value in options.items():
            read.only_with(f"--{name}", value, other, there)


def generated(
    generator: str, prompt: Sizes | None, drawn: Mapping[str, Any], seed: int
) -> "Brought":
    """Runs of a generator; what was not said is as it is usual."""
    from fluidkv.answers.price.brought import generated_attention
    from fluidkv.tokenpd.attention.generators.presets import generators

    if generator not in generators():
        raise unknown("--generator", generator, generators())
    given = {name: value for name, value in drawn.items() if value is not None}
    _check_size(given.get("requests", 1), given.get("length", Sizes(1, 1)).most)
    if "gap" in given:
        given["gap"] = float(given["gap"])
    for name, sizes_ in (("prompt", prompt), ("length", drawn["length"])):
        if sizes_ is not None:
            given[name] = sizes_.least if sizes_.least == sizes_.most else tuple(sizes_)
    return generated_attention(generator, seed=seed, **given)


def _check_size(requests: int, length: int) -> None:
    if requests * length**2 > _MOST_WEIGHTS:
        said = f"{requests:,} of {length:,} tokens"
        allowed = f"fewer or shorter: requests times --length squared is at most {_MOST_WEIGHTS:,}"
        raise InputError("--requests", said, allowed)


def read_from(
    source: str, prompt: Sizes | None, file: Mapping[str, Any], *, renormalise: bool
) -> "Brought":
    """Weights of a file."""
    from fluidkv.answers.price.brought import attention_of
    from fluidkv.tokenpd.attention.stored.reader import Over

    if prompt is not None and prompt.least < prompt.most:
        raise InputError("--prompt", f"{prompt.least}:{prompt.most}", "one number of tokens")
    known = get_args(Over)
    if file["over"] is not None and file["over"] not in known:
        raise unknown("--over", file["over"], known)
    read.only_with("--kv-heads", file["kv-heads"], "--over heads", file["over"] == "heads")
    names = {name.replace("-", "_"): f"--{name}" for name in file}
    names |= {"source": "SOURCE", "path": "SOURCE", "prompt": "--prompt", "weights": "SOURCE"}
    names["length"] = "SOURCE, length"
    given = {name.replace("-", "_"): value for name, value in file.items() if value is not None}
    if prompt is not None:
        given["prompt"] = prompt.least
    with read.as_options(names), progress(f"reading {source}"):
        return attention_of(source, renormalise=renormalise, **given)
