"""`fluidkv equilibria`: the cycles that one class of requests can settle into."""

import json
from collections.abc import Sequence
from fractions import Fraction
from itertools import groupby
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from fluidkv.cli import arguments
from fluidkv.errors import InputError

if TYPE_CHECKING:
    from fluidkv.exact.one_class.equilibria import EnvelopePoint, Equilibria
    from fluidkv.exact.one_class.return_map import CycleStability

_ROWS = 30  # of the table of cycles; --json lists all
_GAPS_WIDTH = 25


def equilibria(
    class_: Annotated[
        list[str], typer.Option("--class", metavar="IN:OUT", help="The one request class.")
    ],
    capacity: Annotated[str, typer.Option(metavar="TOKENS", help="KV capacity.")],
    gaps: Annotated[
        str | None,
        typer.Option(metavar="G,G,...", help="Only the cycle with these predecessor gaps."),
    ] = None,
    level: Annotated[
        str | None, typer.Option(metavar="I", help="Only cycles with this many empty stages.")
    ] = None,
    json_: Annotated[
        bool, typer.Option("--json", help="Print only JSON on standard output.")
    ] = False,
) -> None:
    """Which cycles can a server of equal requests settle into, at what throughput?

    Lists the eviction-free fixed point and every balanced cycle, each verified by
    running the model once round in exact arithmetic, with its certified local
    stability.

    [bold]fluidkv equilibria --class 5:9 --capacity 1000 --gaps 4,1,3,1[/bold]
    """
    if len(class_) != 1 or class_[0].count(":") != 1:
        raise InputError("--class", " ".join(class_), "one class IN:OUT, such as 128:256")
    workload, tokens = arguments.request_classes(class_), arguments.capacity(capacity)
    chosen = None if gaps is None else _whole_numbers("--gaps", gaps, "4,1,3,1")
    only = None if level is None else _whole_numbers("--level", level, "2")
    if only is not None and len(only) != 1:
        raise InputError("--level", level, "one whole number, such as 2")

    from fluidkv.exact.one_class.equilibria import equilibria as find
    from fluidkv.workload import System

    found = find(System(workload, tokens), level=only[0] if only else None, gaps=chosen)
    if json_:
        print(json.dumps(found.as_dict(), indent=2, allow_nan=False))
    else:
        _print(found, Console(highlight=False))


def _print(found: "Equilibria", console: Console) -> None:
    summary = _table("", "completed an iteration", "of best")
    summary.add_row("fixed point, no eviction (x*)", _number(found.best), _percent(1.0))
    ratio = float(found.worst_case_ratio)
    summary.add_row("worst case, maximal eviction", _number(found.worst), _percent(ratio))
    console.print(summary)

    console.print("\n[bold]Envelope[/bold], of the throughput by eviction level")
    bounds = _table("empty stages", "occupied", "contiguous", "of best", "evenly spaced", "of best")
    for point in _ends(found.envelope):
        if point is None:
            bounds.add_row(*["..."] * 6)
            continue
        low, high = point.lowest, point.highest
        bounds.add_row(
            str(point.level),
            str(point.live),
            _number(low),
            _percent(float(low / found.best)),
            _number(high),
            _percent(float(high / found.best)),
        )
    console.print(bounds)

    count = len(found.cycles)
    console.print(f"\n[bold]{count:,} cycle{'s' if count > 1 else ''}[/bold]")
    cycles = _table("gaps", "empty", "period", "throughput", "", "of best", "growing modes")
    for cycle, stability in zip(found.cycles[:_ROWS], found.stability(_ROWS), strict=True):
        cycles.add_row(
            _gaps(cycle.gaps),
            str(cycle.level),
            str(cycle.period),
            str(cycle.throughput) if len(str(cycle.throughput)) < 13 else "",
            _number(cycle.throughput),
            _percent(float(cycle.share_of_best)),
            _modes(stability),
        )
    console.print(cycles)
    if count > _ROWS:
        console.print(f"and {count - _ROWS:,} more; --level or --gaps chooses, --json lists all")
    console.print("Memory is full at each; a growing mode means that small imbalances leave it.")


def _modes(stability: "CycleStability") -> str:
    if stability.outside is None:
        return f"some of {stability.multipliers}"
    return f"{stability.outside} of {stability.multipliers}"


def _ends(rows: "tuple[EnvelopePoint, ...]", most: int = 24) -> "list[EnvelopePoint | None]":
    """All rows, or the first and last of them with None between."""
    if len(rows) <= most:
        return list(rows)
    return [*rows[: most // 2], None, *rows[-most // 2 :]]


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column(columns[0])
    for column in columns[1:]:
        table.add_column(column, justify="right")
    return table


def _number(value: Fraction) -> str:
    return f"{float(value):,.5g}"


def _percent(share: float) -> str:
    return f"{share:.1%}"


def _gaps(gaps: Sequence[int]) -> str:
    """The gaps, runs as "18*1" where they would be too long."""
    text = ",".join(map(str, gaps))
    if len(text) <= _GAPS_WIDTH:
        return text
    runs = [(g, len(list(run))) for g, run in groupby(gaps)]
    text = ",".join(f"{n}*{g}" if n > 1 else str(g) for g, n in runs)
    return text if len(text) <= _GAPS_WIDTH else f"{text[: _GAPS_WIDTH - 3]}..."


def _whole_numbers(argument: str, text: str, example: str) -> list[int]:
    allowed = f"whole numbers, such as {example}"
    values = [arguments.exact_number(argument, part, allowed) for part in text.split(",")]
    if any(value.denominator != 1 for value in values):
        raise InputError(argument, text, allowed)
    return [value.numerator for value in values]
