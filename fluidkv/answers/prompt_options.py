"""Options that make requests which say what their prompts share: of a trace, or of a generator."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache, partial
from math import inf
from typing import TYPE_CHECKING, Annotated, Any

from fluidkv.errors import InputError
from fluidkv.questions.answer import Answer, Described
from fluidkv.questions.kinds import Exact, Member, Number, Text, Whole, Word, Written
from fluidkv.questions.options import WHO, Made, Option, as_options, exactly_one, only_with, seed_of
from fluidkv.report.page import Row

if TYPE_CHECKING:
    from fluidkv.answers.prompted import Prompted
    from fluidkv.prefix.policies import Policy

_who = partial(Option, panel=WHO)
_FACTOR = Exact(0, inf, example="2 or 1/2")
SCALE_INPUT = _who(
    "--scale-input X", _FACTOR, "What if prompts were X times as long? Rounded up to whole tokens."
)
SCALE_OUTPUT = _who(
    "--scale-output X", _FACTOR, "What if answers were X times as long? Rounded up to whole tokens."
)
SCALE_RATE = _who(
    "--scale-rate X",
    _FACTOR,
    "What if SOURCE came X times as fast? Its times of arrival are divided by X.",
)
_SCALES = {f"scale_{name}": f"--scale-{name}" for name in ("input", "output", "rate")}


def _given(argument: str, text: str) -> tuple[str, Any]:
    """`NAME=VALUE` as name and value, numbers where they are some; the generator judges both."""
    name, equals, value = text.partition("=")
    if not (name and equals and value):
        example = "NAME=VALUE, such as groups=64, ratio=0.3 or lengths=512,1024"
        raise InputError(argument, text, example)
    values = [_number(part.strip()) for part in value.split(",")]
    return name.strip(), values[0] if len(values) == 1 else tuple(values)


def _number(text: str) -> int | float | str:
    if re.fullmatch(r"[+-]?[0-9]{1,18}", text):
        return int(text)
    if re.fullmatch(r"[+-]?[0-9]*\.?[0-9]+(e[+-]?[0-9]{1,3})?", text):
        return float(text)
    return text


def _whole(name: str, help: str) -> Option:
    return Option(f"{name} N", Whole(), help)


_PARAMETERS = {
    "groups": _whole("groups", "shared prefixes (gsp)"),
    "queries": _whole("queries", "requests of a prefix (gsp)"),
    "clients": _whole("clients", "who talk (chats)"),
    "rounds": _whole("rounds", "of a chat (chats)"),
    "user_length": _whole("user_length", "tokens of a user (chats, zipf)"),
    "documents": _whole("documents", "long ones (documents)"),
    "questions": _whole("questions", "about a document (documents)"),
    "question_length": _whole("question_length", "tokens of a question (documents)"),
    "requests": _whole("requests", "in all (zipf)"),
    "prompts": _whole("prompts", "that begin alike (zipf)"),
    "exponent": Option("exponent X", Number(least=0), "of Zipf's law (zipf)"),
    "lengths": _whole("lengths", "tokens of a shared part (gsp, documents, zipf)"),
    "output_length": _whole("output_length", "tokens of an answer"),
    "turns": _whole("turns", "of the loop (loop)"),
}


def _policies() -> "type[Policy]":
    from fluidkv.prefix.policies import Policy

    return Policy


EVICTION = Member(_policies)
"""By which policy a prefix cache evicts."""
GENERATOR = _who(
    "--generator NAME",
    Word(("gsp", "chats", "documents", "zipf", "loop")),
    "A generated workload: gsp, chats, documents, zipf, loop.",
)


def prompted_requests(
    source: Annotated[
        str | None,
        Option(
            "SOURCE",
            Text(),
            "Trace whose prompts say what they share: Mooncake with hash_ids, or segments.",
            panel=None,
        ),
    ] = None,
    generator: Annotated[str | None, GENERATOR] = None,
    set_: Annotated[
        Sequence[tuple[str, Any]] | None,
        _who(
            "--set NAME=VALUE",
            Written(_given),
            "A parameter of the generator, such as groups=64 or lengths=512,1024; repeatable.",
            many=True,
            settings=_PARAMETERS,
        ),
    ] = None,
    order: Annotated[
        str | None,
        _who(
            "--order ORDER",
            Text(),
            r"Order of the generator: random or round-robin. \[default: random]",
        ),
    ] = None,
    format_: Annotated[
        str | None,
        _who(
            "--format NAME",
            Text(),
            "Format of SOURCE, instead of by its content: mooncake, segments.",
        ),
    ] = None,
    scale_input: Annotated[Fraction, SCALE_INPUT] = Fraction(1),
    scale_output: Annotated[Fraction, SCALE_OUTPUT] = Fraction(1),
    scale_rate: Annotated[Fraction, SCALE_RATE] = Fraction(1),
    seed: Annotated[int, seed_of("the generator")] = 0,
    on_read: Callable[[Any], object] | None = None,
) -> "Prompted":
    """Of a trace or of a generator; exactly one is given.

    Args:
        on_read: is told what the reader of the trace did with its rows.
    """
    from fluidkv.traces import read_trace, scale
    from fluidkv.traces.scaling import Scaling

    scaling = Scaling(scale_input, scale_output, scale_rate)
    if scale_rate != 1:
        only_with("--scale-rate", scale_rate, "a SOURCE with times of arrival", source)
    exactly_one(source=source, generator=generator)
    only_with(", ".join(_SCALES.values()), str(scaling or "") or None, "SOURCE", source)
    parameters = dict(set_ or ())
    given = " ".join(f"{name}={_joined(value, ',')}" for name, value in parameters.items())
    only_with("--set", given or None, "--generator", generator)
    only_with("--order", order, "--generator", generator)
    only_with("--format", format_, "SOURCE", source)
    if order is not None:
        parameters["order"] = order
    names = {key: f"--set {key}" for key in parameters} | {"order": "--order"}
    with as_options(names | _SCALES | {"prefix_blocks": "SOURCE, hash_ids"}):
        from fluidkv.answers.prompted import prompted_trace

        if generator is not None:
            return _generated(generator, seed, tuple(parameters.items()))
        trace, report = read_trace(source or "", format=format_)
        if on_read is not None:
            on_read(report)
        trace = scale(trace, scaling) if scaling else trace
        prompted = prompted_trace(trace, report)
        return replace(prompted, read=f"{prompted.read}; {scaling}") if scaling else prompted


@lru_cache(maxsize=8)
def _generated(name: str, seed: int, parameters: tuple[tuple[str, Any], ...]) -> "Prompted":
    """Points of a sweep ask for the same again."""
    from fluidkv.answers.prompted import prompted_generator

    return prompted_generator(name, seed=seed, parameters=dict(parameters))


PROMPTED = Made(prompted_requests, doing="reading requests")
"""The requests of a question, as its first argument."""


@dataclass(frozen=True, eq=False)
class PromptedAnswer(Answer):
    """What every answer about such requests says of them."""

    prompted: "Prompted"
    source: Annotated[str, Described("name of the trace or generator")]
    generator: Annotated[Mapping[str, Any] | None, Described("parameters of the generator")]
    requests: Annotated[int, Described("all of them")]
    prompt_tokens: Annotated[int, Described("tokens of all prompts", "token")]


def facts_of(prompted: "Prompted") -> dict[str, Any]:
    """The fields of a `PromptedAnswer`."""
    return {
        "prompted": prompted,
        "source": prompted.name,
        "generator": prompted.parameters,
        "requests": len(prompted.requests),
        "prompt_tokens": int(prompted.requests.input_length.sum()),
    }


def prompted_rows(prompted: "Prompted", hidden: Sequence[str] = ()) -> list[Row]:
    """Where requests came from, as a page says it.

    Args:
        hidden: parameters of the generator that are not said.
    """
    rows: list[Row] = [("read", prompted.read)] if prompted.read else []
    if prompted.parameters:
        rows.append(("generated", parameters_text(prompted.parameters, hidden)))
    return rows


def parameters_text(parameters: Mapping[str, Any], hidden: Sequence[str] = ()) -> str:
    """The parameters of a generator in a line."""
    return ", ".join(
        f"{name} {_joined(value, '/')}" for name, value in parameters.items() if name not in hidden
    )


def _joined(value: Any, between: str) -> str:
    return between.join(map(str, value)) if isinstance(value, tuple) else str(value)
