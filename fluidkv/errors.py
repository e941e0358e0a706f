"""The one exception that bad input raises."""

import math
from decimal import Decimal
from fractions import Fraction

from fluidkv.text import printable


class InputError(ValueError):
    """Bad input, named so that the reader can mend it: the argument, its value and what is allowed.

    The message is a single line that any terminal can show. The command line prints it and exits
    with code 2.

    Examples:
        >>> try:
        ...     fk.RequestClass(input_length=0, decode_length=100)
        ... except fk.InputError as error:
        ...     print(error)
        ...     print(error.argument, error.value)
        input_length: got 0; allowed: an integer of at least 1
        input_length 0
    """

    def __init__(self, argument: str, value: object, allowed: str) -> None:
        self.argument = argument
        self.value = value
        self.allowed = allowed
        super().__init__(printable(f"{argument}: got {_shown(value)}; allowed: {allowed}"))


def _shown(value: object, *, width: int = 60) -> str:
    """`repr`, on one line and not longer than `width`; the middle goes, as paths end in names."""
    try:
        said = str(value) if isinstance(value, Decimal | Fraction) else repr(value)
        text = " ".join(said.split())
    except ValueError:  # Python writes out no integer of more than some 4300 digits
        if isinstance(value, int):
            sign = "-" if value < 0 else ""
            return f"about {sign}10^{int(value.bit_length() * math.log10(2))}"
        return f"{type(value).__name__} with a number too long to write out"
    half = (width - 3) // 2
    return text if len(text) <= width else f"{text[:half]}...{text[-half:]}"
