"""One request of the fast engine: while it decodes, how far it is follows from the iteration."""

from dataclasses import dataclass, field

GONE = -1
"""No iteration, or no name: nothing is expected of it."""


@dataclass(eq=False)
class Decodes:
    """The iterations so far: what requests that decode in all of them need to know.

    Args:
        now: the clock at the end of the last one.
        gaps: the end of each, from the end of the one before.
    """

    now: float = 0.0
    gaps: list[float] = field(default_factory=list)

    def ends(self, now: float, gap: float) -> None:
        self.now = now
        self.gaps.append(gap)


class FastRequest:
    """As `serving.progress.Request`.

    Attributes:
        since: the iteration from which on it decodes in each; GONE: it does not.
        due: when it is looked at; GONE: not at all.
        order: of its admission, among all admissions.
        held: its blocks, the first one first.
        names: of its full blocks, while they are needed.
    """

    __slots__ = (
        *("index", "input_length", "output_length", "arrival", "total", "decodes"),
        *("max_output", "priority", "predicted", "tbt_slo"),
        *("highest", "evictions", "hit_tokens", "first_hit_tokens", "admitted_at"),
        *("first_token_at", "finished", "since", "due", "order", "held", "names"),
        *("halted", "_outputs", "_computed", "_last", "_longest", "_halted_since"),
    )

    def __init__(
        self,
        index: int,
        input_length: int,
        output_length: int,
        arrival: float,
        decodes: Decodes,
        max_output: int,
        priority: int,
        predicted: int,
        tbt_slo: float,
    ) -> None:
        self.index, self.arrival, self.decodes = index, arrival, decodes
        self.max_output, self.priority = max_output, priority
        self.predicted, self.tbt_slo = predicted, tbt_slo
        self.input_length, self.output_length = input_length, output_length
        self.total = input_length + output_length - 1  # tokens computed when it is done
        self.highest = self.evictions = self.hit_tokens = self.first_hit_tokens = 0
        self.admitted_at: float | None = None
        self.first_token_at: float | None = None
        self.finished = False
        self.since = self.due = self.order = GONE
        self.held: list[int] = []
        self.names: list[int] = []
        self._outputs = self._computed = 0  # when its stretch of decodes began
        self._last: float | None = None
        self._longest = self.halted = 0.0
        self._halted_since: float | None = None

    # ------------------------------------------------------------------------------------ how far

    @property
    def _decoded(self) -> int:
        """Tokens of its stretch so far."""
        if self.since == GONE:
            return 0
        return max(0, len(self.decodes.gaps) - self.since)

    @property
    def outputs(self) -> int:
        """Tokens emitted and kept."""
        return self._outputs + self._decoded

    @property
    def computed(self) -> int:
        """Tokens whose cache is in memory."""
        return self._computed + self._decoded

    @property
    def blocks(self) -> int:
        return len(self.held)

    @property
    def length(self) -> int:
        """Tokens that must be in the cache before the next output comes."""
        return self.input_length + self.outputs

    @property
    def decoding(self) -> bool:
        """Only the token just emitted is missing from the cache."""
        return self.outputs > 0 and self.computed == self.length - 1

    @property
    def last_token_at(self) -> float | None:
        """None: not yet."""
        return self.decodes.now if self._decoded else self._last

    @property
    def longest_gap(self) -> float:
        """Between two tokens that its client sees."""
        if not self._decoded:
            return self._longest
        return max(self._longest, *self.decodes.gaps[self.since :])

    # --------------------------------------------------------------------------------- what it does

    def begin(self, found: list[int], tokens: int, now: float, order: int) -> None:
        """It is admitted with these blocks, which hold so many tokens of it."""
        self.held, self._computed, self.order = found, tokens, order
        self.hit_tokens += tokens
        if self.admitted_at is None:
            self.admitted_at, self.first_hit_tokens = now, tokens

    def compute(self, tokens: int) -> None:
        """Of its prefill."""
        self._computed += tokens
        self.highest = max(self.highest, self._computed)

    def emit(self, now: float) -> None:
        """The token that its prefill ends with."""
        self._outputs += 1
        if self._last is None:
            self.first_token_at = now
        else:
            self._longest = max(self._longest, now - self._last)
        self._last = now
        if self._halted_since is not None:
            self.halted += now - self._halted_since
            self._halted_since = None

    def settle(self, now: float) -> None:
        """Its stretch of decodes ends, `now`, at the end of the last iteration."""
        decoded = self._decoded
        if decoded:
            self._longest = self.longest_gap
            self._outputs += decoded
            self._computed += decoded
            self.highest = max(self.highest, self._computed)
            self._last = now
        self.since = GONE

    def lose(self, now: float) -> None:
        """It is preempted: what it had computed is no longer its own."""
        self.held, self._computed, self.due = [], 0, GONE
        self.evictions += 1
        if self._halted_since is None:
            self._halted_since = now

    def finish(self) -> None:
        self.held, self.names, self.finished = [], [], True
