"""Numbers in a line of a log: as long as a server writes them, and no longer."""

import re

COUNT = r"(\d{1,15})"
"""A count; a longer one is no count of anything."""

DECIMAL = r"(\d{1,15}(?:\.\d{0,9})?)"


def number_after(words: str, line: str) -> float | None:
    """The first number right behind some words; None where there is none."""
    found = re.search(re.escape(words) + DECIMAL + r"(?![\d.])", line)
    return None if found is None else float(found[1])
