"""One request, and how far it is."""

import math
from dataclasses import dataclass

from fluidkv.serving.kernel.budget import decodes


@dataclass(eq=False)
class Request:
    """One request and how far it is. Times are the run's clock; None: not yet."""

    index: int
    input_length: int
    output_length: int
    max_output: int
    arrival: float
    priority: int = 0
    predicted: int = 0  # outputs that a predictor says
    estimated: int = 0  # outputs that memory is given for
    tbt_slo: float = math.inf
    outputs: int = 0  # tokens emitted and kept
    computed: int = 0  # tokens whose cache is in memory
    blocks: int = 0
    kept: int = 0  # tokens whose cache is in the host's memory; until it is back, it does not run
    ready_at: float = 0.0  # when its copy in is done
    highest: int = 0  # most tokens ever computed: what lies below is computed again
    evictions: int = 0
    hit_tokens: int = 0  # found in a prefix cache, at all admissions
    first_hit_tokens: int = 0  # of these, at the first admission
    admitted_at: float | None = None  # first admission
    first_token_at: float | None = None
    last_token_at: float | None = None
    longest_gap: float = 0.0  # between two tokens that its client sees
    halted: float = 0.0  # from evictions to the next new output
    halted_since: float | None = None
    finished: bool = False

    @property
    def length(self) -> int:
        """Tokens that must be in the cache before the next output comes."""
        return self.input_length + self.outputs

    def halt(self, now: float) -> None:
        """It is evicted. Another eviction before its next new output is of the same halt."""
        self.evictions += 1
        if self.halted_since is None:
            self.halted_since = now

    def go_on(self, now: float) -> None:
        """A new output ends a halt."""
        if self.halted_since is not None:
            self.halted += now - self.halted_since
            self.halted_since = None

    @property
    def decoding(self) -> bool:
        """Only the token just emitted is missing from the cache."""
        return decodes(self.input_length, self.outputs, self.computed)

    def emit(self, now: float) -> bool:
        """One more output; whether it is new. What a restart emits again, its client has seen."""
        self.outputs += 1
        if self.computed <= self.highest:
            return False
        if self.last_token_at is None:
            self.first_token_at = now
        else:
            self.longest_gap = max(self.longest_gap, now - self.last_token_at)
        self.last_token_at = now
        self.go_on(now)
        return True
