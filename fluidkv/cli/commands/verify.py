"""`fluidkv verify`: the ledger checked, and what came out beside what is on record."""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from fluidkv.cli.codes import FAILS
from fluidkv.cli.options import Json, option
from fluidkv.cli.output import json_text
from fluidkv.cli.progress import progress
from fluidkv.keys import json_rows
from fluidkv.ledger.basis import Basis, basis
from fluidkv.questions.kinds import Whole
from fluidkv.questions.options import RUN, as_options
from fluidkv.report.numbers import counted
from fluidkv.report.page import Page

if TYPE_CHECKING:
    from fluidkv.ledger.claim import Result

_COLOURS = {"holds": "green", "fails": "red", "undecided": "yellow"}
_INDENT = 17
_ORIGINS = {  # verdict -> origin -> how one and how many are called
    "fails": {
        "printed": ("error of a paper as printed", "errors of a paper as printed"),
        "reading": ("reading or statement of ours", "readings or statements of ours"),
        "reproduction": ("reproduction not met", "reproductions not met"),
        "prediction": ("prediction missed", "predictions missed"),
    },
    "undecided": {
        "printed": ("printed statement", "printed statements"),
        "reading": ("reading or statement of ours", "readings or statements of ours"),
        "reproduction": ("experiment not reproduced", "experiments not reproduced"),
        "prediction": ("prediction", "predictions"),
    },
}
_BASES = {
    Basis.LIBRARY: "{} computed",
    Basis.RECORD: "{} re-read from recorded runs",
    Basis.PAPER: "{} from the paper alone",
}


KEYS = tuple(json_rows("fluidkv.ledger.claim:Result", "claims[]."))
"""Keys of its JSON."""


def verify(
    ids: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[ID]...",
            help=r"Claims to check, by id, or by how their ids begin. \[default: all]",
        ),
    ] = None,
    jobs: Annotated[
        int | None,
        option(
            "--jobs N",
            Whole(1, 256).read,
            r"Number of processes, no more than the cores. \[default: the cores]",
            RUN,
        ),
    ] = None,
    json_: Json = False,
) -> int:
    """Check the ledger: what the papers claim, and whether it holds.

    Exits with 1 if an outcome differs from the one on record.

    [bold]fluidkv verify congestion.example-2[/bold]
    """
    from fluidkv.ledger import registry
    from fluidkv.processes import cores

    page, results = Page(), []
    with as_options({"id": "ID"}):
        wanted = registry.select(ids or None)
    with progress(f"checking {counted(len(wanted), 'claim')}") as line:

        def show(result: "Result") -> None:
            results.append(result)
            line.count(len(results), len(wanted), "done")
            if not json_:
                with line.aside():
                    _say(page, result)

        registry.verify(ids or None, jobs=jobs or cores(), on_result=show)
    if json_:
        print(json_text({"claims": [r.to_dict() for r in results]}))
    else:
        page.line()
        for said in tally(results):
            page.paragraph(said)
    return 0 if all(r.as_expected for r in results) else FAILS


def tally(results: Sequence["Result"]) -> list[str]:
    """How many claims came out how, whether that is on record, and what it is that fails."""
    verdicts = Counter(str(r.outcome.verdict) for r in results if r.outcome is not None)
    words = {"holds": "hold", "fails": "fail", "undecided": "undecided"}
    parts = [f"{verdicts[verdict]} {word}" for verdict, word in words.items() if verdicts[verdict]]
    errors = sum(r.outcome is None for r in results)
    if errors:
        parts.append(f"{errors} could not be checked")
    differing = sum(not r.as_expected for r in results)
    record = f"{differing} DIFFER from the record" if differing else "all as on record"
    lines = [f"{counted(len(results), 'claim')}: {', '.join(parts)}; {record}"]
    bases = Counter(basis(r.claim.check) for r in results)
    stand = [words.format(f"{bases[of]:,}") for of, words in _BASES.items() if bases[of]]
    lines.append(f"how: {', '.join(stand)}")
    for verdict, what in (("fails", "what fails"), ("undecided", "what is undecided")):
        origins = Counter(
            str(r.claim.origin) for r in results if r.outcome and str(r.outcome.verdict) == verdict
        )
        kinds = [
            counted(origins[origin], *said)
            for origin, said in _ORIGINS[verdict].items()
            if origins[origin]
        ]
        if kinds:
            lines.append(f"{what}: {', '.join(kinds)}")
    return lines


def _say(page: Page, result: "Result") -> None:
    """One line; what a reader needs to see a failure by follows indented."""
    outcome = result.outcome
    line = Text()
    if outcome is None:
        line.append("error    ", "bold red")
    else:
        line.append(f"{outcome.verdict} ".ljust(9), _COLOURS[outcome.verdict])
        line.append(f"{outcome.evidence:<8}", "dim")
    page.line(line + Text(result.claim.id))
    said = [] if outcome is not None else [result.error]
    if outcome is not None and (outcome.verdict != "holds" or not result.as_expected):
        said = [
            result.claim.statement,
            f"paper: {outcome.paper}; ours: {outcome.ours}",
            outcome.witness and f"smallest counterexample: {outcome.witness}",
            outcome.note,
            result.claim.holds and f"what holds: {', '.join(result.claim.holds)}",
        ]
    if outcome is not None and not result.as_expected:
        known = result.claim.expected
        if result.claim.evidence is not None:
            known = f"{known}, {result.claim.evidence}"
        said.append(f"DIFFERS from the record, which says: {known}")
    for text in said:
        page.paragraph(text, "dim", indent=_INDENT)
