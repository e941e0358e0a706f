"""From the text of `fluidkv recommend` to settings to try and bounds to keep."""

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from fluidkv.cli import arguments
from fluidkv.cli.served import LARGEST_COUNT, which_clock
from fluidkv.errors import InputError

if TYPE_CHECKING:
    from fluidkv.answers.served.logged import ServerSettings
    from fluidkv.answers.served.setting import Setting

_AS_SET = ("watermark", "max_num_seqs", "admission_rate")  # clients are who asks, not a setting


def server_of(
    clock: str | None,
    clock_from: str | None,
    block_size: int | None,
    max_num_batched_tokens: int | None,
    now: list[str] | None,
) -> "ServerSettings":
    """The server as the options say, but for its memory."""
    from fluidkv.answers.served.logged import ServerSettings

    ticks = which_clock(clock, clock_from)
    return ServerSettings(None, ticks, block_size, max_num_batched_tokens, as_set(now or []))


def as_set(texts: list[str]) -> "Setting":
    from fluidkv.answers.served.setting import Setting

    allowed = "watermark=W, max_num_seqs=N or rate_cap=R, each once"
    values: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        name = {"rate_cap": "admission_rate"}.get(name.strip(), name.strip())
        if not equals or name in values or name not in _AS_SET:
            raise InputError("--now", text, allowed)
        (values[name],) = _values("--now", value, name)
    return Setting(**values)


def check_objective(text: str) -> None:
    """Before a source is read."""
    from fluidkv.answers.recommend.choosing import OBJECTIVES

    if text not in OBJECTIVES:
        raise InputError("--objective", text, f"one of {', '.join(OBJECTIVES)}")


def candidates(
    watermark: str | None, max_num_seqs: str | None, rate_cap: str | None, client_cap: str | None
) -> dict[str, list[Any]]:
    texts = (
        ("--watermark", "watermark", watermark),
        ("--max-num-seqs", "max_num_seqs", max_num_seqs),
        ("--rate-cap", "admission_rate", rate_cap),
        ("--client-cap", "clients", client_cap),
    )
    return {name: _values(option, text, name) for option, name, text in texts if text is not None}


def _values(option: str, text: str, knob: str) -> list[Any]:
    parts = text.split(",")
    if knob in ("max_num_seqs", "clients"):
        return [arguments.whole_number(option, p, least=1, most=LARGEST_COUNT) for p in parts]
    if knob == "watermark":
        allowed = "shares in [0, 1), such as 0.02"
        shares = [arguments.exact_number(option, part, allowed) for part in parts]
        if not all(0 <= share < 1 for share in shares):
            raise InputError(option, text, allowed)
        return [float(share) for share in shares]
    allowed = "admissions per iteration, above 0, such as 0.5 or 1/2"
    rates = [arguments.exact_number(option, part, allowed) for part in parts]
    if not all(0 < value <= LARGEST_COUNT for value in rates):
        raise InputError(option, text, allowed)
    return [max(value.limit_denominator(10**6), Fraction(1, 10**6)) for value in rates]
