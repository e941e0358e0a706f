"""What the page shows, as a value and as the part of its address behind `#`.

    in=50&out=2:1,4:1&kv=626&start=over:25&n=200

`in` is the input length; `out` lists output lengths with whole parts of the load (2:1,4:1 is half
and half); `kv` is the capacity; `n` is the number of iterations. `start` is `empty`, or `over:25`,
the equilibrium with the newest requests 25 % above it, or `list:5,4,2.5`, one mass for each age.
"""

import math
import re
from dataclasses import dataclass
from fractions import Fraction

from fluidkv.errors import InputError
from fluidkv.exact.survival import eviction_free_equilibrium, survival_weights
from fluidkv.record import Record
from fluidkv.workload import RequestClass, System, Workload

LONGEST_INPUT, LONGEST_OUTPUT, LARGEST_KV = 4096, 256, 10_000_000
MOST_CLASSES, LARGEST_PART = 4, 1000
FEWEST_ITERATIONS, MOST_ITERATIONS = 10, 1000
"""The page's ranges; the longest output is what roots are found for within its time."""

OVER = Fraction(25)
"""Per cent by which the newest requests exceed the equilibrium, unless told otherwise."""

_DECIMAL = r"\d{1,9}(?:\.\d{1,6})?"
_START = re.compile(rf"empty|over:{_DECIMAL}|list:{_DECIMAL}(?:,{_DECIMAL})*")


@dataclass(frozen=True)
class PageState(Record):
    """A system that the page can show, and where its run starts.

    Args:
        input_length: tokens, of all classes.
        outputs: (output length, parts of the load) of each class, shortest first; parts are whole
            numbers without a common divisor, and equal lengths are one.
        capacity: KV tokens.
        start: "empty", "over:PERCENT" or "list:MASS,MASS,...".
        iterations: to run.

    Raises:
        InputError: a value that the page has no place for.
    """

    input_length: int
    outputs: tuple[tuple[int, int], ...]
    capacity: int
    start: str = f"over:{OVER}"
    iterations: int = 200

    def __post_init__(self) -> None:
        _within("input length", self.input_length, 1, LONGEST_INPUT, "tokens of input")
        _within("classes", len(self.outputs), 1, MOST_CLASSES, "classes")
        for length, part in self.outputs:
            _within("output length", length, 1, LONGEST_OUTPUT, "tokens of output")
            if part < 1:
                raise InputError("parts of the load", part, "at least 1")
        object.__setattr__(self, "outputs", _canonical(self.outputs))
        for _, part in self.outputs:
            _within("parts of the load", part, 1, LARGEST_PART, "parts of the load for a length")
        least = self.input_length + max(length for length, _ in self.outputs) + 1
        _within("capacity", self.capacity, least, LARGEST_KV, "tokens")
        _within("iterations", self.iterations, FEWEST_ITERATIONS, MOST_ITERATIONS, "iterations")
        if not _START.fullmatch(self.start):
            raise InputError("start", self.start, "empty, over:PERCENT or list:MASS,MASS,...")
        self.masses()

    @property
    def link(self) -> str:
        """The part of the address behind `#`."""
        return f"{self.key}&kv={self.capacity}&start={self.start}&n={self.iterations}"

    @property
    def key(self) -> str:
        """What decides the verdict: all but the capacity and the start."""
        outputs = ",".join(f"{length}:{part}" for length, part in self.outputs)
        return f"in={self.input_length}&out={outputs}"

    def system(self) -> System:
        """The same for the theory."""
        whole = sum(part for _, part in self.outputs)
        classes = (
            RequestClass(self.input_length, length, Fraction(part, whole))
            for length, part in self.outputs
        )
        return System(Workload(tuple(classes)), self.capacity)

    def masses(self) -> tuple[Fraction, ...]:
        """Y^0, the mass of each cohort by age, in units of admission; exact.

        Where the newest cohort is larger than at the equilibrium, the oldest ones are smaller by as
        many tokens, the very oldest first, so that memory is exactly full.

        Raises:
            InputError: a list of another length, or one that does not fit into memory.
        """
        system = self.system()
        weights = survival_weights(system.workload)
        memory = [Fraction(v, weights.denominator) for v in weights.memory]
        kind, _, given = self.start.partition(":")
        if kind == "empty":
            return (Fraction(0),) * weights.ages
        if kind == "list":
            return _listed(given, memory, system.capacity)
        return _over(
            Fraction(given) / 100, memory, eviction_free_equilibrium(system).rate, system.capacity
        )


def of_classes(workload: Workload, capacity: Fraction) -> PageState:
    """The state of a system of the user's own.

    Raises:
        InputError: inputs that differ, shares of too many parts, or anything out of range.
    """
    inputs = {c.input_length for c in workload.classes}
    if len(inputs) > 1:
        listed = ", ".join(map(str, sorted(inputs)))
        raise InputError("--class", listed, "one input length for all classes: the page has one")
    if capacity.denominator > 1:
        raise InputError("--capacity", str(capacity), "a whole number of tokens")
    parts = math.lcm(*(c.share.denominator for c in workload.classes))
    outputs = tuple((c.decode_length, int(c.share * parts)) for c in workload.classes)
    return PageState(inputs.pop(), outputs, int(capacity))


def _canonical(outputs: tuple[tuple[int, int], ...]) -> tuple[tuple[int, int], ...]:
    """Equal lengths together, shortest first, parts without a common divisor."""
    parts: dict[int, int] = {}
    for length, part in outputs:
        parts[length] = parts.get(length, 0) + part
    divisor = math.gcd(*parts.values())
    return tuple((length, parts[length] // divisor) for length in sorted(parts))


def _listed(given: str, memory: list[Fraction], capacity: Fraction) -> tuple[Fraction, ...]:
    masses = tuple(map(Fraction, given.split(",")))
    if len(masses) != len(memory):
        raise InputError("start", f"list of {len(masses)}", f"{len(memory)} masses, one an age")
    used = sum((v * y for v, y in zip(memory, masses, strict=True)), Fraction(0))
    if used > capacity:
        raise InputError("start", f"{float(used):g} tokens", f"at most {capacity} tokens")
    return masses


def _over(
    share: Fraction, memory: list[Fraction], rate: Fraction, capacity: Fraction
) -> tuple[Fraction, ...]:
    """The equilibrium, its newest cohort larger by a share, as far as memory allows."""
    masses = [rate] * len(memory)
    masses[0] = min(rate * (1 + share), capacity / memory[0])
    excess = (masses[0] - rate) * memory[0]
    for age in range(len(memory) - 1, 0, -1):
        taken = min(excess, masses[age] * memory[age])
        masses[age] -= taken / memory[age]
        excess -= taken
    return (masses[0] - excess / memory[0], *masses[1:])


def _within(what: str, value: int, least: int, most: int, unit: str) -> None:
    if not least <= value <= most:
        raise InputError(what, value, f"{least:,} to {most:,} {unit} on this page")
