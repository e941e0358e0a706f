"""The same requests, longer or faster: what if prompts were twice as long, what if twice as many.

`fluidkv.traces.scale` does it to a trace before requests are made of it.
"""

import math
from fractions import Fraction

import numpy as np

from fluidkv.prefix.pieces import Piece
from fluidkv.prefix.prompts import Prompts
from fluidkv.runs.requests import Requests

_KEPT = (
    *("output_length", "max_output", "class_index", "priority"),
    *("predicted_output", "estimated_output", "ttft_slo", "tbt_slo"),
)


def scaled(table: Requests, *, inputs: Fraction = Fraction(1), rate: float = 1.0) -> Requests:
    """The same requests with longer prompts, or with arrivals so many times as fast.

    Args:
        inputs: factor on input tokens, which are rounded up.
        rate: what times of arrival are divided by.
    """
    lengths = [math.ceil(int(length) * inputs) for length in table.input_length]
    return Requests(
        np.array(lengths),
        **{name: getattr(table, name) for name in _KEPT},
        arrival=table.arrival / rate,
    )


def longer_prompts(said: Prompts, factor: int) -> Prompts:
    """Prompts so many times as long, which share so many times as much."""
    longer = (
        tuple(Piece(segment, factor * start, factor * length) for segment, start, length in prompt)
        for prompt in said.prompts
    )
    return Prompts(longer, said.outputs)
