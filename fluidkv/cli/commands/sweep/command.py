"""`fluidkv sweep`: an analysis over a grid, a list or a sample of settings, into a Zarr store."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from fluidkv.cli.asked import as_written
from fluidkv.cli.options import Json, argument, option
from fluidkv.cli.output import give
from fluidkv.cli.output_files import writable_folder
from fluidkv.cli.progress import progress
from fluidkv.questions.kinds import Whole
from fluidkv.questions.options import OUTPUT, RUN

if TYPE_CHECKING:
    from fluidkv.sweeps.running import Ran

MOST_WORKERS = 1024
_SPEC = "TOML file: an analysis, its settings, and what varies: a grid, a list or a sample."
_OUT = "Folder of the Zarr store: a new one, or one that this sweep has begun to fill."
_WORKERS = (
    r"Most processes; they start where that saves time. \[default: one for each core, or 1 where "
    "the analysis keeps them all busy]"
)
_SCHEDULER = "Address of a Dask scheduler: its workers compute and write, not processes here."


def sweep(
    spec: Annotated[str, argument("SPEC", str, _SPEC)],
    out: Annotated[Path, option("--out STORE", writable_folder, _OUT, OUTPUT)],
    workers: Annotated[
        int | None,
        option("--workers N", Whole(1, MOST_WORKERS).read, _WORKERS, RUN),
    ] = None,
    scheduler: Annotated[str | None, option("--scheduler ADDRESS", str, _SCHEDULER, RUN)] = None,
    json_: Json = False,
) -> None:
    """Any analysis over systems, policies, engines, seeds, settings, into a store.

    Writes chunk by chunk: a sweep that was cut off goes on where it
    was when the same command is given again. xarray.open_zarr opens the store.

    [bold]fluidkv sweep map.toml --out map.zarr[/bold]
    """
    ran = _run(spec, out, workers, scheduler)
    from fluidkv.cli.commands.sweep.text import say_sweep
    from fluidkv.sweeps.summary import summary

    with as_written():
        found = summary(ran)
    give(lambda: found, lambda page: say_sweep(page, found), as_json=json_, time=None)


def _run(spec: str, out: Path, workers: int | None, scheduler: str | None) -> "Ran":
    with as_written():
        from fluidkv.sweeps.planning import plan
        from fluidkv.sweeps.running import executor_of, run

        asked = plan(spec)
        with progress(f"sweep of {asked.spec.analysis.name}") as line:
            first: list[tuple[float, int]] = []

            def told(done: int, total: int) -> None:
                first.append((time.monotonic(), done)) if not first else None
                (since, before), now = first[0], time.monotonic()
                rate = (done - before) / (now - since) if now > since else 0
                line.count(done, total, f"points, {rate:,.4g} a second" if rate else "points")

            with executor_of(asked, workers, scheduler) as executor:
                return run(asked, out, executor, on_progress=told)
