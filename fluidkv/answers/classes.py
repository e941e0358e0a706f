"""Request classes as people write them, IN:OUT or IN:OUT:SHARE, and a server of one class."""

import re
from collections.abc import Sequence
from fractions import Fraction
from typing import Annotated

from fluidkv.answers.memory import GIVEN, KV_BYTES, MODEL, Amount, tokens
from fluidkv.errors import InputError
from fluidkv.questions.kinds import FEW_DIGITS, Text, rational
from fluidkv.questions.options import WHO, Option
from fluidkv.workload import RequestClass, System, Workload

_NEEDED = "IN:OUT or IN:OUT:SHARE, such as 128:256 or 128:256:1/2"
CLASSES = Option("--class IN:OUT[:SHARE]", Text(), "A request class; repeatable.", WHO, many=True)
_ONE_CLASS = Option("--class IN:OUT", Text(), "The one request class.", None, many=True)


def request_classes(texts: Sequence[str]) -> Workload:
    """`IN:OUT[:SHARE] ...` as a workload; without any SHARE the shares are equal."""
    rows = [text.split(":") for text in texts]
    for text, row in zip(texts, rows, strict=True):
        if len(row) not in (2, 3):
            raise InputError("--class", text, _NEEDED)
    with_share = [len(row) == 3 for row in rows]
    if any(with_share) and not all(with_share):
        missing = texts[with_share.index(False)]
        raise InputError("--class", missing, "a share for every class, or for none")
    classes = []
    for text, row in zip(texts, rows, strict=True):
        input_length, decode_length = (_length(text, part) for part in row[:2])
        share = Fraction(1, len(rows)) if len(row) == 2 else rational(row[2], FEW_DIGITS)
        if share is None:
            raise InputError("--class", row[2], "a share such as 1/2 or 0.5")
        classes.append(RequestClass(input_length, decode_length, share))
    return Workload(tuple(classes), name=" + ".join(texts) if len(texts) < 4 else "")


def one_class_system(
    class_: Annotated[Sequence[str], _ONE_CLASS],
    capacity: Annotated[Amount, GIVEN],
    kv_bytes: Annotated[int | None, KV_BYTES] = None,
    model: Annotated[str | None, MODEL] = None,
) -> System:
    """A server of requests that are all alike."""
    if len(class_) != 1 or class_[0].count(":") != 1:
        raise InputError("--class", " ".join(class_), "one class IN:OUT, such as 128:256")
    return System(request_classes(class_), tokens(capacity, kv_bytes, model))


def _length(text: str, part: str) -> int:
    if not re.fullmatch(r"[0-9]{1,15}", part.strip()) or int(part) < 1:
        raise InputError("--class", text, f"{_NEEDED}, lengths whole and at least 1")
    return int(part)
