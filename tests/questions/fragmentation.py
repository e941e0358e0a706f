"""The mathematics behind `waste`: how much of whole blocks requests leave empty."""


def wasted_share(length: int, block: int, fixed: bool) -> float:
    """Tokens of blocks that no token is in, of all tokens of blocks, for lengths 1 to `length`."""
    lengths = [length] if fixed else range(1, length + 1)
    held = sum(-(-each // block) * block for each in lengths)
    return (held - sum(lengths)) / held
