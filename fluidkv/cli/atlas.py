"""`fluidkv atlas`: certified thresholds of all pairs of decode lengths, as files."""

import csv
import io
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from fluidkv.cli import arguments
from fluidkv.errors import InputError
from fluidkv.files import write_together
from fluidkv.text import printable

if TYPE_CHECKING:
    import xarray as xr

LONGEST = 200  # decode length: the work grows like its fifth power, and is hours there
MOST_WORKERS = 256
NAME = "threshold_atlas"


def atlas(
    out: Annotated[str, typer.Option(metavar="DIR", help="Where to write the two files.")],
    longest: Annotated[str, typer.Option(metavar="N", help="Longest decode length.")] = "60",
    share: Annotated[
        list[str] | None,
        typer.Option(
            metavar="P",
            help="Share of the shorter length; repeatable. \\[default: 1/10, 2/10 ... 9/10]",
        ),
    ] = None,
    workers: Annotated[
        str,
        typer.Option(metavar="N", help="Processes; more than the machine has cores are not used."),
    ] = "2",
) -> None:
    """Certified l0_min of every pair of decode lengths up to N, at several shares.

    Writes threshold_atlas.nc (NetCDF, for xarray) and threshold_atlas.csv, a row
    for each pair and share. Up to 60 at nine shares this takes minutes.

    [bold]fluidkv atlas --out atlas --longest 20[/bold]
    """
    folder = arguments.writable_folder("--out", out)
    most = arguments.whole_number("--longest", longest, least=2, most=LONGEST)
    pairs = most * (most - 1) // 2
    processes = arguments.whole_number("--workers", workers, least=1, most=MOST_WORKERS)
    shares = [_share(text) for text in share or []]
    if len(set(shares)) < len(shares):
        raise InputError("--share", " ".join(share or []), "shares that all differ")

    from fluidkv.exact.mixed.thresholds.atlas import TENTHS, threshold_atlas

    console = Console(stderr=True, highlight=False)
    with console.status("certifying (Ctrl-C stops)") as status:

        def show(done: int, _: int) -> None:
            if console.is_terminal:
                status.update(f"certified {done:,} of {pairs:,} pairs (Ctrl-C stops)")

        found = threshold_atlas(most, shares or TENTHS, workers=processes, on_progress=show)
    names = write(found, folder)
    print(f"{pairs:,} pairs x {found.sizes['share']} shares")
    print(f"written to {printable(str(folder))}: {', '.join(names)}")


def write(found: "xr.Dataset", folder: Path) -> list[str]:
    """Both files, together or not at all; their names."""
    files = {
        f"{NAME}.nc": bytes(found.to_netcdf(engine="scipy")),
        f"{NAME}.csv": _table(found).encode(),
    }
    try:
        write_together(folder, files)
    except OSError as error:  # the disk filled up, or the folder changed since it was checked
        raise InputError("--out", str(folder), f"a folder that takes files ({error})") from None
    return list(files)


def _table(found: "xr.Dataset") -> str:
    """A row for each pair and share; no value where there is none."""
    from fluidkv.exact.mixed.thresholds.atlas import NO_PAIR, NO_THRESHOLD

    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(["first", "second", "share", *found.data_vars])
    columns = [variable.to_numpy() for variable in found.data_vars.values()]
    words = [str(v.attrs.get("flag_meanings", "")).split() for v in found.data_vars.values()]
    for i, first in enumerate(found["first"].to_numpy().tolist()):
        for j, second in enumerate(found["second"].to_numpy().tolist()):
            for k, share in enumerate(found["exact_share"].to_numpy().tolist()):
                values = [column[i, j, k].item() for column in columns]
                if NO_PAIR in values[:1]:
                    continue
                shown = [
                    "" if v == NO_THRESHOLD or v != v else named[v] if named else v
                    for v, named in zip(values, words, strict=True)
                ]
                rows.writerow([first, second, share, *shown])
    return text.getvalue()


def _share(text: str) -> Fraction:
    allowed = "a share strictly between 0 and 1, such as 1/2 or 0.5"
    value = arguments.exact_number("--share", text, allowed)
    if not 0 < value < 1:
        raise InputError("--share", text, allowed)
    return value
