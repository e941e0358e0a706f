"""WAIT and Nested WAIT in whole numbers: what chains are made from.

A *segment* is one of Nested WAIT's, or all stages of a type of WAIT: what has a threshold n.
"""

from fractions import Fraction
from typing import Any, NamedTuple

from fluidkv.errors import InputError
from fluidkv.plain import plain_tuple
from fluidkv.serving.clock import IterationClock
from fluidkv.wait.model import Exact, WaitSystem, exact, several
from fluidkv.wait.policy import Wait
from fluidkv.wait.segments import Segments

Model = Segments | WaitSystem


class Shape(NamedTuple):
    """A segment in whole numbers, from which the literal chain and the compiled one are made.

    Examples:
        >>> from fluidkv.wait.chain.model import Shape
        >>> shape = Shape(threshold=9, span=2, first_tokens=3, boundary_tokens=0)
        >>> shape.tokens(2)  # 9 prompts with 3 tokens each, 9 with 4
        63
    """

    threshold: int
    span: int
    first_tokens: int
    boundary_tokens: int

    @property
    def prefill_tokens(self) -> int:
        """Inputs that its first stage computes, full; segments behind a boundary have none."""
        return 0 if self.boundary_tokens else self.threshold * self.first_tokens

    def tokens(self, stages: int) -> int:
        """What the first `stages` stages hold, full, while they are computed."""
        return self.threshold * (stages * self.first_tokens + stages * (stages - 1) // 2)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return plain_tuple(self)


def shapes(model: Model, thresholds: tuple[int, ...]) -> list[Shape]:
    """One a segment or type.

    Examples:
        >>> from fluidkv.wait import Segments
        >>> from fluidkv.wait.chain.model import shapes
        >>> first, second = shapes(Segments(3, ends=(1, 3), rates=(3, 1)), (9, 4))
        >>> second.first_tokens, second.boundary_tokens  # 3 + 2 in its first stage, 3 + 1 before it
        (5, 4)
    """
    if isinstance(model, WaitSystem):
        return [
            Shape(n, each.stages, each.input_length, 0)
            for n, each in zip(thresholds, model.types, strict=True)
        ]
    return [
        Shape(n, span, model.input_length + start, boundary)
        for n, span, start, boundary in zip(
            thresholds, model.spans, model.starts, (0, *model.boundary_tokens), strict=True
        )
    ]


def arrival_rates(model: Model) -> list[Fraction]:
    """To the first segment, or of each type."""
    if isinstance(model, WaitSystem):
        return [each.arrival_rate for each in model.types]
    return [model.rates[0]]


def thresholds_of(model: Model, thresholds: object) -> tuple[int, ...]:
    """The thresholds, one for each type or segment.

    Raises:
        InputError: something else, or a model that is neither.

    Examples:
        >>> from fluidkv.wait import Segments
        >>> from fluidkv.wait.chain.model import thresholds_of
        >>> segments = Segments(3, ends=(1, 3), rates=(3, 1))
        >>> thresholds_of(segments, [9, 4])
        (9, 4)
        >>> thresholds_of(segments, [9])
        Traceback (most recent call last):
            ...
        fluidkv.errors.InputError: thresholds: got [9]; allowed: 2, one for each type or segment
    """
    return Wait(levels_of(model, thresholds)).thresholds


def levels_of(model: Model, thresholds: object) -> tuple[Any, ...]:
    """As many thresholds as the model has types or segments, of any numbers.

    Raises:
        InputError: another number of them, or no sequence.
    """
    size = len(model.types) if isinstance(model, WaitSystem) else len(model)
    allowed = f"{size}, one for each type or segment"
    levels = several("thresholds", thresholds, allowed)
    if len(levels) != size:
        raise InputError("thresholds", list(levels), allowed)
    return levels


def clock_of(
    model: Model, base: Exact | None, per_kv_token: Exact | None, per_prefill_token: Exact | None
) -> IterationClock:
    """The clock of a system, or of these coefficients, with `Segments`.

    Raises:
        InputError: a coefficient that is missing, given twice or out of range; another model.
    """
    options = {"base": base, "per_kv_token": per_kv_token, "per_prefill_token": per_prefill_token}
    if isinstance(model, WaitSystem):
        for name, value in options.items():
            if value is not None:
                raise InputError(name, value, "None: the system has its own")
        return model.clock
    if not isinstance(model, Segments):
        raise InputError("model", model, "Segments or a WaitSystem")
    for name in ("base", "per_kv_token"):
        if options[name] is None:
            raise InputError(name, None, "a number, with Segments")
    per_prefill_token = 0 if per_prefill_token is None else per_prefill_token
    return IterationClock(
        float(exact("base", base, above=0)),
        float(exact("per_kv_token", per_kv_token, least=0)),
        float(exact("per_prefill_token", per_prefill_token, least=0)),
    )
