"""The options on KV memory of a command that is no question, as records in its signature."""

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Annotated

from fluidkv.answers.memory import CAPACITY, KV_BYTES, MODEL, WHOLE, Amount, TokenBytes, amount
from fluidkv.cli import options as opt

_LOGGED = replace(CAPACITY, help=f"{CAPACITY.help} A log folder that names it may leave it out.")
KvBytes = Annotated[int | None, opt.typed(KV_BYTES)]
Model = Annotated[str | None, opt.typed(MODEL)]


@dataclass(frozen=True)
class Memory(TokenBytes):
    """Options that say how much KV memory there is, if they do."""

    capacity: Annotated[Amount | None, opt.typed(CAPACITY)] = None
    kv_bytes: KvBytes = None
    model: Model = None

    def tokens(self, block_size: int | None = None, *, whole: str = "") -> Fraction | None:
        """KV tokens; None where nobody says."""
        self.per_token()
        if self.capacity is None:
            return None
        return self.converted(self.capacity, block_size, whole=whole)

    def count(self, block_size: int | None = None) -> int | None:
        """The same as a whole number."""
        tokens = self.tokens(block_size, whole=WHOLE)
        return None if tokens is None else int(tokens)

    def notes(self, block_size: int | None = None) -> list[tuple[str, str]]:
        """A row about what was converted; none where nothing was."""
        said = "" if self.capacity is None else self.said(self.capacity, block_size)
        return [("capacity", said)] if said else []


@dataclass(frozen=True)
class LoggedMemory(Memory):
    """The same where a log may say it, too."""

    capacity: Annotated[Amount | None, opt.typed(_LOGGED)] = None


NO_MEMORY, NOT_GIVEN = Memory(), LoggedMemory()


@dataclass(frozen=True)
class GivenMemory(TokenBytes):
    """The same where nothing else says it; a part of a token is memory, too."""

    capacity: Annotated[Amount, opt.option("--capacity KV", amount, CAPACITY.help)]
    kv_bytes: KvBytes = None
    model: Model = None

    def tokens(self, block_size: int | None = None, *, whole: str = "") -> Fraction:
        """KV tokens."""
        return self.converted(self.capacity, block_size, whole=whole)

    def notes(self, block_size: int | None = None) -> list[tuple[str, str]]:
        """A row about what was converted; none where nothing was."""
        said = self.said(self.capacity, block_size)
        return [("capacity", said)] if said else []
