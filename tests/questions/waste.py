"""A question, whole: what part of a KV pool do blocks waste, whose last is not full?"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from fluidkv.questions.answer import Answer, Described, crossed
from fluidkv.questions.kinds import Whole, Word
from fluidkv.questions.options import SERVER, WHO, Option, checked
from fluidkv.questions.pictures import lines_figure
from fluidkv.questions.question import Question
from fluidkv.report.page import Page
from tests.questions.fragmentation import wasted_share

LENGTH = Option("--length N", Whole(1, 10**6), "Longest request, in tokens.", WHO, unit="token")
SHAPE = Option("--shape NAME", Word(("fixed", "uniform")), "What lengths up to it are like.", WHO)
BLOCK = Option("--block-size N", Whole(1, 4096), "Tokens of a block.", SERVER, many=True)


@dataclass(frozen=True, eq=False)
class Waste(Answer):
    """What blocks of each size waste."""

    length: Annotated[int, Described("longest request", "token")]
    shape: Annotated[str, Described("what lengths are like")]
    least: Annotated[float, Described("share wasted by the best size")]
    block_sizes: Annotated[tuple[int, ...], Described("block size", "token", dims="block_size")]
    wasted: Annotated[np.ndarray, Described("share of memory wasted", dims="block_size")]


@checked
def block_waste(
    length: Annotated[int, LENGTH],
    shape: Annotated[str, SHAPE] = "uniform",
    block_sizes: Annotated[Sequence[int], BLOCK] = (1, 16, 64),
) -> Waste:
    """What part of a KV pool do blocks waste?

    The last block of a request is not full, and nobody else can have the rest.
    """
    wasted = np.array([wasted_share(length, size, shape == "fixed") for size in block_sizes])
    return Waste(length, shape, float(wasted.min()), tuple(block_sizes), wasted)


def say_waste(page: Page, answer: Waste) -> None:
    page.title(f"{answer.shape} requests of up to {answer.length:,} tokens")
    shares = {"wasted, %": answer.wasted}
    page.table(*crossed("block", answer.block_sizes, shares, lambda share: f"{100 * share:.2f}"))


WASTE = Question(
    name="waste",
    ask=block_waste,
    say=say_waste,
    figures=lambda a: [lines_figure(a, "wasted", title="Larger blocks waste more", log="x")],
    tables=lambda answer: {"waste.csv": answer.to_csv()},
    assumes=("A request has whole blocks of its own.",),
)
