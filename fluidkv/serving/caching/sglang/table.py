"""The requests that a server may be offered, and which of them it could never serve."""

import numpy as np
from jaxtyping import Int

from fluidkv.errors import InputError
from fluidkv.runs.requests import Requests
from fluidkv.serving.sglang_settings import SglangSettings

_Lengths = int | Int[np.ndarray, " request"]


def check_table(requests: Requests, settings: SglangSettings, first: int = 0) -> None:
    """Refuse requests that a server could never serve; named is the one that needs most memory.

    Args:
        first: row of a trace with which these begin, for the row that is named.

    Raises:
        InputError: a request that is not admitted even where nobody else is; with `ignore_eos`, one
            that ends early.
    """
    inputs, outputs, asked = requests.input_length, requests.output_length, requests.max_output
    ends_early = settings.ignore_eos & (outputs != asked)
    needed = tokens_alone(inputs, 0, outputs, asked, settings)
    if ends_early.any():
        row = int(ends_early.argmax())
        said = f"{outputs[row]} of {asked[row]} in request {first + row}"
        raise InputError("output_length", said, "all that is asked for, with ignore_eos")
    if not (needed > settings.tokens).any():
        return
    row = int(needed.argmax())
    lengths = f"{inputs[row]} input and at most {asked[row]} output tokens"
    allowed = f"at least {needed[row]} tokens, for request {first + row} ({lengths})"
    raise InputError("capacity", settings.tokens, allowed)


def tokens_alone(
    inputs: _Lengths,
    emitted: _Lengths,
    outputs: _Lengths,
    asked: _Lengths,
    settings: SglangSettings,
) -> Int[np.ndarray, "..."]:
    """Tokens of memory in which a request is admitted as it is, if nobody else is there.

    Args:
        inputs, emitted, outputs, asked: tokens of its prompt, emitted so far, in the end, at most.
    """
    page = settings.page_size
    if settings.ignore_eos and not settings.radix:
        # Also after any number of its outputs: with these its pages may be filled less well.
        rounded = settings.in_pages(np.asarray(inputs))
        for later in range(1, min(page, int(np.max(outputs)))):
            filled = settings.in_pages(np.asarray(inputs) + later) - later
            rounded = np.where(later < outputs, np.maximum(rounded, filled), rounded)
        return np.asarray(rounded + asked + page + 2)
    may_emit = np.maximum(np.minimum(asked - emitted, settings.clip), 0)
    return np.asarray(inputs + emitted + may_emit + page + 1)
