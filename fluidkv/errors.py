"""The one exception that bad input raises."""


class InputError(ValueError):
    """Bad input, named so that the reader can mend it: the argument, its value and what is allowed.

    The message is a single line. The command line prints it and exits with code 2.
    """

    def __init__(self, argument: str, value: object, allowed: str) -> None:
        self.argument = argument
        self.value = value
        self.allowed = allowed
        super().__init__(f"{argument}: got {_shown(value)}; allowed: {allowed}")


def _shown(value: object, *, width: int = 60) -> str:
    """`repr`, on one line and not longer than `width`; the middle goes, as paths end in names."""
    text = " ".join(repr(value).split())
    half = (width - 3) // 2
    return text if len(text) <= width else f"{text[:half]}...{text[-half:]}"
