"""`fluidkv bench`: the engines beside plain code and C, on this machine."""

from typing import Annotated

from fluidkv.cli import options as opt
from fluidkv.cli.output import give
from fluidkv.cli.progress import progress
from fluidkv.questions.options import as_options

_QUICK = "Small problems: a minute instead of many, and rates that say little."
_ONLY = r"A benchmark by its name; repeatable. \[default: all]"


def bench(
    quick: Annotated[bool, opt.flag("--quick", _QUICK)] = False,
    only: Annotated[list[str] | None, opt.option("--only NAME", str, _ONLY)] = None,
    json_: opt.Json = False,
) -> None:
    """How fast the engines are here: each beside plain code, and beside C.

    Runs on whatever device JAX sees, and names the machine. Each ratio is of two
    ways to compute the same, in one run; that they agree is checked before.

    [bold]fluidkv bench --quick[/bold]
    [bold]fluidkv bench --only mass --json[/bold]
    """
    from fluidkv.cli.commands.bench.text import say_report
    from fluidkv.suite.run import run_suite

    with progress("measuring") as line, as_options({"only": "--only"}):

        def tell(done: int, total: int, what: str) -> None:
            line.count(done, total, f"benchmarks: {what}")

        report = run_suite(only, quick=quick, on_progress=tell)
    give(report.as_dict, lambda page: say_report(page, report), as_json=json_, time="second")
