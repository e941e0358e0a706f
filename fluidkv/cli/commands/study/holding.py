"""What requests hold on this server, as options: windows, states, drafts, chunks."""

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated

from fluidkv.cli import arguments as read
from fluidkv.cli import options as opt
from fluidkv.errors import InputError
from fluidkv.questions.kinds import FEW_DIGITS, rational

if TYPE_CHECKING:
    from fluidkv.answers.study.chance import Holding
    from fluidkv.serving.machines.layers import Layers

_LARGEST = 10**9  # tokens: what is held in parts of a token fits into 64 bits
_PANEL = "What requests hold"
_WINDOW = "W or W:SHARE, such as 128 or 128:1/2: tokens, and the share of layers with that window"
_STATE = "N or N:SHARE, such as 400:3/4: a state as large as N tokens, and the share of layers"
_DRAFTS = "K:ACCEPTANCE, such as 3:0.6: drafts an iteration, and the chance in [0, 1] of each"


def _layers(argument: str, text: str, allowed: str) -> tuple[Fraction, Fraction]:
    """(size, share of layers)."""
    size, colon, share = text.partition(":")
    tokens = rational(size, FEW_DIGITS)
    part = rational(share, FEW_DIGITS) if colon else Fraction(1)
    if tokens is None or part is None or not (0 < part <= 1 and 0 < tokens <= _LARGEST):
        raise InputError(argument, text, allowed)
    return tokens, part


def _window(argument: str, text: str) -> tuple[Fraction, Fraction]:
    window, share = _layers(argument, text, _WINDOW)
    if window.denominator != 1:
        raise InputError(argument, text, _WINDOW)
    return window, share


def _state(argument: str, text: str) -> tuple[Fraction, Fraction]:
    return _layers(argument, text, _STATE)


def _drafts(argument: str, text: str) -> tuple[int, Fraction]:
    drafts, colon, chance = text.partition(":")
    accepted = rational(chance, FEW_DIGITS) if colon else None
    if accepted is None or not (
        drafts.isdecimal() and 0 < int(drafts) <= 64 and 0 <= accepted <= 1
    ):
        raise InputError(argument, text, _DRAFTS)
    return int(drafts), accepted


_Layers = tuple  # for Typer, which takes no tuple of two types from one text


@dataclass(frozen=True)
class HoldingOptions:
    """Options that say what requests hold besides every token."""

    sliding_window: Annotated[
        _Layers | None,
        opt.option(
            "--sliding-window W",
            _window,
            "Layers that keep the last W tokens; W:SHARE for a share of all layers.",
            _PANEL,
        ),
    ] = None
    state_space: Annotated[
        _Layers | None,
        opt.option(
            "--state-space N",
            _state,
            "Layers with a state as large as N tokens; N:SHARE for a share of all layers.",
            _PANEL,
        ),
    ] = None
    speculative: Annotated[
        _Layers | None,
        opt.option(
            "--speculative K:ACCEPTANCE",
            _drafts,
            "Speculative decoding: drafts an iteration, chance that each is accepted.",
            _PANEL,
        ),
    ] = None
    prefill_chunk: Annotated[
        int | None,
        opt.option(
            "--prefill-chunk N",
            read.whole_number,
            "Tokens of a prompt that an iteration computes at most.",
            _PANEL,
        ),
    ] = None

    def holding(self, model: "Layers | None" = None) -> "Holding":
        """The same as a value.

        Args:
            model: whose layers say what is kept, in place of options on layers.

        Raises:
            InputError: layers whose shares sum to more than 1, or beside a model.
        """
        from fluidkv.answers.study.chance import Holding, layers_kept
        from fluidkv.footprints import SlidingWindow, Speculation, StateSpace

        drafts = None if self.speculative is None else Speculation(*self.speculative)
        windowed, stateful = self.sliding_window, self.state_space
        if model is not None:
            for option, layers in (("--sliding-window", windowed), ("--state-space", stateful)):
                if layers is not None:
                    text = ":".join(map(str, layers))
                    raise InputError(
                        option, text, "no --model beside it, which says what layers keep"
                    )
            return Holding(layers_kept(model), drafts, self.prefill_chunk)
        layers = []
        if windowed is not None:
            layers.append((windowed[1], SlidingWindow(int(windowed[0]))))
        if stateful is not None:
            layers.append((stateful[1], StateSpace(stateful[0])))
        if (total := sum(share for share, _ in layers)) > 1:
            raise InputError("--state-space", f"layers in shares of {total}", "at most 1 in all")
        return Holding(tuple(layers), drafts, self.prefill_chunk)


EVERY_TOKEN = HoldingOptions()
