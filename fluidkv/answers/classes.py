"""A server of requests that are all alike, as the theory of one class asks about it."""

from collections.abc import Sequence
from typing import Annotated

from fluidkv.answers.memory import CAPACITY_ALONE, KV_BYTES, MODEL, Amount, tokens
from fluidkv.answers.served.load import request_classes
from fluidkv.errors import InputError
from fluidkv.questions.kinds import Text
from fluidkv.questions.options import Option
from fluidkv.workload import System

_CLASS = Option("--class IN:OUT", Text(), "The one request class.", None, many=True)


def one_class_system(
    class_: Annotated[Sequence[str], _CLASS],
    capacity: Annotated[Amount, CAPACITY_ALONE],
    kv_bytes: Annotated[int | None, KV_BYTES] = None,
    model: Annotated[str | None, MODEL] = None,
) -> System:
    """Of a class and a capacity, of which a part of a token is memory, too."""
    if len(class_) != 1 or class_[0].count(":") != 1:
        raise InputError("--class", " ".join(class_), "one class IN:OUT, such as 128:256")
    return System(request_classes(class_), tokens(capacity, kv_bytes, model))
