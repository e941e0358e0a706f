"""Drawn servers and requests: small memories, shared prompts, every option."""

from dataclasses import dataclass, replace
from random import Random
from typing import Any

from fluidkv.prefix.pieces import Content, content, cut, joined, length
from fluidkv.prefix.prompts import Prompts
from fluidkv.prefix.radix.values import POLICIES
from fluidkv.runs.requests import Requests
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.sglang_settings import SglangSettings

SEEN_OF_REQUESTS = (
    *("outputs", "evictions", "hit_tokens", "first_hit_tokens", "highest", "slots", "shared"),
    *("admitted_at", "first_token_at", "last_token_at", "longest_gap", "finished", "aborted"),
)
"""What two engines say of each request."""

CLOCKS = (
    IterationClock.iterations(),
    IterationClock(0.7, 0.013, 0.11),
    IterationClock(1.0),
    IterationClock(0.7, 0.013, 0.11, per_prefill_pair=0.003),
    IterationClock(0.7, 0.013, 0.11, per_request=0.02, experts=0.9, expert_share=0.3),
)


@dataclass(frozen=True)
class Run:
    """What one seed stands for."""

    requests: Requests
    prompts: Prompts
    settings: SglangSettings
    clock: IterationClock

    def given(self) -> tuple[Any, ...]:
        return self.requests, self.prompts, self.settings, self.clock


def drawn(seed: int) -> Run:
    """Memory holds the largest request and a little more, so that retractions are common."""
    chance = Random(seed)
    page = chance.choice((1, 1, 1, 2, 4, 16))
    size = chance.randrange(4, 40)
    known = chance.random() < 0.15  # nobody ends early
    longest = chance.choice((3, 12, 40))
    clip = chance.choice((4096, 4096, 6, 1))
    outputs = [1 + chance.randrange(longest) for _ in range(size)]
    prompts, answers = _texts(chance, outputs, 2 + 3 * page)
    asked = [o if known or chance.random() < 0.5 else o + chance.randrange(30) for o in outputs]
    needed = max(
        length(prompt) + (most if known else min(most, clip)) + 2 * page + 2
        for prompt, most in zip(prompts, asked, strict=True)
    )
    most = page + chance.randrange(6 * page) if chance.random() < 0.4 else None
    mixed = most is not None and chance.random() < 0.5
    running = 1 + chance.randrange(5) if chance.random() < 0.15 else 4096
    settings = SglangSettings(
        capacity=-(-needed // page) * page + chance.randrange(1 + int(2.5 * needed)),
        page_size=page,
        radix=chance.random() < (0.4 if known else 0.9),
        conservativeness=chance.choice((0.01, 0.1, 0.3, 1.0, 1.0, 1.6)),
        chunked_prefill_size=most,
        mixed_chunk=mixed,
        max_prefill_tokens=chance.choice((16384, 16384, 10)),
        max_running=running,
        eviction=chance.choice((*POLICIES, *5 * ("lru",))),
        overlap=chance.random() < 0.5,
        ignore_eos=known,
        in_full=chance.random() < 0.7,
        clip=clip,
    )
    rate = chance.choice((0.0, 0.5, 3.0))
    arrival, now = [], 0.0
    for _ in range(size):
        now += chance.expovariate(1) * rate
        arrival.append(now)
    clock = chance.choice(CLOCKS)
    urgent = chance.random() < 0.3
    requests = Requests(
        [length(prompt) for prompt in prompts],
        outputs,
        arrival=arrival,
        max_output=asked,
        priority=[chance.randrange(-1, 2) for _ in range(size)] if urgent else None,
    )
    by_priority = urgent and chance.random() < 0.7
    settings = replace(
        settings,
        priority_scheduling=urgent,
        retraction="priority" if by_priority else "length",
    )
    return Run(requests, Prompts(prompts, answers), settings, clock)


def _texts(chance: Random, outputs: list[int], most: int) -> tuple[list[Content], list[Content]]:
    """Prompts: new, or what goes on in a text that came before, its answer too. And the answers."""
    prompts: list[Content] = []
    answers: list[Content] = []
    whole: list[Content] = []
    for row, tokens in enumerate(outputs):
        own = content([[2000 + row, 1 + chance.randrange(most)]])
        if whole and chance.random() < 0.7:
            old = chance.choice(whole)
            own = joined(cut(old, 0, 1 + chance.randrange(length(old))) + own)
            own = cut(own, 0, 5 * most)
        answer = content([[1000 + row, tokens]])
        if whole and chance.random() < 0.2:  # it says what somebody else says from there on
            old = chance.choice(whole)
            answer = cut(
                joined(cut(old, min(length(own), length(old)), length(old)) + answer), 0, tokens
            )
        prompts.append(own)
        answers.append(answer)
        whole.append(joined(own + answer))
    return prompts, answers


def seen(request: Any) -> tuple[Any, ...]:
    return tuple(getattr(request, name) for name in SEEN_OF_REQUESTS)
