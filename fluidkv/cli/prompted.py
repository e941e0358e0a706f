"""What commands about prefix caches share: requests that say what their prompts share."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

from fluidkv.cli import arguments as read
from fluidkv.cli.asked import note_read
from fluidkv.cli.options import WHO, argument, option
from fluidkv.cli.progress import progress
from fluidkv.cli.source import SCALES
from fluidkv.errors import InputError

if TYPE_CHECKING:
    from fluidkv.answers.prompted import Prompted
    from fluidkv.traces import Scaling

_TRACE = "Trace whose prompts say what they share: Mooncake with hash_ids, or segments."
Source = Annotated[str | None, argument("SOURCE", str, _TRACE)]
_GENERATOR = "A generated workload: gsp, chats, documents, zipf, loop."
Generator = Annotated[str | None, option("--generator NAME", str, _GENERATOR, WHO)]
_SET = "A parameter of the generator, such as groups=64 or lengths=512,1024; repeatable."
Set = Annotated[list[str] | None, option("--set NAME=VALUE", str, _SET, WHO)]
_ORDER = r"Order of the generator: random or round-robin. \[default: random]"
Order = Annotated[str | None, option("--order ORDER", str, _ORDER, WHO)]
_FORMATS = "Format of SOURCE, where it is not to be guessed: mooncake, segments."
Format = Annotated[str | None, option("--format NAME", str, _FORMATS, WHO)]
_GIVEN = "NAME=VALUE, such as groups=64, ratio=0.3 or lengths=512,1024"


def prompted_of(
    source: str | None,
    generator: str | None,
    given: list[str] | None,
    order: str | None,
    format_: str | None,
    seed: int,
    scaling: "Scaling | None" = None,
) -> "Prompted":
    """Of a trace or of a generator; exactly one is given.

    Args:
        scaling: of the lengths and times of a trace; a generator has parameters for that.
    """
    read.exactly_one(source=source, generator=generator)
    scales = "--scale-input, --scale-output, --scale-rate"
    read.only_with(scales, str(scaling or "") or None, "SOURCE", source)
    read.only_with("--set", " ".join(given) if given else None, "--generator", generator)
    read.only_with("--order", order, "--generator", generator)
    read.only_with("--format", format_, "SOURCE", source)
    parameters = dict(_parameter(text) for text in given or ())
    if order is not None:
        parameters["order"] = order
    names = {key: f"--set {key}" for key in parameters}
    names |= {"source": "SOURCE", "format": "--format", "generator": "--generator"}
    names |= {"order": "--order", "prefix_blocks": "SOURCE, hash_ids"}
    with read.as_options(names), progress(f"reading {source or generator}"):
        from fluidkv.answers.prompted import prompted_generator, prompted_trace

        if generator is not None:
            return prompted_generator(generator, seed=seed, parameters=parameters)
        from fluidkv.traces import read_trace, scale

        trace, report = read_trace(source or "", format=format_)
        note_read(report)
        with read.as_options(SCALES):
            trace = scale(trace, scaling) if scaling else trace
        found = prompted_trace(trace, report)
        return replace(found, read=f"{found.read}; {scaling}") if scaling else found


def parameters_said(parameters: Mapping[str, Any], hidden: Sequence[str] = ()) -> str:
    """The parameters of a generator, as a page says them."""
    return ", ".join(
        f"{name} {'/'.join(map(str, value)) if isinstance(value, tuple) else value}"
        for name, value in parameters.items()
        if name not in hidden
    )


def _parameter(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not (name and equals and value):
        raise InputError("--set", text, _GIVEN)
    values = [_number(part.strip()) for part in value.split(",")]
    return name.strip(), values[0] if len(values) == 1 else tuple(values)


def _number(text: str) -> int | float | str:
    """As a number where it is one; the generator says what it takes."""
    if re.fullmatch(r"[+-]?[0-9]{1,18}", text):
        return int(text)
    if re.fullmatch(r"[+-]?[0-9]*\.?[0-9]+(e[+-]?[0-9]{1,3})?", text):
        return float(text)
    return text
