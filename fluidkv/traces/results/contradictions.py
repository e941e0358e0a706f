"""Times of a request that cannot be, and what only looks odd.

Clients time the pieces of a stream. A piece is one token or several; besides, chat servers send one
piece before the first token (the role) and one after the last (why it ended), so there may be two
more pieces than tokens.
"""

import math

from fluidkv.traces.format import BadRow, Seen

_EMPTY_PIECES = 2

_ROUNDING_S = 1e-6
"""Times are written in full; this is above what their sums lose, and below what a clock tells."""


def checked(
    seen: Seen, tokens: int, *, ttft: str, latency: str, gaps: str, exact: bool = True
) -> tuple[Seen, tuple[str, ...]]:
    """The times, the last token's filled in from the gaps, and what looks odd in them.

    Args:
        seen: as the file has it.
        tokens: of the output.
        ttft, latency, gaps: what the file calls them.
        exact: whether the server counted the tokens. A client that cuts the answer's text into
            tokens may find fewer than came.

    Raises:
        BadRow: a first token before the request, a last one before the first, a gap below 0, gaps
            that take longer than the whole, or more pieces than the tokens could make up.
    """
    if seen.ttft_s is not None and seen.ttft_s < 0:
        raise BadRow(f"{ttft}: below 0, a first token before the request")
    if seen.latency_s is not None and seen.latency_s < 0:
        raise BadRow(f"{latency}: below 0, a last token before the request")
    if seen.gaps_s and min(seen.gaps_s) < 0:
        raise BadRow(f"{gaps}: below 0, a piece before the one above it")
    if seen.ttft_s is None:
        return seen, ()
    spent = seen.ttft_s + math.fsum(seen.gaps_s or ())
    if seen.latency_s is not None and seen.latency_s < spent - _ROUNDING_S:
        if seen.latency_s < seen.ttft_s - _ROUNDING_S:
            raise BadRow(f"{latency}: less than {ttft}, a last token before the first")
        raise BadRow(f"{latency}: less than {ttft} and {gaps} together")
    if seen.gaps_s is None:
        return seen, ()
    if exact and len(seen.gaps_s) + 1 > tokens + _EMPTY_PIECES:
        raise BadRow(f"{gaps}: more pieces than the output has tokens")
    return Seen(seen.ttft_s, spent, seen.gaps_s), _odd(seen, tokens, gaps)


def _odd(seen: Seen, tokens: int, gaps: str) -> tuple[str, ...]:
    pieces = len(seen.gaps_s or ()) + 1
    if pieces > tokens:
        return (f"{gaps}: more pieces than tokens, so one without a token was timed",)
    if pieces == 1 < tokens:
        return (f"{gaps}: none, so all tokens came at once and the first was not timed apart",)
    return ()
