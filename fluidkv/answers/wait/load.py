"""The load that a server is asked about: prompt types, and where they came from.

A trace or a workload has a type for each distinct pair of lengths, too many for whole thresholds;
so its outputs are binned here.
"""

from dataclasses import dataclass
from fractions import Fraction
from itertools import product

from fluidkv.errors import InputError
from fluidkv.record import Record
from fluidkv.serving.clock import IterationClock
from fluidkv.traces import Trace
from fluidkv.wait.model import Exact, WaitSystem
from fluidkv.wait.prompts import BinnedPrompts, Cut, prompt_types
from fluidkv.workload import Workload

_BINS = (10, 20, 40, 80, 160)  # 10 as in the paper; each type needs whole prompts, so few is good
_ADDED = Fraction(1, 10)  # to the mean output, below which bins are fine enough


@dataclass(frozen=True)
class Load(Record):
    """Prompt types on a server, and where they came from.

    Fields:
        system: types and clock.
        unit: of time: "s", or "" for the user's own.
        name: of the trace or preset; "" for types.
        binned: what binning did; None for types.
        bins, cut: asked for, or chosen; of equal "width" or "share". None and "" for types.
        rate: of a trace or preset, prompts per second.
        rate_from: where the rate comes from.
        read: what the reader of the trace did; "" for others.
        clock: of which d0, d1 and d2 are; None: they are the user's own.

    Examples:
        >>> from fluidkv.answers.wait.load import Load, binned_load
        >>> base, per_kv_token = Fraction(1, 100), Fraction(1, 10**7)
        >>> load = binned_load(fk.preset("alpaca"), base, per_kv_token, rate=Fraction(1), bins=40)
        >>> load.bins, load.cut, len(load.system.types), round(float(load.load_error), 2)
        (40, 'width', 36, 0.08)
    """

    system: WaitSystem
    unit: str = ""
    name: str = ""
    binned: BinnedPrompts | None = None
    bins: int | None = None
    cut: str = ""
    rate: Fraction | None = None
    rate_from: str = ""
    read: str = ""
    clock: IterationClock | None = None

    @property
    def load_error(self) -> Fraction | None:
        """What binning does to the load: (types - requests) / requests; None for types."""
        if self.binned is None:
            return None
        decoding, prefill = _parts(self.system)
        itself = _itself(self.system, self.binned)
        return (decoding + prefill) / itself - 1 if itself else self.binned.token_rate_error


def binned_load(
    requests: Trace | Workload,
    base: Exact,
    per_kv_token: Exact,
    per_prefill_token: Exact = 0,
    *,
    rate: Fraction | None = None,
    bins: int | None = None,
    common_input: bool = False,
    read: str = "",
) -> Load:
    """The prompts of a trace or a workload as types, on a clock in seconds.

    Args:
        requests: of a trace the times count, too, where no rate is given.
        base, per_kv_token, per_prefill_token: d0, d1 and d2, seconds.
        rate: prompts per second.
        bins: of the outputs, cut by width as in the paper; None: of 10, 20, 40, 80, 160 the first
            that adds less than 10% output, cut by width or else by share; or else the best.
        common_input: one input length for all types, as Nested WAIT needs it.
        read: what the reader of the trace did.

    Raises:
        InputError: no rate where the requests do not tell it; so few bins that their load is 1 or
            more where that of the requests themselves is below.

    Examples:
        >>> from fluidkv.answers.wait.load import binned_load
        >>> trace = fk.Trace((10, 30, 20, 20), (2, 5, 3, 4), (0.0, 1.0, 2.0, 3.0))
        >>> load = binned_load(trace, Fraction(1, 100), Fraction(1, 10**5), bins=2)
        >>> load.rate, load.rate_from, [each.output_length for each in load.system.types]
        (Fraction(1, 1), '4 prompts in 3 s', [3, 5])
    """
    rate, rate_from = (rate, "given") if rate is not None else _rate(requests)
    workload = requests if isinstance(requests, Workload) else requests.workload()
    binned, number, cut = _binned(workload, rate, bins, common_input=common_input)
    system = binned.system(base, per_kv_token, per_prefill_token)
    itself = _itself(system, binned)
    if itself < 1 <= system.load:
        allowed = f"more: with these the load is {float(system.load):.4g}, of the trace itself "
        raise InputError("bins", number, f"{allowed}{float(itself):.4g}; it must be below 1")
    return Load(system, "s", workload.name, binned, number, cut, rate, rate_from, read)


def _parts(system: WaitSystem) -> tuple[Fraction, Fraction]:
    """Of the load: what is held, and prefill."""
    return (
        system.per_kv_token * system.token_rate,
        system.per_prefill_token * system.prefill_rate,
    )


def _itself(system: WaitSystem, binned: BinnedPrompts) -> Fraction:
    """The load of the requests, before they are binned."""
    decoding, prefill = _parts(system)
    return decoding / (1 + binned.token_rate_error) + prefill / (1 + binned.input_error)


def _rate(requests: Trace | Workload) -> tuple[Fraction, str]:
    """Prompts per second, and where that comes from."""
    times = requests.arrival_times_s if isinstance(requests, Trace) else None
    if times is None:
        raise InputError("rate", "none", "prompts per second, for requests without times")
    length = max(times) - min(times)
    if len(times) < 2 or length <= 0:
        raise InputError("rate", "none", "prompts per second, as the trace's times do not tell")
    # Rounded, so that thresholds are not computed with fifteen digits of noise.
    rate = Fraction(f"{(len(times) - 1) / length:.6g}")
    return rate, f"{len(times):,} prompts in {length:,.6g} s"


def _binned(
    workload: Workload, rate: Fraction, number: int | None, *, common_input: bool
) -> tuple[BinnedPrompts, int, Cut]:
    """Types, bins and how they are cut: the first that is fine enough; widths before shares."""
    if number is not None:
        found = prompt_types(workload, rate, bins=number, common_input=common_input)
        return found, number, "width"
    cuts: tuple[Cut, ...] = ("width", "share")
    tried = []
    for bins, cut in product(_BINS, cuts):
        found = prompt_types(workload, rate, bins=bins, cut=cut, common_input=common_input)
        if found.output_error < _ADDED:
            return found, bins, cut
        tried.append((found, bins, cut))
    return min(tried, key=lambda each: each[0].output_error)
