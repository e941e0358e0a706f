"""A controller that reads KV usage and sets what a server admits: its margins, and how it cycles.

Memory answers late: who is admitted now goes on growing. With A = E P and B = E Q, memory is A * u
of the admissions u, and running is B * u. So from a rate of admissions to memory the transfer is A,
and from a cap on running, which binds, it is A / B. A controller that takes a reading every T
iterations, d iterations old, and changes its setting by

    setting  <-  setting (1 + gain (target - usage) / target)

closes the loop 1 - y + gain g(y) around its target, y one reading of delay, where g_k is the share
of a step of the setting that shows k readings later: the transfer's response at iterations 0, 1,
..., each counted at the first reading that sees it. The loop is stable from gain 0 up to the first
gain at which a zero comes to the unit circle, y = exp(-i w): there it cycles, once in 2 pi / w
readings (Nyquist's criterion; K. J. Astrom and R. M. Murray, Feedback Systems, 2021, chapters 10
and 12, for margins). That is a theorem on the linear loop. What it leaves out: chance (a loop near
its largest gain amplifies it), memory that is full (evictions), and a cap below what runs.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float
from scipy.optimize import root_scalar
from scipy.signal import lfilter

from fluidkv.errors import InputError
from fluidkv.footprints.footprint import Footprint
from fluidkv.footprints.second_moments import mean_weights
from fluidkv.footprints.stability import FullServer
from fluidkv.record import Record
from fluidkv.runs.checks import count

Law = Callable[[float, float], float]
"""(setting, usage as read) -> the next setting."""
_FORGOTTEN = 1e-9  # of a response, from where on its rest is left out
_LONGEST = 1 << 20


@dataclass(frozen=True)
class Controller(Record):
    """What a controller sets, and how it sees memory.

    Args:
        sets: "running", a cap on requests in flight, or "rate", requests admitted an iteration.
        every: iterations between readings: the scrape interval over the time of an iteration.
        delay: iterations by which a reading is old.

    Raises:
        InputError: another setting, `every` below 1, `delay` below 0.

    Examples:
        >>> fk.Controller("rate", every=500).delay
        0
    """

    sets: Literal["running", "rate"] = "running"
    every: int = 1
    delay: int = 0

    def __post_init__(self) -> None:
        if self.sets not in ("running", "rate"):
            raise InputError("sets", self.sets, "running or rate")
        count("every", self.every)
        count("delay", self.delay, least=0)


@dataclass(frozen=True)
class ControlMargins(Record):
    """How far a loop is from cycling.

    Fields:
        controller: whose loop it is.
        response: g, the share of a step of the setting that usage shows for the first time at the
            first, second, ... reading after it; they sum to 1.
        largest_gain: the loop is stable below it; infinite if no gain makes it cycle.
        period: iterations of the cycle there and, nearly, beyond; None if there is none.

    Examples:
        >>> mix = fk.footprint_of(fk.Workload.from_lengths([(200, 10), (300, 30), (400, 17)]))
        >>> found = fk.control_margins(mix, fk.Controller("rate", every=10))
        >>> round(found.largest_gain, 3), round(found.period, 1)
        (2.974, 40.6)
    """

    controller: Controller
    response: Float[np.ndarray, " reading"]
    largest_gain: float
    period: float | None

    def gain_margin(self, gain: float) -> float:
        """The factor by which a gain may still grow."""
        return self.largest_gain / _above_0(gain)

    def delay_margin(self, gain: float) -> float:
        """Iterations by which readings may be older, at a gain, before the loop cycles.

        0 if it does now.
        """
        if _above_0(gain) >= self.largest_gain:
            return 0.0
        loop = _Loop(self.response)
        # at the first angle the loop is about gain / w: far above 1
        w = np.concatenate([[min(1e-3 * gain, loop.angles[0] / 2)], loop.angles])
        above = np.array([abs(gain * loop.at(w[0])), *abs(gain * loop.grid)]) - 1
        margins = []
        for k in np.flatnonzero(above[:-1] * above[1:] <= 0):
            angle = _zero(lambda x: abs(gain * loop.at(x)) - 1, w[k], w[k + 1])
            phase = np.pi + np.angle(gain * loop.at(angle))
            margins.append((phase % (2 * np.pi)) / angle)
        return min(margins) * self.controller.every


def control_margins(footprint: Footprint, controller: Controller) -> ControlMargins:
    """The largest gain of a controller, and the period at which it cycles beyond.

    Raises:
        InputError: a cap on running whose response never settles: requests that all live for
            multiples of some iterations keep their rhythm under a cap.

    Examples:
        >>> mix = fk.footprint_of(fk.Workload.from_lengths([(200, 10), (300, 30), (400, 17)]))
        >>> cap = fk.control_margins(mix, fk.Controller("running", every=50))
        >>> round(cap.largest_gain, 2), round(cap.gain_margin(0.1), 1)
        (2.06, 20.6)
    """
    response = _response(footprint, controller)
    loop = _Loop(response)
    signs = np.sign(np.imag(loop.grid))
    largest, period = math.inf, None
    # at w = pi the loop is real: readings that go up and down in turn
    candidates = [np.pi, *loop.angles[signs == 0].tolist()]
    candidates += [
        _zero(lambda x: loop.at(x).imag, loop.angles[k], loop.angles[k + 1])
        for k in np.flatnonzero(signs[:-1] * signs[1:] < 0)
    ]
    for angle in candidates:
        value = loop.at(angle).real
        if value < 0 and -1 / value < largest:
            largest, period = -1 / value, 2 * np.pi / angle * controller.every
    return ControlMargins(controller, response, float(largest), period)


@dataclass(frozen=True)
class ControlledFlow(Record):
    """What a controller does to a server, without chance: reading by reading.

    Fields:
        setting: in force up to each reading; requests, or requests an iteration.
        usage: share of the memory that is used, as the reading has it. Above 1 it is what admitted
            requests would need: a server evicts.
        every: iterations from one reading to the next.

    Examples:
        >>> mix = fk.footprint_of(fk.Workload.from_lengths([(200, 10), (300, 30), (400, 17)]))
        >>> server = fk.FullServer(mix, capacity=120_000)
        >>> law = fk.integral_control(gain=0.2, target=0.8)
        >>> flow = fk.controlled(server, fk.Controller("rate", every=10), law, readings=200)
        >>> round(float(flow.usage[-1]), 3), flow.period is None
        (0.8, True)
    """

    setting: Float[np.ndarray, " reading"]
    usage: Float[np.ndarray, " reading"]
    every: int

    @property
    def period(self) -> float | None:
        """Iterations of its cycle in the last half; None where it settles or has no two rounds."""
        late = self.usage[len(self.usage) // 2 :]
        middle = late.mean()
        if np.ptp(late) < 1e-6 * middle:
            return None
        ups = np.flatnonzero((late[:-1] < middle) & (late[1:] >= middle))
        return float((ups[-1] - ups[0]) / (len(ups) - 1) * self.every) if len(ups) > 2 else None


def integral_control(gain: float, target: float) -> Law:
    """setting (1 + gain (target - usage) / target): the law that `control_margins` is about.

    prime-rl's taper is one: a cap that grows by up to 20 % a turnover at no usage and not at all at
    80 % has gain 0.2 over the readings of a turnover.

    Examples:
        >>> fk.integral_control(gain=0.5, target=0.8)(100.0, 0.4)
        125.0
    """
    _above_0(gain)
    _above_0(target, "target")
    return lambda setting, usage: max(0.0, setting * (1 + gain * (target - usage) / target))


def additive_increase(step: float, *, cut: float, above: float) -> Law:
    """Additive increase, multiplicative decrease: `step` more, or times `cut` if usage is `above`.

    Args:
        step: added at a reading at most `above`; requests, or requests an iteration.
        cut: the setting's factor at a reading above, in (0, 1).
        above: usage, a share of the memory.

    Raises:
        InputError: a step or a usage that is not above 0, a cut outside (0, 1).

    Source: Q. Chen et al., Concur (arXiv 2601.22705), and prime-rl's controller of rollouts, in
    their basic form.

    Examples:
        >>> law = fk.additive_increase(2, cut=0.5, above=0.9)
        >>> law(100.0, 0.8), law(100.0, 0.95)
        (102.0, 50.0)
    """
    _above_0(step, "step")
    _above_0(above, "above")
    if not 0 < cut < 1:
        raise InputError("cut", cut, "a number in (0, 1)")
    return lambda setting, usage: setting * cut if usage > above else setting + step


def controlled(
    server: FullServer,
    controller: Controller,
    law: Law,
    *,
    readings: int,
    setting: float | None = None,
) -> ControlledFlow:
    """Follow the mean flow under a law, reading by reading; what runs is never cut off.

    Args:
        server: footprint and capacity; it starts in the balance of the first setting.
        law: (setting, usage as read) -> the next setting; any function.
        readings: at least 1.
        setting: the first; if left out, what holds 1 % of the memory.

    Examples:
        >>> mix = fk.footprint_of(fk.Workload.from_lengths([(200, 10), (300, 30), (400, 17)]))
        >>> law = fk.additive_increase(2, cut=0.5, above=0.9)
        >>> server = fk.FullServer(mix, capacity=120_000)
        >>> flow = fk.controlled(server, fk.Controller(every=10), law, readings=2000)
        >>> round(flow.period), round(float(flow.usage[1000:].min()), 2)
        (846, 0.44)
    """
    count("readings", readings)
    memory, alive = _means(server.footprint)
    full = float(server.capacity) / memory.sum()
    capped = controller.sets == "running"
    at_once = alive.sum() if capped else 1.0  # of the setting, for an admission an iteration
    now = setting if setting is not None else full * at_once / 100
    iterations, ages = readings * controller.every, len(memory)
    admitted = np.full(ages - 1 + iterations, now / at_once)
    used = np.full(controller.delay + iterations, now / at_once * memory.sum())
    settings, usage = np.zeros(readings), np.zeros(readings)
    older = alive[:0:-1], memory[::-1]
    for k in range(readings):
        settings[k] = now
        for n in range(k * controller.every, (k + 1) * controller.every):
            running = older[0] @ admitted[n : n + ages - 1]
            admitted[n + ages - 1] = max(0.0, now - running) if capped else now
            used[controller.delay + n] = older[1] @ admitted[n : n + ages]
        usage[k] = used[(k + 1) * controller.every - 1] / float(server.capacity)
        now = law(float(now), float(usage[k]))
    return ControlledFlow(settings, usage, controller.every)


def _response(footprint: Footprint, controller: Controller) -> Float[np.ndarray, " reading"]:
    memory, alive = _means(footprint)
    response = _settled(memory, alive) if controller.sets == "running" else memory
    reading = (np.arange(len(response)) + controller.delay) // controller.every
    return np.bincount(reading, response / response.sum())


def _means(footprint: Footprint) -> tuple[np.ndarray, np.ndarray]:
    """A and B."""
    weights = mean_weights(footprint)
    rows = weights.memory, weights.requests
    memory, alive = (np.array([n / weights.denominator for n in row]) for row in rows)
    return memory, alive


def _settled(memory: np.ndarray, alive: np.ndarray) -> Float[np.ndarray, " iteration"]:
    """The first part of the power series A / B, up to where it is forgotten."""
    length = 4 * len(memory)
    total = memory.sum() / alive.sum()
    while length <= _LONGEST:
        impulse = np.zeros(length)
        impulse[0] = 1.0
        series = np.asarray(lfilter(memory, alive, impulse))
        tail = np.abs(series[-len(memory) :]).max()
        if tail < _FORGOTTEN * abs(total):
            return series
        if not tail < 1e6 * abs(total):
            break
        length *= 4
    lives = "several lengths without a common divisor, which forget their rhythm under a cap"
    raise InputError("footprint", f"lives of {len(memory)} iterations at most", lives)


class _Loop:
    """The open loop of a response at gain 1: on a grid of angles in (0, pi), and at any angle."""

    def __init__(self, response: Float[np.ndarray, " reading"]) -> None:
        points = 2 ** math.ceil(math.log2(16 * len(response) + 64))
        self.response = response
        self.angles = 2 * np.pi * np.arange(1, points // 2) / points
        y = np.exp(-1j * self.angles)
        self.grid = y * np.fft.rfft(response, points)[1:-1] / (1 - y)

    def at(self, angle: float) -> complex:
        y = np.exp(-1j * angle)
        return y * np.polyval(self.response[::-1], y) / (1 - y)


def _zero(f: Callable[[float], float], low: float, high: float) -> float:
    """Where f changes sign; an end where rounding hides that it does."""
    ends = f(low), f(high)
    if ends[0] * ends[1] < 0:
        return root_scalar(f, bracket=(low, high)).root
    return low if abs(ends[0]) < abs(ends[1]) else high


def _above_0(value: float, argument: str = "gain") -> float:
    if not 0 < value < math.inf:
        raise InputError(argument, value, "a number above 0")
    return value
