"""What is refused of options that stand beside each other, in the words of who wrote them."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from fluidkv.errors import InputError


def exactly_one(**given: object) -> None:
    """Refuse two sources of requests, and none.

    Args:
        given: `source` for the argument SOURCE, and options by their names.
    """
    names = {"source": "SOURCE"}
    named = [names.get(name, f"--{name}") for name, value in given.items() if value]
    if len(named) != 1:
        options = ", ".join(names.get(name, f"--{name}") for name in given)
        raise InputError("SOURCE", " and ".join(named) or "none", f"exactly one of {options}")


def only_with(option: str, value: object, other: str, there: object) -> None:
    """Refuse an option that means nothing without another."""
    if value is not None and not there:
        raise InputError(option, str(value), f"together with {other}")


@contextmanager
def as_options(names: Mapping[str, str]) -> Iterator[None]:
    """What the reader wrote, in messages about arguments of functions."""
    try:
        yield
    except InputError as error:
        name = names.get(error.argument, error.argument)
        raise InputError(name, error.value, error.allowed) from None
