"""One request of CacheOPT, and how far it is."""

import math
from dataclasses import dataclass

from fluidkv.runs.records import RequestHistory
from fluidkv.serving.kernel.budget import decodes


@dataclass(eq=False)
class Request(RequestHistory):
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
    ttft_slo: float = math.inf
    outputs: int = 0  # tokens emitted and kept
    computed: int = 0  # tokens whose cache is in memory
    blocks: int = 0
    kept: int = 0  # tokens whose cache is in the host's memory; until it is back, it does not run
    ready_at: float = 0.0  # when its copy in is done
    highest: int = 0  # most tokens ever computed: what lies below is computed again
    is_new: bool = False  # it has emitted nothing since it was let in

    @property
    def length(self) -> int:
        """Tokens that must be in the cache before the next output comes."""
        return self.input_length + self.outputs

    @property
    def to_come(self) -> int:
        """s^o: outputs that it is still estimated to have; one more, once they are exceeded."""
        return max(self.estimated - self.outputs, 1)

    @property
    def demand(self) -> int:
        """M: prompt and estimated outputs, whose last one is never stored."""
        return self.length + self.to_come - 1

    @property
    def decoding(self) -> bool:
        """Only the token just emitted is missing from the cache."""
        return decodes(self.input_length, self.outputs, self.computed)

    def emit(self, now: float) -> bool:
        """One more output; whether it is new. What a restart emits again, its client has seen."""
        self.outputs += 1
        if self.computed <= self.highest:
            return False
        self.tell(now)
        return True
