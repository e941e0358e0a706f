"""The Azure conversation trace, in the place of the paper's data set: lengths, times, types."""

import os
from fractions import Fraction
from functools import cache
from pathlib import Path

from fluidkv import wait
from fluidkv.figures.figure import MissingInput
from fluidkv.traces import Trace, read_trace
from fluidkv_papers.wait.instances.server import BASE, PER_KV_TOKEN

FILE = "azure_llm_2023_conv.csv"
LONGEST = 500  # the paper's outputs are 1 to 500 tokens
TOLD = (
    "The paper's data set (LMSYS-Chat-1M) is not here; the Azure LLM inference trace of 2023, "
    "conversations (CC-BY), stands for it"
)


@cache
def trace() -> Trace:
    """All of it.

    Raises:
        MissingInput: the file is not there.
    """
    default = Path(__file__).parents[5] / "shared/traces"
    path = Path(os.environ.get("FLUIDKV_TRACES") or default) / FILE
    if not path.is_file():
        raise MissingInput(f"no trace: FLUIDKV_TRACES names no folder with {FILE}")
    return read_trace(path).trace


def mix(input_length: int, *, width: int = 1) -> "wait.WaitSystem":
    """One prompt a second, outputs of up to 500 tokens as in the trace, one input for all.

    Args:
        input_length: tokens.
        width: outputs are rounded up to multiples of this.

    Raises:
        MissingInput: the file is not there.
    """
    from collections import Counter

    outputs = Counter(-(-o // width) * width for o in trace().decode_lengths if o <= LONGEST)
    total = sum(outputs.values())
    types = (
        wait.PromptType(Fraction(outputs[output], total), input_length, output)
        for output in sorted(outputs)
    )
    return wait.WaitSystem(types, BASE, PER_KV_TOKEN)


def left_out() -> float:
    """Share of the prompts whose output is longer than `LONGEST`."""
    outputs = trace().decode_lengths
    return sum(output > LONGEST for output in outputs) / len(outputs)
