"""`fluidkv equilibria`: the cycles that one class of requests can settle into."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import groupby
from typing import TYPE_CHECKING, Annotated

from fluidkv.answers.classes import one_class_system
from fluidkv.answers.memory import converted_rows
from fluidkv.questions.kinds import Several, Whole
from fluidkv.questions.options import Made, Option
from fluidkv.questions.question import Question
from fluidkv.report.numbers import counted, percent, short
from fluidkv.report.page import Page, ends
from fluidkv.workload import System

if TYPE_CHECKING:
    from fluidkv.exact.one_class.equilibria import EnvelopePoint, Equilibria
    from fluidkv.exact.one_class.return_map import CycleStability

_LEVELS, _ROWS = 24, 30  # of the tables; --json lists all
_GAPS_WIDTH = 25
_GAPS = Option(
    "--gaps G,G,...",
    Several(Whole()),
    "List only the cycle with these predecessor gaps.",
    None,
)
_LEVEL = Option("--level I", Whole(0), "List only cycles with this many empty stages.", None)


def ask_equilibria(
    system: Annotated[System, Made(one_class_system)],
    gaps: Annotated[tuple[int, ...] | None, _GAPS] = None,
    level: Annotated[int | None, _LEVEL] = None,
) -> "Equilibria":
    """Which cycles can a server of equal requests settle into, at what throughput?

    Lists the eviction-free fixed point and every balanced cycle, each verified by
    running the model once round in exact arithmetic, with its certified local
    stability.
    """
    from fluidkv.exact.one_class.equilibria import equilibria

    return equilibria(system, level=level, gaps=gaps)


def say_equilibria(page: Page, answer: "Equilibria") -> None:
    """The best and the worst, the range by eviction level, and every cycle."""
    from fluidkv.exact.one_class.return_map import cycle_stability

    page.table(
        ("", "completed per iteration", "of best"),
        [
            ("fixed point, no eviction (x*)", *_rate(answer.best, answer)),
            ("worst case, maximal eviction", *_rate(answer.worst, answer)),
        ],
    )
    page.heading("Envelope", ", the range of throughput by eviction level")
    page.table(
        ("empty stages", "occupied", "contiguous", "of best", "evenly spaced", "of best"),
        [point and _bounds(point, answer) for point in ends(answer.envelope, _LEVELS)],
    )
    count = len(answer.cycles)
    page.heading(counted(count, "cycle"))
    page.table(
        ("gaps", "empty", "period", "throughput", "", "of best", "growing modes"),
        [
            (
                _gaps(cycle.gaps),
                str(cycle.level),
                str(cycle.period),
                str(cycle.throughput) if len(str(cycle.throughput)) < 13 else "",
                *_rate(cycle.throughput, answer),
                _modes(cycle_stability(answer.system, cycle.gaps)),
            )
            for cycle in answer.cycles[:_ROWS]
        ],
    )
    if count > _ROWS:
        page.line(f"and {count - _ROWS:,} more; --level or --gaps chooses, --json lists all")
    page.line("Memory is full at each; a growing mode means that small imbalances leave it.")


def _bounds(point: "EnvelopePoint", answer: "Equilibria") -> list[str]:
    ranges = (*_rate(point.lowest, answer), *_rate(point.highest, answer))
    return [str(point.level), str(point.live), *ranges]


def _rate(value: Fraction, answer: "Equilibria") -> tuple[str, str]:
    return short(value, 5), percent(value / answer.best)


def _modes(stability: "CycleStability") -> str:
    if stability.outside is None:
        return f"some of {stability.multipliers}"
    return f"{stability.outside} of {stability.multipliers}"


def _gaps(gaps: Sequence[int]) -> str:
    """The gaps, runs as "18*1" where they would be too long."""
    text = ",".join(map(str, gaps))
    if len(text) <= _GAPS_WIDTH:
        return text
    runs = [(g, len(list(run))) for g, run in groupby(gaps)]
    text = ",".join(f"{n}*{g}" if n > 1 else str(g) for g, n in runs)
    return text if len(text) <= _GAPS_WIDTH else f"{text[: _GAPS_WIDTH - 3]}..."


EQUILIBRIA = Question(
    name="equilibria",
    ask=ask_equilibria,
    say=say_equilibria,
    notes=converted_rows,
    doing="verifying cycles",
    assumes=(
        "Memory is full and never lacks requests to admit, all of one input and one output length.",
        "Least progressed requests are evicted first, and start again.",
    ),
    examples=("fluidkv equilibria --class 5:9 --capacity 1000 --gaps 4,1,3,1",),
    time="iteration",
    sweep=None,
)
