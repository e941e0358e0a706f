"""`fluidkv atlas`: certified thresholds of all pairs of decode lengths, as files."""

import csv
import io
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from fluidkv.cli import arguments as read
from fluidkv.cli.options import RUN, Json, option, out
from fluidkv.cli.output import give, refuse_folder, say_written
from fluidkv.cli.progress import progress
from fluidkv.errors import InputError
from fluidkv.files import write_together
from fluidkv.report.page import Page

if TYPE_CHECKING:
    import xarray as xr

LONGEST = 200  # decode length: the work grows like its fifth power, and is hours there
MOST_WORKERS = 256
NAME = "threshold_atlas"
_SHARES = r"Share of the shorter length; repeatable. \[default: 1/10, 2/10 ... 9/10]"


def atlas(
    out: Annotated[Path, out("threshold_atlas.nc and threshold_atlas.csv")],
    longest: Annotated[
        int,
        option(
            "--longest N",
            read.whole_number,
            "Longest decode length of the pairs.",
            least=2,
            most=LONGEST,
        ),
    ] = 60,
    share: Annotated[list[Fraction] | None, option("--share P", read.share, _SHARES)] = None,
    workers: Annotated[
        int,
        option(
            "--workers N",
            read.whole_number,
            "Number of processes; more than the machine has cores are not used.",
            RUN,
            most=MOST_WORKERS,
        ),
    ] = 2,
    json_: Json = False,
) -> None:
    """Certified l0_min of every pair of decode lengths up to N, at several shares.

    Writes threshold_atlas.nc (NetCDF, for xarray) and threshold_atlas.csv, a row
    for each pair and share. Up to 60 at nine shares this takes minutes.

    [bold]fluidkv atlas --out atlas --longest 20[/bold]
    """
    pairs = longest * (longest - 1) // 2
    shares = share or []
    if len(set(shares)) < len(shares):
        raise InputError("--share", " ".join(map(str, shares)), "shares that all differ")

    from fluidkv.exact.mixed.thresholds.atlas import TENTHS, threshold_atlas

    with progress("certifying pairs") as line:
        found = threshold_atlas(
            longest,
            shares or TENTHS,
            workers=workers,
            on_progress=lambda done, total: line.count(done, total, "pairs"),
        )
    names = write(found, out)
    shares_of = int(found.sizes["share"])

    def say(page: Page) -> None:
        page.line(f"{pairs:,} pairs x {shares_of} shares")
        say_written(page, out, names)

    give(
        lambda: {"pairs": pairs, "shares": shares_of, "files": names},
        say,
        as_json=json_,
        time=None,
    )


def write(found: "xr.Dataset", folder: Path) -> list[str]:
    """Both files, together or not at all; their names."""
    files = {
        f"{NAME}.nc": bytes(found.to_netcdf(engine="scipy")),
        f"{NAME}.csv": _table(found).encode(),
    }
    try:
        write_together(folder, files)
    except OSError as error:
        raise refuse_folder(folder, error) from None
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
