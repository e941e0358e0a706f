"""Paths that share much, drawn."""

from random import Random


def drawn_paths(seed: int, count: int = 12) -> tuple[tuple[int, ...], ...]:
    """Of 1 to 4 tokens."""
    rng = Random(seed)
    return tuple(
        tuple(rng.choice((0, 0, 1)) if depth else rng.randrange(3) for depth in range(length))
        for length in (rng.randint(1, 4) for _ in range(count))
    )
