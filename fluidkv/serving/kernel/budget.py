"""Tokens of an iteration: how many of them a request computes, and what it is then called."""

from fluidkv.runs.inlined import inlined


@inlined
def tokens_of(length: int, computed: int, left: int) -> int:
    """What a request computes now, of so many tokens that are left: all that it lacks."""
    return min(length - computed, left)


@inlined
def decodes(prompt: int, outputs: int, computed: int) -> bool:
    """Only the token just emitted is missing from the cache; else it is prefilled."""
    return outputs > 0 and computed == prompt + outputs - 1


@inlined
def pairs(computed: int, tokens: int) -> int:
    """Of tokens computed and those that each of them attends to, itself among them: the sum of
    `computed` + 1 to `computed` + `tokens`."""
    return tokens * (2 * computed + tokens + 1) // 2


@inlined
def again(tokens: int, highest: int, computed: int) -> int:
    """How many of these tokens it had computed before."""
    return max(0, min(tokens, highest - computed))


@inlined
def duration(
    base: float,
    per_kv: float,
    kv: int,
    per_prefill: float,
    prefill: int,
    per_pair: float,
    pair: int,
) -> float:
    """What tokens of an iteration cost: d0 + d1 kv + d2 prefill + d3 pairs."""
    return ((base + per_kv * kv) + per_prefill * prefill) + per_pair * pair


@inlined
def of_batch(per_request: float, decoding: int, experts: float, share: float, tokens: int) -> float:
    """What its requests cost besides, and its experts: d4 decoding + d5 (1 - (1 - a)^tokens)."""
    lasts = per_request * decoding
    if experts > 0:
        unread, square, left = 1.0, 1 - share, tokens  # (1 - a)^tokens: products alone, equal bits
        while left > 0:
            if left % 2 == 1:
                unread *= square
            square *= square
            left //= 2
        lasts += experts * (1 - unread)
    return lasts
