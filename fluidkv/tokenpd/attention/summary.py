"""What a source of attention is like, in a few numbers and sentences."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from fluidkv.record import Record
from fluidkv.tokenpd.attention.weights import Attention

SINKS, WINDOW = 4, 64


@dataclass(frozen=True)
class AttentionSummary(Record):
    """Of the rows of generated tokens, and of the prompt's last row; means over rows first.

    Fields:
        streams, requests: how many; a request has several streams where heads keep their own keys.
        rounds: until the last stream has ended. most_at_once: tokens of all streams in the round
            in which they are most: the budget from which on nothing is ever evicted.
        effective_keys: exp of a row's entropy: as many equal weights have that entropy.
        least_effective, most_effective: of a stream, the 10 and 90 % quantiles over streams.
        on_sinks: share of a row on the first 4 tokens. on_window: on the last 64, the query's own
            included.
        gini: of the weight that a stream's tokens have per row in which they could have it; 0 if
            all have the same, towards 1 if one has all.
        persistence: Spearman's rank correlation between what keys had in the first half of the rows
            and in the second, over keys of the prompt; NaN where no stream has two generated tokens
            and two keys that differ.

    Examples:
        >>> from fluidkv.tokenpd import Structure, describe, generated
        >>> summary = describe(generated(Structure(), seed=0, requests=2, prompt=8, length=8))
        >>> round(summary.effective_keys, 3), summary.on_sinks  # 8 equal keys, 4 of them sinks
        (8.0, 0.5)
    """

    streams: int
    requests: int
    rounds: int
    most_at_once: int
    effective_keys: float
    least_effective: float
    most_effective: float
    on_sinks: float
    on_window: float
    gini: float
    persistence: float

    def sentences(self) -> tuple[str, ...]:
        """The numbers in words."""
        return (
            f"{self.streams:,} streams of {self.requests:,} requests over {self.rounds:,} rounds; "
            f"at most {self.most_at_once:,} tokens at once.",
            f"A row weighs as {self.effective_keys:.0f} equal keys would; from stream to stream "
            f"{self.least_effective:.0f} to {self.most_effective:.0f} (10 and 90 %).",
            f"{self.on_sinks:.0%} of a row is on the first {SINKS} tokens, {self.on_window:.0%} on "
            f"the last {WINDOW}.",
            f"The weight of tokens has a Gini coefficient of {self.gini:.2f}; "
            + (
                "there are too few rows to say whether important tokens stay so."
                if np.isnan(self.persistence)
                else "between the first and the second half of the rows, the ranks of prompt "
                f"tokens correlate by {self.persistence:.2f}."
            ),
        )


def describe(attention: Attention) -> AttentionSummary:
    """What attention is like: how concentrated, where it lies, and whether that lasts.

    Examples:
        >>> from fluidkv.tokenpd import describe, generated, generators
        >>> names = ("sinks", "heavy-hitters")
        >>> found = [describe(generated(generators()[name], 0, requests=2)) for name in names]
        >>> [round(each.on_sinks, 2) for each in found]
        [0.6, 0.01]
    """
    each = [_stream(attention, at) for at in range(len(attention.length))]
    effective, sinks, window, gini, persistence = np.array(each).T
    known = ~np.isnan(persistence)
    least, most = np.quantile(effective, (0.1, 0.9)).tolist()
    return AttentionSummary(
        streams=len(each),
        requests=len(np.unique(attention.request)),
        rounds=attention.rounds,
        most_at_once=_most_at_once(attention),
        effective_keys=float(effective.mean()),
        least_effective=least,
        most_effective=most,
        on_sinks=float(sinks.mean()),
        on_window=float(window.mean()),
        gini=float(gini.mean()),
        persistence=float(persistence[known].mean()) if known.any() else float("nan"),
    )


def _most_at_once(attention: Attention) -> int:
    last = attention.start + attention.length - attention.prompt
    # Tokens only grow while streams run, so the most there are is where one has its last round.
    return max(
        int(
            (attention.prompt + when - attention.start)[
                (attention.start <= when) & (when <= last)
            ].sum()
        )
        for when in np.unique(last).tolist()
    )


def _stream(attention: Attention, at: int) -> tuple[float, float, float, float, float]:
    prompt, length = int(attention.prompt[at]), int(attention.length[at])
    rows = attention.weights[at, prompt - 1 : length, :length].astype(np.float64)
    logs = np.log(np.where(rows > 0, rows, 1))
    query, key = np.arange(prompt - 1, length)[:, None], np.arange(length)
    could = (key <= query).sum(0)
    half = len(rows) // 2
    halves = rows[:half, :prompt].sum(0), rows[half:, :prompt].sum(0)
    return (
        float(np.exp(-(rows * logs).sum(1)).mean()),
        float(rows[:, :SINKS].sum(1).mean()),
        float(_where(rows, key > query - WINDOW).sum(1).mean()),
        _gini(rows.sum(0) / could),
        _rank_correlation(*halves) if half else float("nan"),
    )


def _where(
    rows: Float[np.ndarray, "query key"], chosen: Bool[np.ndarray, "query key"]
) -> Float[np.ndarray, "query key"]:
    return np.where(chosen, rows, 0)


def _gini(values: Float[np.ndarray, " token"]) -> float:
    """Half the mean difference between two, over the mean."""
    ordered, count = np.sort(values), len(values)
    ranks = np.arange(1, count + 1)
    return float(((2 * ranks - count - 1) * ordered).sum() / (count * ordered.sum()))


def _rank_correlation(one: Float[np.ndarray, " key"], two: Float[np.ndarray, " key"]) -> float:
    """Spearman's; NaN where all are alike."""
    from scipy.stats import rankdata

    ranks = [rankdata(values) for values in (one, two)]
    if any(np.ptp(rank) == 0 for rank in ranks):
        return float("nan")
    return float(np.corrcoef(*ranks)[0, 1])
