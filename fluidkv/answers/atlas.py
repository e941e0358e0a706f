"""`fluidkv atlas`: certified thresholds of all pairs of decode lengths."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any

from fluidkv.errors import InputError
from fluidkv.keys import Key, Keyed
from fluidkv.plain import csv_text, with_exact
from fluidkv.questions.kinds import SHARE, Whole
from fluidkv.questions.options import RUN, Option
from fluidkv.questions.question import Question
from fluidkv.report.numbers import counted
from fluidkv.report.page import Page

if TYPE_CHECKING:
    import xarray as xr

_NAME = "threshold_atlas"
_LONGEST = Option(
    "--longest N",
    Whole(2, 200),  # the work grows like its fifth power, and is hours there
    "Longest decode length of the pairs.",
    None,
)
_SHARES = Option(
    "--share P",
    SHARE,
    r"Share of the shorter length; repeatable. \[default: 1/10, 2/10 ... 9/10]",
    None,
    many=True,
)
_WORKERS = Option(
    "--workers N",
    Whole(1, 256),
    "Number of processes; more than the machine has cores are not used.",
    RUN,
)


@dataclass(frozen=True, eq=False)
class Atlas(Keyed):
    """What `fluidkv atlas` reports.

    Fields:
        thresholds: from `fluidkv.threshold_atlas`.
    """

    thresholds: "xr.Dataset"

    KEYS = (
        Key("pairs", "count"),
        Key("shares", "count", "of the shorter length", lambda a: a.thresholds.sizes["share"]),
        Key(
            "needs_most",
            below=(
                ("input_length", "tokens", "that it needs"),
                ("decode_lengths[]", "tokens", "of that mix"),
                ("share_of_first", "share", "of its requests with the first length"),
            ),
        ),
    )

    def to_xarray(self) -> "xr.Dataset":
        """All of it."""
        return self.thresholds

    @property
    def pairs(self) -> int:
        """Pairs of decode lengths."""
        longest = self.thresholds.sizes["first"] + 1
        return longest * (longest - 1) // 2

    @property
    def needs_most(self) -> dict[str, Any] | None:
        """The mix that needs the longest inputs; None: no mix has a threshold."""
        least = self.thresholds.l0_min
        most = least.isel(least.argmax([*least.dims]))
        if most <= 0:
            return None
        lengths = [most[name].item() for name in ("first", "second")]
        share = Fraction(most["exact_share"].item())
        return {
            "input_length": int(most),
            "decode_lengths": lengths,
            **with_exact("share_of_first", share),
        }


def ask_atlas(
    longest: Annotated[int, _LONGEST] = 60,
    share: Annotated[Sequence[Fraction] | None, _SHARES] = None,
    workers: Annotated[int, _WORKERS] = 2,
    on_progress: Callable[[int, int], None] | None = None,
) -> Atlas:
    """Certified l0_min of every pair of decode lengths up to N, at several shares.

    Up to 60 at nine shares this takes minutes. --out has threshold_atlas.nc
    (NetCDF, for xarray) and threshold_atlas.csv, a row for each pair and share.
    """
    from fluidkv.exact.mixed.thresholds.atlas import TENTHS, threshold_atlas

    shares = share or TENTHS
    if len(set(shares)) < len(shares):
        raise InputError("--share", " ".join(map(str, shares)), "shares that all differ")
    return Atlas(threshold_atlas(longest, shares, workers=workers, on_progress=on_progress))


def say_atlas(page: Page, answer: Atlas) -> None:
    """How much there is, and the mix that needs the longest inputs."""
    values = answer.to_dict()
    page.line(f"{counted(values['pairs'], 'pair')} x {counted(values['shares'], 'share')}")
    if most := values["needs_most"]:
        first, second = most["decode_lengths"]
        share = most["share_of_first_exact"]
        mix = f"outputs {first} and {second}, {share} of the requests with {first}"
        page.paragraph(f"Longest inputs needed: {counted(most['input_length'], 'token')}, by {mix}")


def _files(answer: Atlas) -> dict[str, str | bytes]:
    header = ["first", "second", "share", *map(str, answer.thresholds)]
    return {
        f"{_NAME}.nc": bytes(answer.thresholds.to_netcdf(engine="scipy")),
        f"{_NAME}.csv": csv_text(header, _rows(answer.thresholds)),
    }


def _rows(thresholds: "xr.Dataset") -> Iterator[list[Any]]:
    """A row for each pair and share; no value where there is none."""
    from fluidkv.exact.mixed.thresholds.atlas import NO_PAIR, NO_THRESHOLD

    columns = thresholds.data_vars.values()
    words = [str(column.attrs.get("flag_meanings", "")).split() for column in columns]
    places = thresholds.stack(place=("first", "second", "share"))
    names = ("first", "second", "exact_share", *thresholds)
    for first, second, share, *values in zip(
        *(places[name].values.tolist() for name in names), strict=True
    ):
        if values[0] != NO_PAIR:
            cells = [
                None if value == NO_THRESHOLD else named[value] if named else value
                for value, named in zip(values, words, strict=True)
            ]
            yield [first, second, share, *cells]


ATLAS = Question(
    name="atlas",
    ask=ask_atlas,
    say=say_atlas,
    tables=_files,
    doing="certifying pairs",
    examples=("fluidkv atlas --out atlas --longest 20",),
    sweep=None,
)
