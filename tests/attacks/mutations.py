"""Text and words made bad, from a seeded generator: each attack can be repeated from its seed."""

from collections.abc import Sequence
from random import Random

NASTY = (
    *("", " ", "0", "-0", "-1", "1", "3", "0.5", "1e3", "1e999", "1e999999999", "-1e999999999"),
    *("1e-999999999", "1e9999999999999999999", "9" * 25, "9" * 400, "9" * 5000, "nan", "-inf"),
    *("Infinity", "1_000", "0x10", "１２", "٣", "½", "1/0", "1/3", "true", "null", "[]", "{}"),
    *('"', '""', "'", ",", ":", ";", "\\", "[/x]", "[bold]", ":smile:", "%s", "{0}", "$(x)"),
    *("\x1b]0;title\x07", "\x1b[2J", "\x9b2J", "\x7f", "\x08", "\x0b", "\x0c", "\x1c", "\x85"),
    *("\u202e", "\u2066", "\u2028", "\ufeff", "\xa0", "\U000e0041", "é", "漢", "🙂", "a" * 3000),
    *("2023-11-16 18:17:03.9799600", "9999-99-99 99:99:99", "0001-01-01 00:00:00+99:99"),
)
"""Cells, values and words that a reader may trip over."""

_BYTES = (b"\0", b"\xff", b"\xc3", b"\xed\xa0\x80", b"\r", b"\n", b"\r\n", b'"', b",", b"\x1f\x8b")
_DEEP = (b"[" * 20_000, b'{"a":' * 20_000, b"[" * 2_000 + b"]" * 2_000)
_ENDS = ' ,:{}[]"\n'


def mutated(text: str, chance: Random) -> bytes:
    """The text after one to four changes of cells, bytes and lines."""
    content = text.encode()
    for _ in range(chance.choice((1, 1, 1, 2, 4))):
        content = chance.choice((_cell, _cell, _cell, _bytes, _lines, _cut, _deep))(content, chance)
    return content


def encoded(word: str) -> bytes:
    return word.encode("utf-8", "surrogatepass")


def _cell(content: bytes, chance: Random) -> bytes:
    """One run of characters between two marks of CSV or JSON becomes another."""
    text = content.decode("utf-8", "surrogateescape")
    if not text:
        return encoded(chance.choice(NASTY))
    place = chance.randrange(len(text))
    begin = max(text.rfind(mark, 0, place) for mark in _ENDS) + 1
    ends = [found for mark in _ENDS if (found := text.find(mark, place)) >= 0]
    end = max(begin, min(ends, default=len(text)))
    changed = text[:begin] + chance.choice(NASTY) + text[end:]
    return changed.encode("utf-8", "surrogateescape")


def _bytes(content: bytes, chance: Random) -> bytes:
    place = chance.randrange(len(content) + 1)
    new = chance.choice((*_BYTES, bytes([chance.randrange(256)])))
    return content[:place] + new + content[place + chance.randrange(2) :]


def _lines(content: bytes, chance: Random) -> bytes:
    """Lines swapped, doubled, left out."""
    lines = content.splitlines(keepends=True)
    if not lines:
        return content
    first, second = chance.randrange(len(lines)), chance.randrange(len(lines))
    match chance.randrange(3):
        case 0:
            lines[first], lines[second] = lines[second], lines[first]
        case 1:
            lines.insert(first, lines[second])
        case _:
            del lines[first]
    return b"".join(lines)


def _cut(content: bytes, chance: Random) -> bytes:
    return content[: chance.randrange(len(content) + 1)]


def _deep(content: bytes, chance: Random) -> bytes:
    if chance.randrange(8):
        return _cell(content, chance)
    place = chance.randrange(len(content) + 1)
    return content[:place] + chance.choice(_DEEP) + content[place:]


def words_mutated(words: Sequence[str], chance: Random) -> list[str]:
    """The words after one to three were replaced, added, doubled, left out or swapped."""
    words = list(words)
    for _ in range(chance.choice((1, 1, 2, 3))):
        place = chance.randrange(len(words) + 1)
        bad = chance.choice(NASTY).replace("\0", "")
        match chance.randrange(6):
            case 0:
                words.insert(place, chance.choice((bad, "--", f"--{bad[:9]}", f"-{bad[:3]}")))
            case 1 if place < len(words):
                words.append(words[place])
            case 2 if place < len(words):
                del words[place]
            case _ if words:
                words[chance.randrange(len(words))] = bad
    return words
