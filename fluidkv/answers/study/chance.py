"""What chance does to a full server: how far running swings, and how often it evicts."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated

import numpy as np

from fluidkv.footprints import (
    FootprintMix,
    FullServer,
    Hybrid,
    SlidingWindow,
    Speculation,
    StateSpace,
    evictions,
    footprint_of,
    noise,
)
from fluidkv.footprints.attention import Attention, FullAttention
from fluidkv.footprints.densities import Noise
from fluidkv.footprints.eviction_rates import MOST_PATHS, least_memory
from fluidkv.footprints.footprint import Footprint
from fluidkv.footprints.stability import FootprintStability
from fluidkv.questions.answer import Answer, Described, described
from fluidkv.record import Record
from fluidkv.serving.machines.layers import Layers
from fluidkv.verdict import Stability
from fluidkv.workload import System

RARE = 1e-6
"""Evictions an iteration below which chance hardly shows."""
# Tails are sums over the past of each length: some seconds up to here, minutes beyond.
LONGEST_TAIL = 256
# Nearer to the boundary of stability, swings leave what the linear map holds for.
SLOWEST_MODE = 0.99
# Of an unstable server it takes thousands of iterations to show, and minutes to compute them.
FASTEST_MODE = 1.005
# So it does where so many ways of requests last so long, taken together.
MOST_PLACES = 2**14
# Above, whole requests do not leave uniform slack: estimates 300 times off were seen.
LARGEST_RIPPLE = 0.05
# An unstable server with fewer running is no linear map even at first.
FEWEST_RUNNING = 30
# A server that gives memory back before a request ends, with fewer running, evicts up to 328 times
# less than estimated (docs/noise.md).
FEWEST_BEHIND_WINDOWS = 40


@dataclass(frozen=True)
class Holding(Record):
    """What requests hold besides every token that they have; by default nothing else.

    Args:
        layers: (share, kind) of layers that keep less; the rest of them keeps every token.
        speculation: drafts.
        prefill_chunk: tokens of a prompt that an iteration computes at most.

    Raises:
        InputError: shares of layers that sum to more than 1.

    Examples:
        >>> from fluidkv.answers.study.chance import Holding
        >>> Holding().plain
        True
    """

    layers: tuple[tuple[Fraction, Attention], ...] = ()
    speculation: Speculation | None = None
    prefill_chunk: int | None = None

    @property
    def plain(self) -> bool:
        return not self.layers and self.speculation is None and self.prefill_chunk is None

    @property
    def attention(self) -> Attention:
        """All layers as one."""
        rest = 1 - sum((share for share, _ in self.layers), Fraction(0))
        if not self.layers:
            return FullAttention()
        full = ((rest, FullAttention()),) if rest else ()
        return Hybrid((*self.layers, *full))

    @property
    def sentence(self) -> str:
        """What is held, in words."""
        parts = [f"{_percent(share)} of layers {_kept(kind)}" for share, kind in self.layers]
        if self.speculation is not None:
            parts.append(
                f"{self.speculation.drafts} drafts an iteration, "
                f"{float(self.speculation.tokens_per_iteration):.3g} tokens on average"
            )
        if self.prefill_chunk is not None:
            parts.append(f"prompts in chunks of {self.prefill_chunk:,}")
        return "; ".join(parts) or "every token, in every layer"


def layers_kept(model: Layers) -> tuple[tuple[Fraction, Attention], ...]:
    """(share, kind) of the layers of a model that keep less than every token, for `Holding`.

    Examples:
        >>> from fluidkv.answers.study.chance import layers_kept
        >>> from fluidkv.serving.machines.layers import layers_named
        >>> [(str(share), str(kind.constant)) for share, kind in layers_kept(
        ...     layers_named("qwen3-next-80b-a3b"))]
        [('3/4', '536')]
    """
    kinds: list[tuple[int, Attention]] = []
    if model.windowed and model.window is not None:
        kinds.append((model.windowed, SlidingWindow(model.window)))
    if model.stateful:
        kinds.append((model.stateful, StateSpace(Fraction(model.state_bytes, model.token_bytes))))
    return tuple((Fraction(count, model.layers), kind) for count, kind in kinds)


def _percent(share: Fraction) -> str:
    return f"{100 * float(share):.3g}%"


def _kept(kind: Attention) -> str:
    if isinstance(kind, SlidingWindow):
        return f"with a window of {kind.window:,}"
    if isinstance(kind, StateSpace):
        return f"with a state of {float(kind.constant):.6g} tokens"
    return "with full attention"


@dataclass(frozen=True)
class Chance(Answer):
    """What a full server does by chance alone, around its equilibrium.

    Fields:
        no_tail: why evictions are not estimated, or "": lives longer than `LONGEST_TAIL`, a slowest
            mode above `SLOWEST_MODE`, slack that is not uniform (`LARGEST_RIPPLE`), few running
            behind windows; of an unstable server few running, no mode above `FASTEST_MODE`, or
            classes of more than `MOST_PLACES` iterations in all.

    Examples:
        >>> from fluidkv.answers.study.chance import chance
        >>> system = fk.System(fk.Workload.from_lengths([(200, 8), (250, 17), (300, 30)]), 20_000)
        >>> answer = chance(system)
        >>> str(answer.stability.verdict), answer.running_std < answer.running
        ('stable', True)
    """

    holding: Annotated[
        Holding,
        Described(
            "what requests hold on this server",
            key="holds",
            kind="text",
            json=lambda holding: holding.sentence,
        ),
    ]
    stability: Annotated[
        FootprintStability,
        Described(
            "the certificate of that",
            flat=True,
            below=(
                ("verdict", "text", "whether this server is stable"),
                ("spectral_radius[]", "number", "[low, high] around max |z| of this server"),
            ),
        ),
    ]
    running: Annotated[
        float,
        Described("in flight at the equilibrium, slack of whole requests left out", "requests"),
    ]
    running_std: Annotated[
        float | None,
        Described("standard deviation of that by chance; null unless stable", "requests"),
    ]
    admissions_std: Annotated[
        float | None,
        Described("standard deviation of admissions; null unless stable", "per iteration"),
    ]
    peak_period: Annotated[
        float | None,
        Described("where the spectrum of running peaks; null where at no frequency", "iterations"),
    ]
    evictions_per_iteration: Annotated[
        float | None,
        Described(
            "chance that an iteration must evict; null unless stable, if lives exceed "
            f"{LONGEST_TAIL} iterations or a mode {SLOWEST_MODE}, if slack is not uniform, or if "
            f"fewer than {FEWEST_BEHIND_WINDOWS} run that give memory back before they end",
            kind="share",
        ),
    ]
    rare_from: Annotated[
        float | None,
        Described("memory from which on that is below 1e-6; null likewise", "tokens"),
    ]
    first_eviction: Annotated[
        float | None,
        Described(
            f"from the equilibrium, on average; null if lives exceed {LONGEST_TAIL} iterations, no "
            f"mode of an unstable one is above {FASTEST_MODE} or fewer than {FEWEST_RUNNING} run, "
            "or of a stable one without a rate",
            "iterations",
        ),
    ]
    no_tail: str = ""

    @described("how it is known: `approximation`")
    def evidence(self) -> str:
        """Linear, of whole requests."""
        return "approximation"


def chance(system: System, holding: Holding | None = None) -> Chance:
    """How far running swings by chance, how often that evicts, and what memory ends it.

    Args:
        system: workload and capacity.
        holding: what requests hold; every token if left out.

    Raises:
        InputError: a capacity that one request may exceed.
    """
    holds = holding or Holding()
    mix = footprint_of(
        system.workload,
        attention=holds.attention,
        speculation=holds.speculation,
        prefill_chunk=holds.prefill_chunk,
    )
    server = FullServer(mix, system.capacity)
    swings = noise(server)
    rate = least = first = None
    no_tail = _no_tail(swings, mix, MOST_PATHS if holds.speculation is not None else len(mix.parts))
    if not no_tail:
        tail = evictions(server)
        if tail.rate is not None and tail.ripple > LARGEST_RIPPLE:
            no_tail = "whole requests of such sizes leave free memory too regularly for an estimate"
        else:
            first = tail.first if math.isfinite(tail.first) else None
            rate = tail.rate
            least = least_memory(mix, RARE)
    return Chance(
        holds,
        swings.stability,
        swings.running_mean,
        swings.running_std,
        swings.admissions_std,
        swings.peak_period,
        rate,
        least,
        first,
        no_tail,
    )


def _no_tail(swings: Noise, mix: FootprintMix, ways: int) -> str:
    """Why evictions are not estimated, before the tail is computed."""
    low, high = swings.stability.spectral_radius
    stable, ages = swings.running_std is not None, swings.stability.weights.ages
    if ages > LONGEST_TAIL:
        return f"lives beyond {LONGEST_TAIL} iterations"
    fewest = FEWEST_RUNNING
    if stable:
        fewest = FEWEST_BEHIND_WINDOWS if gives_back(mix) else 0
    if swings.running_mean < fewest:
        return f"fewer than {fewest} running are too few for an estimate"
    if swings.stability.verdict is not Stability.UNSTABLE:
        near = high > SLOWEST_MODE
        return f"a mode above {SLOWEST_MODE} is too near the boundary for an estimate" * near
    if low < FASTEST_MODE:
        return f"no mode grows by {FASTEST_MODE - 1:.1%} an iteration"
    if ways * ages > MOST_PLACES:
        return f"its classes take more than {MOST_PLACES:,} iterations in all"
    return ""


def gives_back(footprint: Footprint) -> bool:
    """Whether a request holds less at some age than before it, as behind a window."""
    held = (np.concatenate([growth.start, growth.held]) for _, growth in footprint.growths)
    return any(bool((np.diff(tokens) < 0).any()) for tokens in held)
