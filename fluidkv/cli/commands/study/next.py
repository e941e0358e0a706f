"""What to run after a study: commands that ask for an engine's own rules, ready to be pasted."""

import shlex
from collections.abc import Sequence
from fractions import Fraction
from math import floor


def commands(asked: Sequence[str], capacity: Fraction | None, *, is_run: bool) -> list[str]:
    """Of the same requests at the same capacity.

    Args:
        asked: words that say which requests.
        capacity: KV tokens, of which engines have whole ones; None: as the log says.
        is_run: whether these are the requests of a log, which a replay can be held against.
    """
    room = [] if capacity is None else ["--capacity", str(max(1, floor(capacity)))]
    found = [["recommend", *asked, *room]]
    if is_run:
        found.insert(0, ["replay", asked[0], *room])
    return [shlex.join(["fluidkv", *words]) for words in found]
