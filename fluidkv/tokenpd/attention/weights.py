"""Attention weights of several streams over time: what policies are run on."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from fluidkv.errors import InputError
from fluidkv.record import Record


@dataclass(frozen=True)
class Attention(Record):
    """Who attends to whom, and when.

    A *stream* is what has keys of its own: a request, or one head of it. It starts in round `start`
    with its prompt, all rows of which are computed at once. In each round after, one more token is
    written, whose query attends to all keys so far and its own. Round `start + s`, s >= 1, computes
    row `prompt + s - 1`. After its last row the stream ends and its keys are free.

    Fields:
        weights: share of a query's attention that lies on a key; each row up to `length` sums to
            one over the keys up to its own.
        prompt: tokens of the prompt, at least 1. length: tokens at the end, the prompt included.
        start: round of the prompt. request: which request the stream belongs to.

    Raises:
        InputError: axes that do not fit; weights below 0, after their query, or that do not sum to
            one; a stream that ends before it starts.

    Examples:
        >>> from fluidkv.tokenpd.attention.weights import Attention
        >>> weights = np.array([[[1, 0, 0], [0.5, 0.5, 0], [0.2, 0.3, 0.5]]])
        >>> two, three, none = (np.array([each]) for each in (2, 3, 0))
        >>> attention = Attention(weights, prompt=two, length=three, start=none, request=none)
        >>> attention.rounds  # one for the prompt, one for the token after it
        2
    """

    weights: Float[np.ndarray, "stream query key"]
    prompt: Int[np.ndarray, " stream"]
    length: Int[np.ndarray, " stream"]
    start: Int[np.ndarray, " stream"]
    request: Int[np.ndarray, " stream"]

    SUM_TOLERANCE = 1e-3
    """How far a row's sum may lie from one: weights are often stored in 16 bits."""

    def __post_init__(self) -> None:
        shape = self.weights.shape
        if len(shape) != 3 or shape[1] != shape[2]:
            raise InputError("weights", shape, "the axes (stream, query, key), as many keys")
        for name in ("prompt", "length", "start", "request"):
            if getattr(self, name).shape != shape[:1]:
                raise InputError(
                    name, getattr(self, name).shape, f"one for each stream: {shape[0]}"
                )
        if not ((self.prompt >= 1) & (self.length <= shape[1])).all():
            raise InputError("prompt", self.prompt, f"at least 1, and lengths up to {shape[1]}")
        if not (self.length >= self.prompt).all():
            raise InputError("length", self.length, "no shorter than the prompt")
        if not (self.start >= 0).all():
            raise InputError("start", self.start, "rounds from 0 on")
        self._check_rows()

    def _check_rows(self) -> None:
        if not (self.weights >= 0).all():
            raise InputError("weights", "a weight below 0, or no number", "at least 0")
        if np.triu(self.weights, 1).any():
            raise InputError("weights", "a weight on a later key", "0 after the query's own key")
        rows = self.weights.sum(2, dtype=np.float64)
        inside = np.arange(rows.shape[1]) < self.length[:, None]
        off = inside & ~(np.abs(rows - 1) <= self.SUM_TOLERANCE)
        if off.any():
            stream, query = map(int, np.argwhere(off)[0])
            raise InputError(
                "weights", float(rows[stream, query]), f"a sum of 1 (stream {stream}, row {query})"
            )

    @property
    def rounds(self) -> int:
        """Rounds until the last stream has ended."""
        return int((self.start + self.length - self.prompt).max()) + 1
