"""What to say of a name that is not known: the known ones near it."""

from collections.abc import Iterable
from difflib import get_close_matches


def nearest(name: str, known: Iterable[str]) -> str:
    """Up to three known names near this one, which it may begin; else all."""
    there, asked = list(known), name.strip().lower()
    close = [each for each in there if asked and each.startswith(f"{asked}-")]
    close += [each for each in get_close_matches(asked, there, 3, 0.6) if each not in close]
    return f"{' or '.join(close[:3])}?" if close else f"one of {', '.join(there)}"
