"""What a cached token costs: the bytes of its keys and values, in all layers."""

from fluidkv.runs.checks import count


def token_bytes(layers: int, kv_heads: int, head_size: int, *, bytes_per_value: int = 2) -> int:
    """Bytes of one token's keys and values: 2 L n_kv d_head values.

    Where each head has keys and values of its own, n_kv d_head is the hidden size d, and one layer
    has 2 d values. Token-PD's 2 d h is another number, unless there are as many layers as heads.

    Args:
        layers: L.
        kv_heads: n_kv, heads with keys and values of their own; fewer than heads where these are
            grouped.
        head_size: d_head, values of a key.
        bytes_per_value: 2 for 16 bits.

    Raises:
        InputError: a number below 1.

    Examples:
        >>> from fluidkv.serving.machines.kv_bytes import token_bytes
        >>> token_bytes(32, 8, 128)  # of Llama-3-8B: 2 x 32 x 8 x 128 values of two bytes
        131072
        >>> token_bytes(32, 8, 128, bytes_per_value=1)
        65536
    """
    sizes = {"layers": layers, "kv_heads": kv_heads, "head_size": head_size}
    values = 2
    for name, size in sizes.items():
        values *= count(name, size)
    return values * count("bytes_per_value", bytes_per_value)
