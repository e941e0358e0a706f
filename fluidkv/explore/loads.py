"""Loads that an operator knows, beside the figures' systems: the page opens on one of them."""

from functools import cache

from fluidkv.explore.state import Load, PageState
from fluidkv.traces import preset

ROOM = 41_408
"""KV tokens of Llama 3.1 8B on an RTX 4090, as vLLM logs them: 2,588 blocks of 16."""

LOADS = {
    "sharegpt": "Chats, with the length statistics of ShareGPT: prompts of 161 tokens on average, "
    "answers of 338 and up to 991.",
    "alpaca": "Instructions, with the length statistics of Alpaca: prompts of 19 tokens on "
    "average, answers of 58 and up to 292.",
}
"""Presets of requests that every page has, and what they are."""


@cache
def of_preset(name: str) -> Load:
    """A preset's classes.

    Raises:
        InputError: an unknown name.
    """
    return Load(name, preset(name), f"--preset {name}")


@cache
def state_of(name: str, capacity: int = ROOM) -> PageState:
    """The page on a preset: from the balance, pushed."""
    return PageState(of_preset(name), capacity)
