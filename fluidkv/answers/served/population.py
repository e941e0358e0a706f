"""Other days of a trace: its requests drawn again, and arrivals by the process that its times show.

A log is one draw. What the next day brings has other requests in another order, and other chance in
when they come; a log of few requests also leaves open how long the others are. So a draw first
weighs the conversations of the trace anew (Rubin 1981, the Bayesian bootstrap), and then takes
whole conversations by these weights: lengths keep their correlations, and prompts what they share.
"""

from collections import Counter
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float, Int

from fluidkv.errors import InputError
from fluidkv.record import Record
from fluidkv.runs.checks import above_0, count
from fluidkv.traces import Trace
from fluidkv.workload import Workload

_WINDOW = 10  # arrivals in a window, about, in which bursts are looked for
_LEAST = 6  # windows, with fewer of which nothing but Poisson is told
_TENTHS = 10
_SHARED = ("prefix_blocks", "prefix_block_size", "prompt_segments", "output_segments")
_WEIGHTS = 7  # beside seeds of what is drawn by them
_PARTS = 2**40  # of a whole, in which weights are counted
_LEVEL = 0.01  # at which Poisson, and one rate throughout, are given up


@dataclass(frozen=True, eq=False)
class Arrivals(Record):
    """How the conversations of a trace begin.

    Fields:
        kind: "poisson", "bursty" (gamma distributed gaps), or "at once".
        rate: conversations a second; infinite where all come at once.
        dispersion: of counts, variance over mean, as the log has it: about 1 of Poisson arrivals.
        pairs: of windows, that it was taken from; a draw has a dispersion as uncertain as that.
        profile: rate in each tenth of the time, in parts of the mean; None: one rate throughout.
        starts: conversations that it was taken from.
    """

    kind: str
    rate: float
    dispersion: float
    pairs: int
    profile: Float[np.ndarray, " tenth"] | None
    starts: int

    @classmethod
    def of(cls, times: Float[np.ndarray, " start"]) -> "Arrivals":
        """What times of arrival show, in order.

        Neighbouring windows of about 10 arrivals are compared, so that a rate that changes slowly
        is no burst; tenths of the time by the dispersion of these.

        Examples:
            >>> from fluidkv.answers.served.population import Arrivals
            >>> regular = Arrivals.of(np.arange(1000.0))
            >>> regular.kind, regular.rate, regular.profile
            ('bursty', 1.0, None)
        """
        size, span = len(times), float(times[-1] - times[0])
        if span <= 0:
            return cls("at once", np.inf, 1.0, 0, None, size)
        rate, dispersion, known = (size - 1) / span, 1.0, 0
        kind = "poisson"
        if size >= _WINDOW * _LEAST:
            pairs = _counts(times, 2 * (size // _WINDOW // 2)).reshape(-1, 2)
            pairs = pairs[pairs.sum(axis=1) > 0]
            local = float(((pairs[:, 0] - pairs[:, 1]) ** 2 / pairs.sum(axis=1)).mean())
            dispersion, known = max(local, 0.01), len(pairs)
            if not _usual(local * known, known):
                kind = "bursty"
        tenths = _counts(times, _TENTHS)
        uneven = ((tenths - tenths.mean()) ** 2).sum() / tenths.mean() / max(dispersion, 1.0)
        changes = size >= _WINDOW * _LEAST and not _usual(uneven, _TENTHS - 1, both=False)
        return cls(kind, rate, dispersion, known, tenths / tenths.mean() if changes else None, size)

    def __str__(self) -> str:
        """In words."""
        said = {"poisson": "Poisson", "at once": "all at once"}.get(self.kind)
        said = said or f"gaps gamma distributed, dispersion {self.dispersion:.2g}"
        return said + (", tenths as busy as in the log" if self.profile is not None else "")

    def times(
        self, size: int, rng: np.random.Generator, *, rate: float, chance: bool = False
    ) -> Float[np.ndarray, " start"]:
        """So many beginnings, in order.

        Args:
            size: how many.
            rng: draws them.
            rate: conversations a second.
            chance: whether the rate itself is known no better than the trace tells it.
        """
        if self.kind == "at once":
            return np.zeros(size)
        dispersion = self.dispersion
        if self.pairs:  # a sum of squares over chi square, with as many degrees
            dispersion *= self.pairs / rng.chisquare(self.pairs)
        shape = 1 / dispersion
        if chance:
            rate *= rng.gamma(self.starts * shape) / (self.starts * shape)
        points = np.cumsum(rng.gamma(shape, dispersion, size))
        if self.profile is None:
            return points / rate
        edges = np.concatenate(([0.0], np.cumsum(self.profile) / _TENTHS)) * size
        points *= size / points[-1]  # as many in each tenth, but for chance
        return np.interp(points, edges, np.linspace(0, size / rate, _TENTHS + 1))


def lengths_anew(trace: Trace, seed: int) -> Workload:
    """Lengths of a trace, each request weighed anew: what there is to draw where it has no times.

    Examples:
        >>> from fluidkv.answers.served.population import lengths_anew
        >>> mix = lengths_anew(fk.Trace((10, 20), (1, 2)), seed=0)
        >>> [(c.input_length, round(float(c.share), 2)) for c in mix.classes]
        [(10, 0.02), (20, 0.98)]
    """
    weights = np.random.default_rng((seed, _WEIGHTS)).dirichlet(np.ones(len(trace)))
    parts = Counter[tuple[int, int]]()
    lengths = zip(trace.input_lengths, trace.decode_lengths, strict=True)
    for pair, weight in zip(lengths, weights.tolist(), strict=True):
        parts[pair] += 1 + round(weight * _PARTS)
    return Workload.from_counts(parts, name=trace.name)


def _counts(times: np.ndarray, windows: int) -> np.ndarray:
    return np.histogram(times, bins=windows)[0].astype(float)


def _usual(squares: float, degrees: int, *, both: bool = True) -> bool:
    """Whether chance makes such a sum of squares, of Poisson counts."""
    from scipy.special import chdtri  # of the upper tail; only who draws waits for it to load

    low, high = (1 - _LEVEL / 2, _LEVEL / 2) if both else (1.0, _LEVEL)
    return bool(chdtri(degrees, low) <= squares <= chdtri(degrees, high))


@dataclass(frozen=True, eq=False)
class Population(Record):
    """What a trace is a sample of, and other samples of it.

    Fields:
        trace: the log.
        conversations: rows of each, in order: a request continues the one whose prompt and answer
            its own prompt begins with.
        arrivals: how conversations begin.
    """

    trace: Trace
    conversations: tuple[Int[np.ndarray, " row"], ...]
    arrivals: Arrivals

    @classmethod
    def of(cls, trace: Trace) -> "Population":
        """The conversations and arrivals of a trace.

        Raises:
            InputError: a trace without times.
        """
        if trace.arrival_times_s is None:
            raise InputError("source", trace.name or "a trace", "requests with times of arrival")
        order = np.argsort(np.array(trace.arrival_times_s), kind="stable")
        conversations = _conversations(trace, order)
        times = np.array(trace.arrival_times_s)
        starts = np.sort([times[rows[0]] for rows in conversations])
        return cls(trace, conversations, Arrivals.of(starts))

    def draw(
        self, requests: int, *, seed: object, rate: float | None = None, shares: bool = True
    ) -> Trace:
        """Another day: at least so many requests, in whole conversations.

        Args:
            requests: how many, at least.
            seed: of `numpy.random.default_rng`.
            rate: requests a second, just so; None: the trace's own, known no better than a trace of
                this length tells it.
            shares: whether it says what prompts share, as the trace does.

        Examples:
            >>> from fluidkv.answers.served.population import Population
            >>> log = fk.Trace((10, 20, 30), (1, 2, 3), (0.0, 0.4, 2.0))
            >>> day = Population.of(log).draw(1000, seed=0)
            >>> len(day), sorted(set(zip(day.input_lengths, day.decode_lengths)))
            (1000, [(10, 1), (20, 2), (30, 3)])
        """
        rows, copies, times = self.rows(requests, seed=seed, rate=rate)
        trace, columns = self.trace, {}
        each, at = rows.tolist(), (times - times[0]).tolist()
        for name in ("input_lengths", "decode_lengths", "max_tokens"):
            values = getattr(trace, name)
            columns[name] = values and tuple(values[row] for row in each)
        if trace.shares_prefixes:
            columns |= self._said(each, copies.tolist()) if shares else dict.fromkeys(_SHARED)
        return replace(trace, arrival_times_s=tuple(at), **columns)

    def rows(
        self, requests: int, *, seed: object, rate: float | None = None
    ) -> tuple[
        Int[np.ndarray, " request"], Int[np.ndarray, " request"], Float[np.ndarray, " request"]
    ]:
        """The same draw as rows of the trace, which copy of a conversation each is of, and times.

        In order of their times.
        """
        rng = np.random.default_rng(seed)  # pyright: ignore[reportArgumentType]
        count("requests", requests)
        sizes = np.array([len(rows) for rows in self.conversations])
        weights = rng.dirichlet(np.ones(len(sizes)))
        picks = rng.choice(len(sizes), requests, p=weights)
        picks = picks[: int(np.searchsorted(np.cumsum(sizes[picks]), requests)) + 1]
        # Conversations of the log's mean size: a draw of longer ones is more load.
        own = self.arrivals.rate
        speed = 1.0 if rate is None else above_0("rate", rate) * len(sizes) / sizes.sum() / own
        starts = self.arrivals.times(len(picks), rng, rate=own * speed, chance=rate is None)
        rows, copies = _joined(self.conversations, sizes, picks)
        at = np.array(self.trace.arrival_times_s)
        first = np.concatenate(([0], np.cumsum(sizes[picks])[:-1]))
        times = starts[copies] + (at[rows] - at[rows[first]][copies]) / speed
        if span := float(starts[-1]) * len(starts) / max(1, len(starts) - 1):
            # What comes after the end stands at the start, of conversations that are under way.
            laps = np.floor(times / span).astype(int)
            times, copies = times - laps * span, copies + laps * len(picks)
        order = np.argsort(times, kind="stable")
        return rows[order], copies[order], times[order]

    def _said(self, rows: list[int], copies: list[int]) -> dict[str, object]:
        """Ids of blocks or segments: new ones for a copy, of what no other conversation says."""
        trace = self.trace
        of = {row: place for place, each in enumerate(self.conversations) for row in each.tolist()}
        owner: dict[int, int] = {}
        for row, place in of.items():
            for each in _ids(trace, row):
                owner[each] = place if owner.get(each, place) == place else -1
        names: dict[tuple[int, int], int] = {}
        fresh = max(owner, default=0) + 1

        def named(each: int, copy: int) -> int:
            if owner[each] < 0:
                return each
            return names.setdefault((each, copy), fresh + len(names))

        if trace.prefix_blocks is not None:
            blocks = trace.prefix_blocks
            return {
                "prefix_blocks": tuple(
                    tuple(named(each, copy) for each in blocks[row])
                    for row, copy in zip(rows, copies, strict=True)
                )
            }
        assert trace.prompt_segments is not None  # it shares prefixes
        assert trace.output_segments is not None
        prompts, outputs = trace.prompt_segments, trace.output_segments
        both = list(zip(rows, copies, strict=True))
        return {
            "prompt_segments": tuple(
                tuple((named(each, copy), size) for each, size in prompts[row])
                for row, copy in both
            ),
            "output_segments": tuple(
                None if outputs[row] is None else named(outputs[row] or 0, copy)
                for row, copy in both
            ),
        }


def _joined(
    conversations: tuple[np.ndarray, ...], sizes: np.ndarray, picks: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Rows of conversations that were drawn, one after the other, and which draw each is of."""
    flat, ends = np.concatenate(conversations), np.cumsum(sizes)
    drawn = sizes[picks]
    copies = np.repeat(np.arange(len(picks)), drawn)
    within = np.arange(len(copies)) - np.repeat(np.cumsum(drawn) - drawn, drawn)
    return flat[np.repeat(ends[picks] - drawn, drawn) + within], copies


def _ids(trace: Trace, row: int) -> list[int]:
    if trace.prefix_blocks is not None:
        return list(trace.prefix_blocks[row])
    assert trace.prompt_segments is not None  # one of the two, of what shares prefixes
    assert trace.output_segments is not None
    answer = trace.output_segments[row]
    return [each for each, _ in trace.prompt_segments[row]] + ([] if answer is None else [answer])


def _conversations(trace: Trace, order: np.ndarray) -> tuple[np.ndarray, ...]:
    """Rows that continue one another, each conversation in order of time.

    A request continues the last one before it whose answer is in its prompt; of blocks, the one of
    which all full blocks are, if no other has continued that.
    """
    if not trace.shares_prefixes:
        return tuple(order[:, None])
    found: list[list[int]] = []
    place: dict[int, int] = {}  # what a next turn would repeat -> the conversation
    for row in order.tolist():
        ids = _ids(trace, row)
        blocks = trace.prefix_blocks is not None
        before = next((place.pop(each) for each in reversed(ids) if each in place), None)
        if before is None:
            before = len(found)
            found.append([])
        found[before].append(row)
        last = _repeated(trace, row) if blocks else trace.output_segments[row]  # pyright: ignore
        if last is not None:
            place[last] = before
    return tuple(np.array(rows) for rows in found)


def _repeated(trace: Trace, row: int) -> int | None:
    """The last block that a prompt fills."""
    assert trace.prefix_blocks is not None
    assert trace.prefix_block_size is not None
    full = trace.input_lengths[row] // trace.prefix_block_size
    ids = trace.prefix_blocks[row][:full]
    return ids[-1] if ids else None
