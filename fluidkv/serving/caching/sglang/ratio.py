"""The share of what may still be emitted that SGLang reserves: the new-token ratio.

In floats, in the order of the source: whether somebody is admitted may hang on the last bit.
"""

from collections.abc import Collection
from dataclasses import dataclass, field

from fluidkv.serving.caching.sglang.state import Request
from fluidkv.serving.sglang_settings import (
    DECAY_STEPS,
    FIRST_RATIO,
    LEAST_SHARE,
    RETRACT_STEPS,
)


@dataclass
class NewTokens:
    """The ratio; it starts at `first`, and again when the server was idle."""

    conservativeness: float
    now: float = field(init=False)

    def __post_init__(self) -> None:
        self.first = min(FIRST_RATIO * self.conservativeness, 1.0)
        self.least = min(self.first * LEAST_SHARE, 1.0)
        self.step = (self.first - self.least) / DECAY_STEPS
        self.now = self.first

    def sink(self) -> None:
        """One decode pass without a retraction."""
        self.now = max(self.now - self.step, self.least)

    def estimate(self, left: Collection[Request]) -> None:
        """After a retraction: what those who stay have emitted, of what they may."""
        emitted = sum(request.outputs for request in left)
        asked = sum(request.max_output for request in left)
        self.now = min(1.0, (emitted + RETRACT_STEPS * len(left)) / (asked + 1))

    def reset(self) -> None:
        self.now = self.first
