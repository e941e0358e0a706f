"""The options on KV memory of a command that is no question, as records in its signature."""

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated

from fluidkv.answers.memory import CAPACITY, KV_BYTES, MODEL, WHOLE, Amount, TokenBytes
from fluidkv.cli import options as opt
from fluidkv.questions.options import as_options

if TYPE_CHECKING:
    from fluidkv.serving.machines.layers import Layers

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


_LAYERS = (
    "Model that says what its layers keep (gpt-oss-20b, gemma-3-27b, qwen3-next-80b-a3b), and the "
    "bytes of a token, for a capacity in bytes."
)


@dataclass(frozen=True)
class LayeredMemory(LoggedMemory):
    """The same of a server whose layers may keep windows and states: a token is one that all keep.

    Examples:
        >>> from fluidkv.cli.memory import LayeredMemory
        >>> LayeredMemory(model="gpt-oss-20b").per_token()
        49152
    """

    model: Annotated[str | None, opt.typed(replace(MODEL, help=_LAYERS))] = None

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


NOT_GIVEN = LoggedMemory()
