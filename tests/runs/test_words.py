"""Random words by counter."""

import jax.numpy as jnp

from fluidkv.runs.words import threefry


def test_words_are_those_of_threefry() -> None:
    # Vectors of Random123, the authors' library (kat_vectors, threefry2x32 20).
    for counter, key, made in (
        ((0, 0), (0, 0), (0x6B200159, 0x99BA4EFE)),
        ((2**32 - 1,) * 2, (2**32 - 1,) * 2, (0x1CB996FC, 0xBB002BE7)),
        ((0x243F6A88, 0x85A308D3), (0x13198A2E, 0x03707344), (0xC4923A9C, 0x483DF7A0)),
    ):
        inputs = [jnp.full((1,), value, jnp.uint32) for value in (*key, *counter)]
        assert tuple(int(word[0]) for word in threefry(*inputs)) == made
