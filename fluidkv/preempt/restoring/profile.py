"""Measured times to bring caches of several lengths back."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from fluidkv.errors import InputError
from fluidkv.reading import csv_rows, reading
from fluidkv.record import Record
from fluidkv.runs.checks import floats


@dataclass(frozen=True, eq=False)
class LatencyProfile(Record):
    """Points of a profile, sorted by length.

    Times fall if a length, with the mean of its times, is faster than a shorter one by more than
    `noise` times the range of all means. The models here rise, and a profile that falls by more is
    of something else (another batch, a cold start), which no fit should average away.

    Args:
        lengths: tokens, above 0; a length may come several times.
        seconds: one time for each, above 0.
        noise: share of the range, in [0, 1].

    Raises:
        InputError: arrays of different sizes or with other numbers; times that fall.

    Examples:
        >>> from fluidkv.preempt.restoring.profile import LatencyProfile
        >>> LatencyProfile([4000, 1000], [0.42, 0.12]).lengths.tolist()
        [1000.0, 4000.0]
        >>> LatencyProfile([4000, 1000], [0.1, 0.4])
        Traceback (most recent call last):
            ...
        fluidkv.errors.InputError: seconds: got '0.1 s at 4000 tokens, 0.4 s at 1000'; allowed: ...
    """

    lengths: Float[np.ndarray, " point"]
    seconds: Float[np.ndarray, " point"]
    noise: float = 0.1

    def __init__(self, lengths: ArrayLike, seconds: ArrayLike, *, noise: float = 0.1) -> None:
        tokens = floats("lengths", lengths, "numbers of tokens")
        times = floats("seconds", seconds, "one time for each length")
        if tokens.ndim != 1 or tokens.shape != times.shape or not tokens.size:
            raise InputError("seconds", f"{times.size} times", f"one for {tokens.size} lengths")
        for name, column in (("lengths", tokens), ("seconds", times)):
            bad = ~(np.isfinite(column) & (column > 0))
            if bad.any():
                raise InputError(name, float(column[bad][0]), "finite numbers above 0")
        if not 0 <= noise <= 1:
            raise InputError("noise", noise, "a share in [0, 1]")
        order = np.argsort(tokens, kind="stable")
        object.__setattr__(self, "lengths", tokens[order])
        object.__setattr__(self, "seconds", times[order])
        object.__setattr__(self, "noise", float(noise))
        self._check_rises()

    def _check_rises(self) -> None:
        sizes = np.unique(self.lengths)
        means = np.array([self.seconds[self.lengths == size].mean() for size in sizes])
        falls = np.maximum.accumulate(means) - means
        worst = int(np.argmax(falls))
        if falls[worst] > self.noise * (means.max() - means.min()):
            before = int(np.argmax(means[: worst + 1]))
            found = (
                f"{means[worst]:.4g} s at {sizes[worst]:g} tokens, {means[before]:.4g} s at "
                f"{sizes[before]:g}"
            )
            allowed = f"times that fall by {self.noise:.0%} of their range at most"
            raise InputError("seconds", found, allowed)


def profile_from(
    path: str | Path, *, column: str = "seconds", noise: float = 0.1
) -> LatencyProfile:
    """A profile out of a CSV file with the column `length` and one of times; others are not read.

    Args:
        path: the file.
        column: the name of the times, seconds; a row without one is no point.
        noise: see `LatencyProfile`.

    Raises:
        InputError: no such file or columns, a cell that is no number; as `LatencyProfile`.

    Examples:
        >>> from fluidkv.preempt import profile_from
        >>> rows = [[1000, 0.12], [4000, 0.42]]
        >>> np.savetxt("swaps.csv", rows, delimiter=",", header="length,seconds", comments="")
        >>> profile_from("swaps.csv").seconds.tolist()
        [0.12, 0.42]
    """
    rows = []
    with reading(Path(path), "profile") as text:
        lines = csv_rows(text, Path(path), "profile")
        _, header = next(lines, (1, None))
        names = [cell.strip().lower() for cell in header or ()]
        wanted = f"a CSV with the columns length and {column}"
        if not {"length", column} <= set(names):
            raise InputError("profile", str(path), wanted)
        places = names.index("length"), names.index(column)
        for line, cells in lines:
            if cells and places[1] < len(cells) and not cells[places[1]].strip():
                continue
            rows.append([_number(cells, place, path, line) for place in places])
    if not rows:
        raise InputError("profile", str(path), f"{wanted}, and rows")
    lengths, seconds = np.array(rows).T
    return LatencyProfile(lengths, seconds, noise=noise)


def _number(cells: list[str] | None, place: int, path: str | Path, line: int) -> float:
    text = cells[place].strip() if cells and place < len(cells) else ""
    try:
        return float(text)
    except ValueError:
        allowed = f"numbers (line {line} has {text or 'none'})"
        raise InputError("profile", str(path), allowed) from None
