"""`--price`: what a million output tokens cost, where a GPU has a price an hour."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from fluidkv.errors import InputError
from fluidkv.report.numbers import short
from fluidkv.report.page import Row

if TYPE_CHECKING:
    from fluidkv.serving.clock import IterationClock

PER_MILLION = "per 1M"
"""Title of a column."""


@dataclass(frozen=True)
class Cost:
    """What a server costs.

    Fields:
        per_gpu_hour: in any money.
        gpus: that one replica has: as MODEL@4xGPU says, else 1.
    """

    per_gpu_hour: float
    gpus: int

    def per_million(self, output_per_s: float, replicas: int = 1) -> float:
        """Of output tokens, at so many a second from all replicas together.

        Examples:
            >>> from fluidkv.answers.served.cost import Cost
            >>> round(Cost(3.6, gpus=2).per_million(1000.0), 6)  # 0.002 a second
            2.0
        """
        if not output_per_s > 0:
            return math.inf
        return 1e6 * self.per_gpu_hour * self.gpus * replicas / 3600 / output_per_s

    def rows(self) -> list[Row]:
        """What the column is."""
        each = f"{self.gpus} GPUs a replica" if self.gpus > 1 else "one GPU a replica"
        said = f"{short(self.per_gpu_hour)} per GPU and hour, {each}"
        return [("price", f"{PER_MILLION}: of a million output tokens, at {said}")]

    def values(self, **per_million: float) -> dict[str, Any]:
        """For JSON: name -> what a million output tokens cost."""
        about = {"per_gpu_hour": self.per_gpu_hour, "gpus": self.gpus}
        return {"cost": about | {"per_million_output_tokens": per_million}}


def cost_of(price: Fraction | None, clock: "IterationClock | None") -> Cost | None:
    """None where no price is given.

    Raises:
        InputError: a price without a clock in seconds.
    """
    from fluidkv.serving.machines.named import known

    if price is None:
        return None
    if clock is None or clock.unit != "s":
        raise InputError("--price", str(price), "together with a clock in seconds (--clock)")
    named = known(clock)
    return Cost(float(price), named.gpus if named is not None else 1)
