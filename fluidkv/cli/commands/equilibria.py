"""`fluidkv equilibria`: the cycles that one class of requests can settle into."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import groupby
from typing import TYPE_CHECKING, Annotated

from fluidkv.answers.memory import KnownMemory
from fluidkv.cli import arguments as read
from fluidkv.cli.options import Json, OneClass, option
from fluidkv.cli.output import give
from fluidkv.cli.progress import progress
from fluidkv.errors import InputError
from fluidkv.report.numbers import counted, percent, short
from fluidkv.report.page import Page, ends

if TYPE_CHECKING:
    from fluidkv.exact.one_class.equilibria import EnvelopePoint, Equilibria
    from fluidkv.exact.one_class.return_map import CycleStability

_LEVELS, _ROWS = 24, 30  # of the tables; --json lists all
_GAPS_WIDTH = 25


def equilibria(
    class_: OneClass,
    memory: KnownMemory,
    gaps: Annotated[
        tuple | None,
        option(
            "--gaps G,G,...",
            read.whole_numbers,
            "List only the cycle with these predecessor gaps.",
            allowed="whole numbers, such as 4,1,3,1",
        ),
    ] = None,
    level: Annotated[
        tuple | None,
        option(
            "--level I",
            read.whole_numbers,
            "List only cycles with this many empty stages.",
            allowed="one whole number, such as 2",
        ),
    ] = None,
    json_: Json = False,
) -> None:
    """Which cycles can a server of equal requests settle into, at what throughput?

    Lists the eviction-free fixed point and every balanced cycle, each verified by
    running the model once round in exact arithmetic, with its certified local
    stability.

    [bold]fluidkv equilibria --class 5:9 --capacity 1000 --gaps 4,1,3,1[/bold]
    """
    workload = read.one_class(class_)
    if level is not None and len(level) != 1:
        raise InputError("--level", ",".join(map(str, level)), "one whole number, such as 2")

    from fluidkv.exact.one_class.equilibria import equilibria as find
    from fluidkv.workload import System

    system = System(workload, memory.tokens())
    with progress("verifying cycles"):
        found = find(system, level=level[0] if level else None, gaps=gaps)
        give(found.to_dict, lambda page: _say(page, found), as_json=json_, notes=memory.notes())


def _say(page: Page, found: "Equilibria") -> None:
    from fluidkv.exact.one_class.return_map import cycle_stability

    page.table(
        ("", "completed per iteration", "of best"),
        [
            ("fixed point, no eviction (x*)", *_rate(found.best, found)),
            ("worst case, maximal eviction", *_rate(found.worst, found)),
        ],
    )
    page.heading("Envelope", ", the range of throughput by eviction level")
    page.table(
        ("empty stages", "occupied", "contiguous", "of best", "evenly spaced", "of best"),
        [point and _bounds(point, found) for point in ends(found.envelope, _LEVELS)],
    )
    count = len(found.cycles)
    page.heading(counted(count, "cycle"))
    page.table(
        ("gaps", "empty", "period", "throughput", "", "of best", "growing modes"),
        [
            (
                _gaps(cycle.gaps),
                str(cycle.level),
                str(cycle.period),
                str(cycle.throughput) if len(str(cycle.throughput)) < 13 else "",
                *_rate(cycle.throughput, found),
                _modes(cycle_stability(found.system, cycle.gaps)),
            )
            for cycle in found.cycles[:_ROWS]
        ],
    )
    if count > _ROWS:
        page.line(f"and {count - _ROWS:,} more; --level or --gaps chooses, --json lists all")
    page.line("Memory is full at each; a growing mode means that small imbalances leave it.")


def _bounds(point: "EnvelopePoint", found: "Equilibria") -> list[str]:
    ranges = (*_rate(point.lowest, found), *_rate(point.highest, found))
    return [str(point.level), str(point.live), *ranges]


def _rate(value: Fraction, found: "Equilibria") -> tuple[str, str]:
    return short(value, 5), percent(value / found.best)


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
