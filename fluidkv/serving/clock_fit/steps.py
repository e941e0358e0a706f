"""The clock of an engine whose log has a row for so many decode steps, by least squares.

SGLang writes a line each 40 decode steps, with its time in whole seconds. Steps are counted, so
none has to be estimated; but a row lasts about as long as what its time is rounded by. So the times
themselves are fitted, not what lies between two of them: a row that ends at t, after n passes that
found K tokens in the cache each and P tokens of prefill, is accounted for by

    t = t0 + n d0 + (sum of K over the passes) d1 + P d2

with d0, d1 and d2 of at least 0. A prefill is a pass of its own: n are the decode steps and the
prefill passes.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from fluidkv.errors import InputError
from fluidkv.record import Record
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.clock_fit.line import NAMES, Half, in_half, least_squares

PerRow = Float[np.ndarray, " row"]

_FEWEST = 5  # rows: one more than there are unknowns


@dataclass(frozen=True, eq=False)
class StepRows:
    """What each row says; shapes (row,).

    Args:
        ends_s: when it ends; rising.
        passes: decode steps and prefill passes so far.
        kv_tokens: in the cache at its end.
        prefill_tokens: computed so far, what retracted requests computed again included.
        used: rows of which all this is known.
    """

    ends_s: PerRow
    passes: PerRow
    kv_tokens: PerRow
    prefill_tokens: PerRow
    used: np.ndarray

    @property
    def middle_s(self) -> float:
        """Half of the logged time: halfway from the start of the first row to the end of the last.

        The first row starts at 0, with the first request.
        """
        return float(self.ends_s[-1]) / 2


@dataclass(frozen=True, eq=False)
class StepFit(Record):
    """A clock fitted to rows, and how well it is known.

    Fields:
        clock: in seconds.
        standard_error: of base, per_kv_token and per_prefill_token, as if what is left over of rows
            were independent (it is not: they are the least that the errors can be); None for one
            that is 0 because it may not be negative, or that the rows do not show.
        covariance: of those three, shape (3, 3), 0 where there is no error.
        unseen: coefficients that the rows cannot tell from the others; they are 0 in `clock`.
        left_over_s: of the rows that were used, their time less what the clock says of it.
        kv_tokens: least and most in these rows. Outside, the clock extrapolates.
        dropped: rows of the window that were not used, by reason.
    """

    clock: IterationClock
    standard_error: tuple[float | None, float | None, float | None]
    covariance: Float[np.ndarray, "3 3"]
    unseen: tuple[str, ...]
    left_over_s: PerRow
    kv_tokens: tuple[float, float]
    dropped: tuple[tuple[str, int], ...]

    def __len__(self) -> int:
        """Rows that were used."""
        return self.left_over_s.size

    @property
    def rms_s(self) -> float:
        """Root mean square of `left_over_s`."""
        return float(np.sqrt((self.left_over_s**2).mean()))


UNKNOWN = "what its prefill passes computed is not logged"


def fit_steps(rows: StepRows, *, half: Half | None = None) -> StepFit:
    """Least squares with coefficients of at least 0, on the rows of a half, by time, or on all.

    Raises:
        InputError: fewer than 5 rows of which all is known; rows that say of no time that it was
            spent without prefill.
    """
    inside = in_half(rows.ends_s, rows.middle_s, half)
    used = inside & rows.used
    if used.sum() < _FEWEST:
        found = f"{int(used.sum())} of {int(inside.sum())} rows"
        raise InputError("rows", found, f"{_FEWEST} or more of which prefill is known")
    columns, times = _columns(rows)[used], rows.ends_s[used]
    # without their means, so that the time of the first row need not be known
    centred, after = columns - columns.mean(axis=0), times - times.mean()
    seen, values = least_squares(centred, after)
    if values[0] == 0:
        raise InputError("rows", f"{int(used.sum())} rows", "some that take time without prefill")
    covariance = _covariance(centred, after, values)
    errors = np.sqrt(np.diag(covariance))
    base, kv, prefill = (float(e) if v > 0 else None for v, e in zip(values, errors, strict=True))
    unknown = int((inside & ~rows.used).sum())
    return StepFit(
        clock=IterationClock(*(float(value) for value in values), unit="s"),
        standard_error=(base, kv, prefill),
        covariance=covariance,
        unseen=tuple(name for name, there in zip(NAMES, seen, strict=True) if not there),
        left_over_s=after - centred @ values,
        kv_tokens=(float(rows.kv_tokens[used].min()), float(rows.kv_tokens[used].max())),
        dropped=((UNKNOWN, unknown),) if unknown else (),
    )


def _columns(rows: StepRows) -> Float[np.ndarray, "row 3"]:
    """Passes, the tokens that they found in the cache, and prefill; all so far."""
    held = np.concatenate(([0.0], rows.kv_tokens))
    found = np.diff(rows.passes, prepend=0.0) * (held[1:] + held[:-1]) / 2
    return np.column_stack((rows.passes, np.cumsum(found), rows.prefill_tokens))


def _covariance(
    columns: np.ndarray, times: np.ndarray, values: np.ndarray
) -> Float[np.ndarray, "3 3"]:
    """That of least squares without bounds on the coefficients that are not 0."""
    free = values > 0
    scale = np.linalg.norm(columns[:, free], axis=0)
    scaled = columns[:, free] / scale
    left = times - columns @ values
    variance = float(left @ left) / (len(times) - int(free.sum()) - 1)
    found = np.zeros((3, 3))
    inverse = np.linalg.inv(scaled.T @ scaled)
    found[np.ix_(free, free)] = variance * inverse / np.outer(scale, scale)
    return found
