"""How long an iteration lasts: tau = d0 + d1 (KV tokens) + d2 (prefill tokens) + d3 (their pairs).

Source: WAIT, section 2 (d0 and d1); d2 is ours, for the prompts and what is computed again, and d3
is for their attention, which looks back: S tokens in a row cost d2 S + d3 S (S + 1) / 2, which is
the recomputation of CacheOPT, section 2.5.

Two terms more are those of named clocks: d4 for each request that decodes, whose token is
multiplied and sampled, and d5 for the experts that are read. Each of T tokens goes through a share
a of them, so that T tokens read 1 - (1 - a)^T of all where they choose at random.
"""

import sys
from dataclasses import dataclass, field, replace
from typing import Literal

from fluidkv.errors import InputError
from fluidkv.record import Record

_SECONDS = (
    "base",
    "per_kv_token",
    "per_prefill_token",
    "per_prefill_pair",
    "per_request",
    "experts",
)


@dataclass(frozen=True)
class IterationClock(Record):
    """Duration of one iteration.

    Args:
        base: d0, above 0.
        per_kv_token: d1, at least 0: for each token in the cache at the end of the iteration.
        per_prefill_token: d2, at least 0: for each token computed for a request that is not
            decoding: prompts, and what an eviction lost.
        unit: of all of them, "s" or "iteration".
        per_prefill_pair: d3, at least 0: for each pair of such a token and a token of its request
            that does not come after it: itself, and those before it, computed now or earlier.
        per_request: d4, at least 0: for each request that decodes.
        experts: d5, at least 0: for reading all experts of a mixture.
        expert_share: a, in (0, 1]: of the experts that one token goes through.
        name: what it is known as, which does not count where clocks are compared; "": no name.

    Raises:
        InputError: a number outside of what is said here.

    Examples:
        >>> clock = fk.IterationClock(0.01, per_kv_token=1e-6, per_prefill_token=1e-4)
        >>> round(clock.duration(kv_tokens=5000, prefill_tokens=100), 6)
        0.025
        >>> clock.prefills, fk.IterationClock.iterations().duration(5000, 100)
        (True, 1.0)
    """

    base: float
    per_kv_token: float = 0.0
    per_prefill_token: float = 0.0
    unit: Literal["iteration", "s"] = "s"
    per_prefill_pair: float = 0.0
    per_request: float = 0.0
    experts: float = 0.0
    expert_share: float = 1.0
    name: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        for name in _SECONDS:
            value, least = getattr(self, name), "above 0" if name == "base" else ""
            fine = isinstance(value, int | float) and 0 <= value <= sys.float_info.max
            fine = fine and not isinstance(value, bool)
            if not fine or (least and value == 0):
                raise InputError(name, value, f"a finite number {least or 'of at least 0'}")
            object.__setattr__(self, name, float(value))
        if not 0 < self.expert_share <= 1:
            raise InputError("expert_share", self.expert_share, "a share in (0, 1]")
        if self.unit not in ("iteration", "s"):
            raise InputError("unit", self.unit, "'iteration' or 's'")

    @classmethod
    def iterations(cls) -> "IterationClock":
        """The clock of the theory: every iteration lasts 1."""
        return cls(1.0, unit="iteration")

    def duration(
        self,
        kv_tokens: float,
        prefill_tokens: float,
        prefill_pairs: float = 0,
        decoding: float = 0,
    ) -> float:
        """tau of one iteration, in `unit`. `pairs` counts the pairs of a piece of prefill.

        Args:
            decoding: requests that decode.
        """
        kv, prefill = self.per_kv_token * kv_tokens, self.per_prefill_token * prefill_tokens
        lasts = ((self.base + kv) + prefill) + self.per_prefill_pair * prefill_pairs
        besides = self.per_request * decoding
        if self.experts > 0:
            unread = (1 - self.expert_share) ** (prefill_tokens + decoding)
            besides += self.experts * (1 - unread)
        return lasts + besides

    def slower(self, by: float) -> "IterationClock":
        """A clock on which every iteration lasts longer by a share.

        >>> fk.IterationClock(0.01, 1e-6).slower(0.5).durations
        (0.015, 1.5e-06, 0.0, 0.0)
        """
        return replace(self, **{name: getattr(self, name) * (1 + by) for name in _SECONDS})

    @property
    def durations(self) -> tuple[float, float, float, float]:
        """d0, d1, d2, d3."""
        return self.base, self.per_kv_token, self.per_prefill_token, self.per_prefill_pair

    @property
    def batch_durations(self) -> tuple[float, float, float]:
        """d4, d5, a: what the requests of a batch cost, and its experts."""
        return self.per_request, self.experts, self.expert_share

    @property
    def by_tokens_alone(self) -> bool:
        """No term of pairs, requests or experts: d0, d1 and d2 are all."""
        return not (self.per_prefill_pair or self.per_request or self.experts)

    @property
    def jumps(self) -> bool:
        """An idle engine waits for the next request; on the theory's clock, an iteration passes."""
        return self.unit == "s"

    @property
    def prefills(self) -> bool:
        """Whether a token of prefill takes time. If not, no time to first token can be said."""
        return self.per_prefill_token > 0 or self.per_prefill_pair > 0


FREE_PREFILL = (
    "prefill takes no time on this clock, so that it says no time to first token: give --clock "
    "D0:D1:D2, or a clock with prefill (fluidkv clocks lists them)"
)
"""What every command says of a clock on which prefill is free.

>>> from fluidkv.serving.clock import FREE_PREFILL, require_prefill
>>> FREE_PREFILL.partition(":")[0]
'prefill takes no time on this clock, so that it says no time to first token'
>>> try:
...     require_prefill(fk.IterationClock(0.01), "--slo", "ttft_p99=2s")
... except fk.InputError as error:
...     error.allowed.endswith(FREE_PREFILL)
...
True
"""


def require_prefill(clock: IterationClock, argument: str, asked: object) -> None:
    """Refuse to speak of first tokens on a clock that cannot say when they come.

    Args:
        argument, asked: what the user gave that needs it, such as "--slo" and "ttft_p99=2s".

    Raises:
        InputError: prefill is free on this clock.

    Examples:
        >>> from fluidkv.serving.clock import require_prefill
        >>> require_prefill(fk.IterationClock(0.01, per_prefill_token=1e-4), "--slo", "ttft_p99=2s")
        >>> try:
        ...     require_prefill(fk.IterationClock(0.01), "--slo", "ttft_p99=2s")
        ... except fk.InputError as error:
        ...     error.value, error.allowed[:43]
        ...
        ('ttft_p99=2s', 'another metric; prefill takes no time on th')
    """
    if not clock.prefills:
        raise InputError(argument, asked, f"another metric; {FREE_PREFILL}")


VIDUR_LLAMA3_8B_A100 = IterationClock(9.93e-3, 1.656e-7, name="vidur-llama3-8b-a100")
"""A line through Vidur's profiled decode batches of up to 512 requests (R^2 0.982): Llama-3-8B on
one A100. It says nothing of prefill, which is free here, and nothing of larger batches.

>>> from fluidkv.serving.clock import VIDUR_LLAMA3_8B_A100
>>> round(VIDUR_LLAMA3_8B_A100.duration(kv_tokens=100_000, prefill_tokens=0), 4)
0.0265
>>> VIDUR_LLAMA3_8B_A100.prefills
False
"""
