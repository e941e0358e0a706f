"""What the page shows, as a value and as the part of its address behind `#`.

    in=50&out=2:1,4:1&kv=626&start=over:25&n=200
    load=sharegpt&kv=41408&start=over:25&n=200&window=512:50&drafts=3:60

`in` is the input length, of all classes or of each; `out` lists output lengths with whole parts of
the load (2:1,4:1 is half and half). `load` in their place names a load that is in the page. `kv` is
the capacity; `n` is the number of steps. `start` is `empty`, or `over:25`, the equilibrium with the
newest requests 25 % above it, or `list:5,4,2.5`, one mass for each age. `window=TOKENS:PERCENT` is
a sliding window in so many of the layers, `drafts=K:PERCENT` are K drafts an iteration with the
chance that each is accepted. A step is one iteration while outputs have at most 256 tokens.
"""

import math
import re
from dataclasses import dataclass, replace
from fractions import Fraction

from fluidkv.errors import InputError
from fluidkv.exact.survival import survival_weights
from fluidkv.footprints import (
    FullAttention,
    FullServer,
    Hybrid,
    SlidingWindow,
    Speculation,
    footprint_of,
)
from fluidkv.record import Record
from fluidkv.workload import System, Workload

LONGEST_INPUT, LONGEST_OUTPUT, LARGEST_KV = 131_072, 32_768, 10_000_000
MOST_CLASSES, LARGEST_PART = 4, 1000
MOST_LOAD_CLASSES = 100_000
FEWEST_ITERATIONS, MOST_ITERATIONS = 10, 1000
MOST_STAGES, MOST_DRAFTS = 256, 8
"""The page's ranges; a run is drawn in at most so many stages of a request."""

OVER = Fraction(25)
"""Per cent by which the newest requests exceed the equilibrium, unless told otherwise."""

_DECIMAL = r"\d{1,9}(?:\.\d{1,6})?"
_START = re.compile(rf"empty|over:{_DECIMAL}|list:{_DECIMAL}(?:,{_DECIMAL})*")


@dataclass(frozen=True)
class Lengths(Record):
    """Classes that sliders move.

    Args:
        inputs: tokens, one number for all classes or one for each.
        outputs: (output length, parts of the load) of each class; parts are whole numbers.

    Classes of equal lengths become one, shortest first, and parts lose a common divisor.

    Raises:
        InputError: a value that the page has no place for.
    """

    inputs: tuple[int, ...]
    outputs: tuple[tuple[int, int], ...]

    def __post_init__(self) -> None:
        _within("classes", len(self.outputs), 1, MOST_CLASSES, "classes")
        for length in self.inputs:
            _within("input length", length, 1, LONGEST_INPUT, "tokens of input")
        for length, part in self.outputs:
            _within("output length", length, 1, LONGEST_OUTPUT, "tokens of output")
            if part < 1:
                raise InputError("parts of the load", part, "at least 1")
        parts: dict[tuple[int, int], int] = {}
        for tokens, length, part in self._classes():
            parts[length, tokens] = parts.get((length, tokens), 0) + part
        divisor = math.gcd(*parts.values())
        inputs = tuple(tokens for _, tokens in sorted(parts))
        object.__setattr__(self, "inputs", inputs if len(set(inputs)) > 1 else inputs[:1])
        outputs = tuple((pair[0], parts[pair] // divisor) for pair in sorted(parts))
        object.__setattr__(self, "outputs", outputs)
        for part in parts.values():
            what = "parts of the load for a length"
            _within("parts of the load", part // divisor, 1, LARGEST_PART, what)

    @property
    def key(self) -> str:
        outputs = ",".join(f"{length}:{part}" for length, part in self.outputs)
        return f"in={','.join(map(str, self.inputs))}&out={outputs}"

    @property
    def workload(self) -> Workload:
        """The same for the theory."""
        counts = {(tokens, length): part for tokens, length, part in self._classes()}
        return replace(Workload.from_counts(counts), requests=None)

    def _classes(self) -> list[tuple[int, int, int]]:
        """Input length, output length and part of each."""
        each = self.inputs * (len(self.outputs) if len(self.inputs) == 1 else 1)
        return [(tokens, *pair) for tokens, pair in zip(each, self.outputs, strict=True)]


@dataclass(frozen=True)
class Load(Record):
    """Classes of a log, a trace or a preset, as many as there are.

    Args:
        name: as a link has it.
        workload: its classes.
        words: of a command line that asks for it.

    Raises:
        InputError: longer outputs than the page has, or too many classes.
    """

    name: str
    workload: Workload
    words: str

    def __post_init__(self) -> None:
        longest, count = self.workload.longest_decode, len(self.workload.classes)
        _within("output length", longest, 1, LONGEST_OUTPUT, "tokens of output")
        _within("classes", count, 1, MOST_LOAD_CLASSES, "pairs of lengths")

    @property
    def key(self) -> str:
        return f"load={self.name}"

    @property
    def counts(self) -> list[list[int]]:
        """[input, output, part] of each class; parts are whole numbers."""
        classes = self.workload.classes
        parts = math.lcm(*(c.share.denominator for c in classes))
        return [[c.input_length, c.decode_length, int(c.share * parts)] for c in classes]


@dataclass(frozen=True)
class PageState(Record):
    """A system that the page can show, and where its run starts.

    Args:
        load: lengths of the requests, under sliders or those of a load.
        capacity: KV tokens.
        start: "empty", "over:PERCENT" or "list:MASS,MASS,...".
        iterations: steps to run.
        window: (tokens, per cent of the layers) of a sliding window.
        drafts: (drafts an iteration, per cent of them that are accepted).

    Raises:
        InputError: a value that the page has no place for.
    """

    load: Lengths | Load
    capacity: int
    start: str = f"over:{OVER}"
    iterations: int = 200
    window: tuple[int, int] | None = None
    drafts: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        slots = 0
        if self.window is not None:
            _within("window", self.window[0], 1, LONGEST_INPUT + LONGEST_OUTPUT, "tokens")
            _within("window", self.window[1], 1, 100, "per cent of the layers")
        if self.drafts is not None:
            slots = self.drafts[0]
            _within("drafts", slots, 1, MOST_DRAFTS, "drafts")
            _within("drafts", self.drafts[1], 0, 100, "per cent")
        least = self.load.workload.largest_footprint + slots + 1
        _within("capacity", self.capacity, least, LARGEST_KV, "tokens")
        _within("iterations", self.iterations, FEWEST_ITERATIONS, MOST_ITERATIONS, "iterations")
        if not _START.fullmatch(self.start):
            raise InputError("start", self.start, "empty, over:PERCENT or list:MASS,MASS,...")
        if self.start.startswith("list"):
            self._check_list()

    @property
    def link(self) -> str:
        """The part of the address behind `#`."""
        own = f"&kv={self.capacity}&start={self.start}&n={self.iterations}"
        return f"{self.load.key}{own}{self._holding}"

    @property
    def key(self) -> str:
        """What decides the verdict: all but the capacity and the start."""
        return f"{self.load.key}{self._holding}"

    @property
    def _holding(self) -> str:
        pairs = {"window": self.window, "drafts": self.drafts}
        return "".join(f"&{name}={pair[0]}:{pair[1]}" for name, pair in pairs.items() if pair)

    def system(self) -> System:
        """Workload and capacity, for the theory of the mass map."""
        return System(self.load.workload, self.capacity)

    def server(self) -> FullServer:
        """The same with what requests hold."""
        window, percent = self.window or (1, 0)
        share, drafts = Fraction(percent, 100), None
        kinds = (share, SlidingWindow(window)), (1 - share, FullAttention())
        if self.drafts is not None:
            drafts = Speculation(self.drafts[0], Fraction(self.drafts[1], 100))
        layers = Hybrid(tuple(pair for pair in kinds if pair[0]))
        mix = footprint_of(self.load.workload, attention=layers, speculation=drafts)
        return FullServer(mix, self.capacity)

    def _check_list(self) -> None:
        """One mass an age, of requests that hold every token, within memory."""
        weights = survival_weights(self.load.workload)
        if self._holding or weights.ages > MOST_STAGES:
            allowed = "masses of requests that hold every token, with outputs up to 256 tokens"
            raise InputError("start", "list", allowed)
        masses = tuple(map(Fraction, self.start.partition(":")[2].split(",")))
        if len(masses) != weights.ages:
            raise InputError(
                "start", f"list of {len(masses)}", f"{weights.ages} masses, one an age"
            )
        held = sum((v * y for v, y in zip(weights.memory, masses, strict=True)), Fraction(0))
        if (used := held / weights.denominator) > self.capacity:
            raise InputError("start", f"{float(used):g} tokens", f"at most {self.capacity} tokens")


def lengths_of(workload: Workload) -> Lengths:
    """Lengths of a user's own, under sliders.

    Raises:
        InputError: shares of too many parts, or anything out of range.
    """
    parts = math.lcm(*(c.share.denominator for c in workload.classes))
    inputs = tuple(c.input_length for c in workload.classes)
    outputs = tuple((c.decode_length, int(c.share * parts)) for c in workload.classes)
    return Lengths(inputs, outputs)


def whole(capacity: Fraction) -> int:
    """A number of tokens, as the page counts them.

    Raises:
        InputError: a part of a token.
    """
    if capacity.denominator > 1:
        raise InputError("capacity", str(capacity), "a whole number of tokens")
    return int(capacity)


def _within(what: str, value: int, least: int, most: int, unit: str) -> None:
    if not least <= value <= most:
        raise InputError(what, value, f"{least:,} to {most:,} {unit} on this page")
