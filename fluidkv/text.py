"""Text from outside made fit to be shown: nothing in it steers a terminal or cannot be encoded."""


def printable(text: str) -> str:
    r"""The text with every character that prints nothing of its own written out, as in `repr`.

    So controls (`\x1b`), marks of direction (`\u202e`), line ends, separators other than the blank,
    and the halves of a surrogate pair (`\udcff`) become the letters of their escapes.
    """
    if text.isprintable():  # nearly always
        return text
    return "".join(each if each.isprintable() else repr(each)[1:-1] for each in text)
