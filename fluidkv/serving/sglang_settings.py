"""What an operator sets on an SGLang server, as far as its scheduler looks at it."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np

from fluidkv.errors import InputError
from fluidkv.prefix.policies import Policy
from fluidkv.prefix.radix.values import POLICIES
from fluidkv.record import Record
from fluidkv.runs.checks import count, real
from fluidkv.serving.limits import UNLIMITED, Limits

Tokens = TypeVar("Tokens", int, np.ndarray)

FIRST_RATIO, LEAST_SHARE, DECAY_STEPS = 0.7, 0.14, 600
"""The new-token ratio starts at 0.7 conservativeness, and sinks to 0.14 of that in 600 passes."""

RETRACT_STEPS = 20
"""Passes that a retraction makes room for, of each request that stays."""

TOUCHED, TOUCH_EVERY = 128, 32
"""Waiting requests whose prefixes are touched, and at which attempt to admit."""

RETRACTIONS: Mapping[str, str] = MappingProxyType(
    {
        "length": "fewest outputs; of these the longest prompt",
        "priority": "least urgent; of these as by length",
    }
)
"""Who is retracted first, as `--retraction-policy` says it; of equals the last in the batch.

Source: sglang, pull request 30573. By priority the order is the source's only: no record has it.
"""


@dataclass(frozen=True)
class SglangSettings(Record):
    """One server's options. First come, first served; one model on one worker.

    Args:
        capacity: KV tokens; what does not fill a page is not used.
        page_size: tokens of a page.
        radix: whether there is a prefix tree.
        conservativeness: above 0, of the reservation for those who run.
        chunked_prefill_size: most prompt tokens of a pass; None: prompts are not cut.
        mixed_chunk: decodes run beside prefills, where prompts are cut.
        max_prefill_tokens: of a pass; its first prompt may be longer where prompts are not cut.
        max_running: most requests at once.
        eviction: the tree's policy, one of `prefix.radix.values.POLICIES`, or its name.
        overlap: a pass is scheduled before the tokens of the pass before are known: the server's
            default.
        ignore_eos: clients ask for exactly their outputs.
        in_full: these are reserved in full, as since 0.5.22; else by the ratio, as all others are.
        clip: tokens; what a request may still emit counts as at most this many.
        priority_scheduling: whoever waits stands in the order of priority, then as they came, and
            nobody who runs goes for it: the server's `--enable-priority-scheduling` together with
            `--schedule-low-priority-values-first` and `--disable-priority-preemption`.
        retraction: who goes first, one of `RETRACTIONS`; "priority" with `priority_scheduling`.

    Raises:
        InputError: a number outside of what is said here; a chunk below a page; another order of
            retraction.

    Examples:
        >>> from fluidkv.serving import SglangSettings
        >>> settings = SglangSettings(1000, page_size=16, chunked_prefill_size=256)
        >>> settings.pages, settings.in_pages(17), settings.mixed
        (62, 32, False)
        >>> SglangSettings.of(fk.Limits(1000, max_num_seqs=8), mixed_chunk=True).max_running
        8
    """

    capacity: int
    page_size: int = 1
    radix: bool = True
    conservativeness: float = 1.0
    chunked_prefill_size: int | None = None
    mixed_chunk: bool = False
    max_prefill_tokens: int = 16384
    max_running: int = 4096
    eviction: Policy | str = Policy.LRU
    overlap: bool = True
    ignore_eos: bool = False
    in_full: bool = True
    clip: int = 4096
    priority_scheduling: bool = False
    retraction: str = "length"

    def __post_init__(self) -> None:
        for name in ("capacity", "page_size", "max_prefill_tokens", "max_running", "clip"):
            object.__setattr__(self, name, count(name, getattr(self, name), most=UNLIMITED))
        if self.page_size > self.capacity:
            allowed = f"at most the capacity, {self.capacity}"
            raise InputError("page_size", self.page_size, allowed)
        if self.chunked_prefill_size is not None:
            chunk = count("chunked_prefill_size", self.chunked_prefill_size, least=self.page_size)
            object.__setattr__(self, "chunked_prefill_size", chunk)
        if not 0 < real(self.conservativeness) < float("inf"):
            raise InputError("conservativeness", self.conservativeness, "a finite number above 0")
        object.__setattr__(self, "conservativeness", float(self.conservativeness))
        if self.retraction not in RETRACTIONS:
            raise InputError("retraction", self.retraction, " or ".join(RETRACTIONS))
        if self.retraction == "priority" and not self.priority_scheduling:
            raise InputError("retraction", self.retraction, "length, without priority_scheduling")
        if self.eviction not in (*POLICIES, *(policy.value for policy in POLICIES)):
            said = ", ".join(policy.value for policy in POLICIES)
            raise InputError("eviction", getattr(self.eviction, "value", self.eviction), said)
        object.__setattr__(self, "eviction", Policy(self.eviction))

    @classmethod
    def of(cls, limits: Limits, **others: Any) -> "SglangSettings":
        """The options that these limits are, and others by name.

        Raises:
            InputError: a watermark or an admission rate, which SGLang does not have; fewer tokens
                of an iteration than a page has.
        """
        if not isinstance(limits, Limits):
            raise InputError("limits", limits, "Limits objects")
        for name, without in (("watermark", 0.0), ("admission_rate", None)):
            if getattr(limits, name) != without:
                raise InputError(name, getattr(limits, name), f"{without}: SGLang has none")
        size, chunk = limits.block_size, limits.max_num_batched_tokens
        if chunk is not None and chunk < size:
            allowed = f"at least a block of {size}: SGLang cuts prompts at pages"
            raise InputError("max_num_batched_tokens", chunk, allowed)
        given: dict[str, Any] = {
            "capacity": limits.capacity,
            "page_size": size,
            "chunked_prefill_size": chunk,
        }
        if limits.max_num_seqs is not None:
            given["max_running"] = limits.max_num_seqs
        return cls(**given | others)

    @property
    def reserves_in_full(self) -> bool:
        """Whether all is reserved that those who run may still emit, and not the ratio of it."""
        return self.ignore_eos and self.in_full

    @property
    def policy(self) -> Policy:
        """The tree's."""
        return Policy(self.eviction)

    @property
    def pages(self) -> int:
        return self.capacity // self.page_size

    @property
    def tokens(self) -> int:
        """Of whole pages."""
        return self.pages * self.page_size

    @property
    def mixed(self) -> bool:
        """Whether decodes run beside prefills."""
        return self.mixed_chunk and self.chunked_prefill_size is not None

    def in_pages(self, tokens: Tokens) -> Tokens:
        """Tokens of the pages that hold so many tokens of one request."""
        return -(-tokens // self.page_size) * self.page_size
