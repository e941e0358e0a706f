"""Rows of attention weights as files have them: what is refused, and what may be rescaled."""

from dataclasses import dataclass, field

import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float

from fluidkv.errors import InputError
from fluidkv.tokenpd.attention.stored.report import Rescaled
from fluidkv.tokenpd.attention.weights import Attention

BFLOAT16 = np.dtype(jnp.bfloat16)
BFLOAT16_SUM = 2.0**-8
"""bfloat16 has 8 significant bits: a weight moves by a 2^-8 part at most, and so does a sum."""

Heads = Float[np.ndarray, "layer head query key"]


def as_floats(array: np.ndarray, name: str) -> np.ndarray:
    """The numbers in float32, in float64 where they have that or more.

    Raises:
        InputError: no floating-point numbers of at least 16 bits.
    """
    if array.dtype in (np.dtype(np.float16), BFLOAT16, np.dtype(np.float32)):
        return array.astype(np.float32, copy=False)
    if array.dtype.kind == "f":
        return array.astype(np.float64, copy=False)
    hint = ""
    if array.dtype.kind == "V" and array.dtype.itemsize == 2:
        hint = " (two bytes without a name: NumPy's files have no bfloat16, safetensors has)"
    allowed = f"floating-point weights in {name!r}{hint}"
    raise InputError("source", f"{array.dtype} numbers", allowed)


@dataclass
class RowChecks:
    """Checks the rows of one request after the other, and counts what it changed.

    Args:
        renormalise: whether rows that do not sum to one are divided by their sums.
    """

    renormalise: bool
    rows: int = 0
    off: float = 0.0
    _groups: dict[str, Rescaled] = field(default_factory=dict)

    @property
    def rescaled(self) -> tuple[Rescaled, ...]:
        """What was changed, in the order of the file."""
        return tuple(self._groups.values())

    def checked(self, weights: Heads, *, dtype: np.dtype, where: str) -> Heads:
        """The rows of one request, each with a sum of one.

        Args:
            dtype: of the file. where: the array and the request, as errors say it.

        Raises:
            InputError: a weight below 0, none, or on a later key; a sum that is not one.
        """
        if not np.isfinite(weights).all():
            raise _refused(weights, ~np.isfinite(weights), where, "numbers")
        if (weights < 0).any():
            raise _refused(weights, weights < 0, where, "at least 0")
        later = (weights != 0) & ~np.tri(weights.shape[-1], dtype=bool)
        if later.any():
            raise _refused(weights, later, where, "0 on keys after the query's own")
        return self._summing_to_one(weights, dtype, where)

    def _summing_to_one(self, weights: Heads, dtype: np.dtype, where: str) -> Heads:
        sums = weights.sum(-1, dtype=np.float64)
        off = np.abs(sums - 1)
        self.rows += sums.size
        self.off = max(self.off, float(off.max(initial=0)))
        wrong = off > Attention.SUM_TOLERANCE
        if not wrong.any():
            return weights
        rounded = wrong & (off <= BFLOAT16_SUM) & (dtype == BFLOAT16)
        others = wrong & ~rounded
        refused = others & (sums == 0) if self.renormalise else others
        if refused.any():
            at = _first(refused)
            raise InputError("weights", float(sums[at]), _one(self.renormalise, where, at))
        self._count("rows whose sum bfloat16 rounded", rounded, off, where)
        self._count("rows that do not sum to one", others, off, where)
        scale = np.where(wrong, sums, 1)[..., None]
        return (weights / scale).astype(weights.dtype)

    def _count(
        self, why: str, rows: Bool[np.ndarray, "*row"], off: Float[np.ndarray, "*row"], where: str
    ) -> None:
        if not rows.any():
            return
        most, number = float(off[rows].max()), int(rows.sum())
        group = self._groups.get(why) or Rescaled(why, 0, 0.0, _at(where, _first(rows)))
        self._groups[why] = Rescaled(why, group.rows + number, max(group.off, most), group.first)


def _one(renormalise: bool, where: str, at: tuple[int, ...]) -> str:
    if renormalise:
        return f"a sum above 0, to divide by ({_at(where, at)})"
    return f"a sum of 1 ({_at(where, at)}), or renormalise, which divides rows by their sums"


def _refused(
    weights: Heads, wrong: Bool[np.ndarray, "*row"], where: str, allowed: str
) -> InputError:
    at = _first(wrong)
    place = f"{_at(where, at[:-1])}, key {at[-1]}"
    return InputError("weights", float(weights[at]), f"{allowed} ({place})")


def _first(chosen: Bool[np.ndarray, "*any"]) -> tuple[int, ...]:
    return tuple(int(i) for i in np.argwhere(chosen)[0])


def _at(where: str, at: tuple[int, ...]) -> str:
    layer, head, query = at
    return f"{where}, layer {layer}, head {head}, query {query}"
