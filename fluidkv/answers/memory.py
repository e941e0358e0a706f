"""KV memory as people write it: tokens, thousands of them, blocks, or bytes for a model's cache.

The one place where `--capacity` is read. What was converted is said, and a text that does not say
enough is refused with what is missing.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, Literal

from fluidkv.errors import InputError
from fluidkv.questions.kinds import FEW_DIGITS, Text, Whole, Written, rational
from fluidkv.questions.options import SERVER, Option, as_options
from fluidkv.report.page import Row

if TYPE_CHECKING:
    from fluidkv.serving.machines.layers import Layers

LARGEST = 10**15
"""No capacity or length is larger; below it float64 holds every integer."""

WHOLE = "a whole number of tokens"
"""What is allowed where a part of a token is not."""

_TOKENS = {"": 1, "t": 1, "token": 1, "tokens": 1, "k": 1000, "K": 1000, "M": 10**6}
_BLOCKS = ("b", "block", "blocks")
_BYTES = {f"{letter}b": 10 ** (3 * power) for power, letter in enumerate("kmgt", 1)}
_BYTES |= {f"{letter}ib": 2 ** (10 * power) for power, letter in enumerate("kmgt", 1)}
_KNOWN = (
    "tokens (41408; 40k is 40,000, 2M is 2,000,000), blocks (2588b, times the block size) or bytes "
    "of the KV pool (24GB is 24 x 10^9 bytes, 24GiB is 24 x 2^30)"
)
_NEEDED = f"a positive number of {_KNOWN}, at most {LARGEST:.0e} tokens"
_WRITTEN = re.compile(r"\s*([-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?(?:/[0-9.]+)?)\s*([A-Za-z]*)\s*")


@dataclass(frozen=True)
class Amount:
    """Memory as it was written.

    Fields:
        text: all of it.
        number: of tokens, blocks or bytes.
        unit: which of these.
    """

    text: str
    number: Fraction
    unit: Literal["tokens", "blocks", "bytes"]

    @property
    def as_number(self) -> Fraction | str:
        """Tokens where it is tokens, else what was written."""
        return self.number if self.unit == "tokens" else self.text

    def shown(self, value: Any) -> Any:
        """A value of an error; where it is the tokens that this is, or whole blocks of them, the
        amount as it was written: 9.5, 40k, 2588b.

        Examples:
            >>> from fluidkv.answers.memory import amount
            >>> memory = amount("--capacity", "40k")
            >>> memory.shown(40_000), memory.shown(39_984), memory.shown(7), memory.shown("none")
            ('40k', '40k', 7, 'none')
        """
        if isinstance(value, bool) or not isinstance(value, int | Fraction):
            return value
        if not self._may_be(Fraction(value)):
            return value
        whole = int(self.number)
        return whole if self.text == str(whole) else self.text

    def _may_be(self, tokens: Fraction) -> bool:
        if tokens.denominator != 1 or tokens < 0:
            return False
        if self.unit == "blocks":
            return tokens % self.number == 0
        if self.unit == "bytes":  # a token takes at least one
            return tokens <= self.number
        # Less than a block is rounded off: of less than one block all, of more not half.
        return tokens <= self.number and (tokens == 0 or self.number < 2 * tokens)


def amount(argument: str, text: str) -> Amount:
    """A number with its unit.

    Raises:
        InputError: neither a number nor one of the units that are known.
    """
    found = _WRITTEN.fullmatch(text)
    if found is None:
        raise InputError(argument, text, _NEEDED)
    number = rational(found[1], FEW_DIGITS)
    if number is None or number <= 0:
        raise InputError(argument, text, _NEEDED)
    unit, said = found[2], text.strip()
    if unit in _BLOCKS:
        return Amount(said, number, "blocks")
    if unit in _TOKENS:
        if number * _TOKENS[unit] > LARGEST:
            raise InputError(argument, text, _NEEDED)
        return Amount(said, number * _TOKENS[unit], "tokens")
    if unit.lower() not in _BYTES:
        raise InputError(argument, text, f"a unit that is known: {_KNOWN}")
    return Amount(said, number * _BYTES[unit.lower()], "bytes")


CAPACITY = Option(
    "--capacity KV",
    Written(amount),
    "KV memory: tokens (41408, 40k), blocks (2588b) or bytes of KV pool (24GB, 24GiB).",
    SERVER,
    title="KV memory",
    unit="token",
    in_sweep=Whole(),
    means=("capacity", "capacities"),
)
CAPACITY_ALONE = replace(CAPACITY, panel=None)
"""The same of a command whose options stand in one list, without a panel for the server."""
SEVERAL = replace(CAPACITY, help=f"{CAPACITY.help} Repeatable.", many=True)
KV_BYTES = Option(
    "--kv-bytes BYTES",
    Whole(1, 10**9),
    "Bytes of one token's keys and values in all layers, for a capacity in bytes.",
    SERVER,
)
MODEL = Option(
    "--model NAME",
    Text(),
    "Model whose KV bytes a token are known, such as llama-3.1-8b, for a capacity in bytes.",
    SERVER,
)


class TokenBytes:
    """What options on what a token takes in the cache say; the fields are a record's."""

    kv_bytes: int | None
    model: str | None

    def per_token(self) -> int | None:
        """Bytes of a token; None where nobody says.

        Raises:
            InputError: both options; a model that is not known, or keeps a window only.
        """
        if self.model is None:
            return self.kv_bytes
        if self.kv_bytes is not None:
            raise InputError("--kv-bytes", self.kv_bytes, "no --model beside it, which says them")
        return self.token_bytes(self.model)

    def token_bytes(self, model: str) -> int:
        """Bytes of a token of a model whose layers all keep it.

        Raises:
            InputError: a model that is not known, or keeps a window only.
        """
        from fluidkv.serving.machines.models import kv_bytes_per_token

        with as_options({"model": "--model"}):
            return kv_bytes_per_token(model)

    def converted(
        self, written: Amount, block_size: int | None = None, *, whole: str = ""
    ) -> Fraction:
        """Tokens that an amount is.

        Args:
            written: tokens, blocks or bytes.
            block_size: tokens of a block; None: there are none here.
            whole: what to call a whole number of tokens, where only that is allowed.

        Raises:
            InputError: blocks where there are none, bytes without those of a token; a part of a
                token where that is not allowed.
        """
        per_token = self.per_token()  # refused whatever the amount is
        if written.unit == "blocks":
            if block_size is None:
                allowed = (
                    f"tokens: there are no blocks here; of 16 tokens each they would be "
                    f"{float(written.number * 16):,.15g}"
                )
                raise InputError("--capacity", written.text, allowed)
            found = written.number * block_size
        elif written.unit == "bytes":
            if per_token is None:
                allowed = (
                    "--model NAME or --kv-bytes BYTES beside it: what a token takes (131,072 bytes "
                    "of llama-3.1-8b at 16 bits); it is the KV pool, not all of the GPU"
                )
                raise InputError("--capacity", written.text, allowed)
            found = Fraction(written.number // per_token)
        else:
            found = written.number
        if not 0 < found <= LARGEST:
            raise InputError("--capacity", written.text, _NEEDED)
        if whole and found.denominator != 1:
            raise InputError("--capacity", written.text, whole)
        return found

    def said(self, written: Amount, block_size: int | None = None) -> str:
        """How it was converted; "" where nothing was."""
        tokens = f"{written.text} = {float(self.converted(written, block_size)):,.15g} tokens"
        if written.unit == "tokens":
            return tokens if written.text[-1:].isalpha() else ""
        if written.unit == "blocks":
            return f"{tokens}, {block_size} in a block"
        of = f" ({self.model})" if self.model else ""
        return f"{tokens} at {self.per_token():,} bytes a token{of}; of the KV pool, not of the GPU"

    def in_bytes(self, tokens: int) -> str:
        """So many tokens in GB; "" where nobody says what one takes."""
        per_token = self.per_token()
        return "" if per_token is None else f"{tokens * per_token / 1e9:,.3g} GB"


@dataclass(frozen=True)
class Memory(TokenBytes):
    """Options that say how much KV memory there is, if they do."""

    capacity: Annotated[Amount | None, CAPACITY] = None
    kv_bytes: Annotated[int | None, KV_BYTES] = None
    model: Annotated[str | None, MODEL] = None

    def __post_init__(self) -> None:
        self.per_token()  # refused where the options are read, before any source is

    def tokens(self, block_size: int | None = None, *, whole: str = "") -> Fraction | None:
        """KV tokens; None where nobody says."""
        if self.capacity is None:
            return None
        return self.converted(self.capacity, block_size, whole=whole)

    def count(self, block_size: int | None = None) -> int | None:
        """The same as a whole number."""
        tokens = self.tokens(block_size, whole=WHOLE)
        return None if tokens is None else int(tokens)

    def notes(self, block_size: int | None = None) -> list[Row]:
        """A row about what was converted; none where nothing was."""
        text = "" if self.capacity is None else self.said(self.capacity, block_size)
        return [("capacity", text)] if text else []


@dataclass(frozen=True)
class LoggedMemory(Memory):
    """The same where a log may say it, too."""

    capacity: Annotated[
        Amount | None,
        replace(CAPACITY, help=f"{CAPACITY.help} A log folder that names it may leave it out."),
    ] = None


_LAYERS = (
    "Model that says what its layers keep (gpt-oss-20b, gemma-3-27b, qwen3-next-80b-a3b), and the "
    "bytes of a token, for a capacity in bytes."
)


@dataclass(frozen=True)
class LayeredMemory(LoggedMemory):
    """The same of a server whose layers may keep windows and states: a token is one that all keep.

    Examples:
        >>> from fluidkv.answers.memory import LayeredMemory
        >>> LayeredMemory(model="gpt-oss-20b").per_token()
        49152
    """

    model: Annotated[str | None, replace(MODEL, help=_LAYERS)] = None

    def layers(self) -> "Layers | None":
        """What the layers of the model keep; None where none is named.

        Raises:
            InputError: a model that is not known.
        """
        if self.model is None:
            return None
        from fluidkv.serving.machines.layers import layers_named

        with as_options({"model": "--model"}):
            return layers_named(self.model)

    def token_bytes(self, model: str) -> int:
        """Of a token that all layers keep."""
        layers = self.layers()
        return 0 if layers is None else layers.kv_bytes


UNSAID_MEMORY = LoggedMemory()


def token_counts(
    capacity: Annotated[list[Amount | int] | None, SEVERAL] = None,
    kv_bytes: Annotated[int | None, KV_BYTES] = None,
    model: Annotated[str | None, MODEL] = None,
) -> list[int] | None:
    """Sizes as whole numbers of tokens; None where nobody names one.

    Raises:
        InputError: as of `token_count`.
    """
    Memory(None, kv_bytes, model).per_token()  # refused whatever the sizes are
    return [token_count(each, kv_bytes, model) for each in capacity or ()] or None


def tokens(capacity: Amount, kv_bytes: int | None, model: str | None) -> Fraction:
    """A size in tokens.

    Raises:
        InputError: blocks, of which there are none; bytes of which nobody says what a token takes.
    """
    return Memory(None, kv_bytes, model).converted(capacity)


def optional_tokens(
    capacity: Annotated[Amount | None, CAPACITY] = None,
    kv_bytes: Annotated[int | None, KV_BYTES] = None,
    model: Annotated[str | None, MODEL] = None,
) -> Fraction | None:
    """As `tokens`; None where no size is named, but what a token takes is refused as well."""
    return Memory(capacity, kv_bytes, model).tokens()


def token_count(
    capacity: Amount | int, kv_bytes: int | None, model: str | None, block_size: int | None = None
) -> int:
    """A size as a whole number of tokens; a number is one already.

    Raises:
        InputError: a part of a token, blocks where there are none, bytes of which nobody says what
            a token takes.
    """
    if not isinstance(capacity, Amount):
        return capacity
    return int(Memory(None, kv_bytes, model).converted(capacity, block_size, whole=WHOLE))


def converted_rows(options: Mapping[str, Any], block_size: int | None = None) -> list[Row]:
    """A row about each size that was converted, of the values of these options by key."""
    sizes, memory = options["capacity"], Memory(None, options["kv_bytes"], options["model"])
    amounts = sizes if isinstance(sizes, list) else [sizes] if sizes else []
    texts = [memory.said(each, block_size) for each in amounts]
    return [("capacity", text) for text in texts if text]
