"""What clients ask for at most: all that an engine knows of how long an answer will be.

Admission looks at it where it sets room aside for outputs to come: TensorRT-LLM's
GUARANTEED_NO_EVICT all of it, SGLang a share of it, up to 4,096 tokens.

What is taken where a client says nothing (`max_tokens` left out):

    vLLM            the rest of the context, `--max-model-len` less the input, for a chat; 16 for a
                    completion (pull request 6954; the API's own default)
    SGLang          128 at `/generate` (`sampling_params.py`); over the chat API the rest of the
                    context less 1 (`init_req_max_new_tokens` in `scheduler.py`)
    TensorRT-LLM    32 of `SamplingParams` in its own API (pull requests 13455 and, of Dynamo,
                    5152); the rest of `--max_seq_len` over a server (`_deduce_max_tokens`)

So "context:N" is the chat of all three, but for SGLang's one token. A benchmark client asks for
just what it wants and ignores the end of text (`vllm bench serve`): "exact".
"""

import re
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

import numpy as np
from jaxtyping import Int

from fluidkv.errors import InputError
from fluidkv.record import Record
from fluidkv.runs.checks import MOST_TOKENS, real
from fluidkv.runs.requests import Requests
from fluidkv.text import NUMBER

_FORMS = (
    "exact, a number of tokens such as 4096, a multiple of each output such as 2x, "
    "uniform:LOW:HIGH, context:TOKENS, or column:NAME"
)
Rule = Literal["exact", "number", "multiple", "uniform", "context", "column"]


@dataclass(frozen=True)
class MaxTokens(Record):
    """A rule for `Requests.max_output`.

    Args:
        rule: "exact": what is put out; "number": `high` tokens; "multiple": `factor` times what is
            put out, rounded up; "uniform": drawn from `low` to `high`, and from the output on
            where that is more; "context": what the input leaves of `high` tokens; "column": what
            the trace says.
        low, high: tokens.
        factor: of "multiple", at least 1.
        column: its name in the file.

    Raises:
        InputError: numbers that are out of range.
    """

    rule: Rule = "exact"
    low: int = 1
    high: int = 1
    factor: Fraction = Fraction(1)
    column: str = ""

    def __post_init__(self) -> None:
        if not 1 <= self.low <= self.high <= MOST_TOKENS:
            said = f"{self.low} to {self.high}" if self.rule == "uniform" else self.high
            raise InputError("max_tokens", said, f"1 to {MOST_TOKENS:.0e} tokens, rising")
        if not 1 <= self.factor <= MOST_TOKENS:
            allowed = f"at least 1x, and at most {MOST_TOKENS:,}x"
            raise InputError("max_tokens", f"{real(self.factor):g}x", allowed)

    def __str__(self) -> str:
        """As it is written."""
        if self.rule == "number":
            return str(self.high)
        if self.rule == "multiple":
            return f"{float(self.factor):g}x"
        if self.rule == "uniform":
            return f"uniform:{self.low}:{self.high}"
        if self.rule == "context":
            return f"context:{self.high}"
        return f"column:{self.column}" if self.rule == "column" else "exact"

    def asked(self, table: Requests, seed: int = 0) -> Int[np.ndarray, " request"]:
        """What each request asks for.

        Raises:
            InputError: less than one puts out, with its row.
        """
        inputs, outputs = table.input_length, table.output_length
        if self.rule == "number":
            most = np.full_like(outputs, self.high)
        elif self.rule == "multiple":
            over, under = self.factor.numerator, self.factor.denominator
            most = (-(-outputs.astype(object) * over // under)).astype(np.int64)
        elif self.rule == "uniform":
            least = np.minimum(np.maximum(outputs, self.low), self.high)
            most = np.random.default_rng([seed, _DRAWS]).integers(least, self.high + 1)
        elif self.rule == "context":
            most = self.high - inputs
        else:
            most = table.max_output
        short = most < outputs
        if short.any():
            row = int(np.argmax(short))
            raise InputError("max_tokens", str(self), self._allowed(table, row))
        return most

    def _allowed(self, table: Requests, row: int) -> str:
        inputs, outputs = int(table.input_length[row]), int(table.output_length[row])
        if self.rule == "context":
            lengths = f"{inputs:,} input + {outputs:,} output"
            return f"a context for request {row}, counted from 0: {lengths}"
        return f"at least the {outputs:,} outputs of request {row}, counted from 0"

    def of(self, table: Requests, seed: int = 0) -> Requests:
        """The same requests that ask for so much."""
        return table if self.rule in ("exact", "column") else table.asking(self.asked(table, seed))

    def at_most(self, table: Requests) -> Requests:
        """The same requests, each asking for the most that it may be drawn to ask for."""
        if self.rule == "uniform":
            return replace(self, rule="number").of(table)
        return self.of(table)


EXACT = MaxTokens()
"""Clients ask for exactly what is put out."""

_DRAWS = 0x6D6178  # a stream of its own beside that of the lengths


def max_tokens_of(text: str) -> MaxTokens:
    """A rule as users write it: "exact", "4096", "2x", "uniform:512:4096", "context:8192".

    Raises:
        InputError: another text.
    """
    word, colon, rest = text.strip().partition(":") if isinstance(text, str) else ("", "", "")
    if word == "exact" and not colon:
        return EXACT
    if word == "column" and rest:
        return MaxTokens("column", column=rest)
    if word.endswith("x") and NUMBER.fullmatch(word[:-1]) and not colon:
        if not 1 <= float(word[:-1]) <= MOST_TOKENS:  # a long exponent takes for ever to write out
            raise InputError("max_tokens", text, f"from 1x to {MOST_TOKENS:,}x")
        return MaxTokens("multiple", factor=Fraction(word[:-1]))
    counts = [rest] if word == "context" else rest.split(":") if word == "uniform" else [text]
    if not all(re.fullmatch("[0-9]{1,9}", count.strip()) for count in counts):
        raise InputError("max_tokens", text, _FORMS)
    numbers = [int(count) for count in counts]
    if word == "uniform" and len(numbers) == 2:
        return MaxTokens("uniform", low=numbers[0], high=numbers[1])
    if word == "context":
        return MaxTokens("context", high=numbers[0])
    if word == "uniform" or colon:
        raise InputError("max_tokens", text, _FORMS)
    return MaxTokens("number", high=numbers[0])
