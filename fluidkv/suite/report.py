"""What the suite found, as values: rates of ways to compute the same thing, and their ratios."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from fluidkv.suite.machine import Machine
from fluidkv.suite.timing import Times

KEYS = (
    ("machine.processor", "text", "its name"),
    ("machine.system", "text", "its name"),
    ("machine.device", "text", "JAX's"),
    ("machine.cores", "count", "that the process may use"),
    ("machine.devices", "count", "that the process may use"),
    ("machine.memory_gb", "10⁹ bytes", "null where the system does not say"),
    ("machine.versions.*", "text", "of Python and of what computes"),
    ("date", "text", "of the start, UTC"),
    ("repeat", "text", "the command that does it again"),
    ("quick", "yes/no", "whether the problems were small ones"),
    ("load_before", "processes", "runnable over a minute; null where the system does not say"),
    ("load_after", "processes", "the same at the end"),
    ("sections[].name", "text", "of a benchmark"),
    ("sections[].title", "text", "what is measured"),
    ("sections[].about", "text", "the problem"),
    ("sections[].unit", "text", "of its rates"),
    ("sections[].as_time", "yes/no", "shown as the time of one, not as a rate"),
    ("sections[].notes[]", "text", "what else was found"),
    ("sections[].rates[].case", "text", "a problem"),
    ("sections[].rates[].way", "text", "what computes it"),
    ("sections[].rates[].per_second", "units/s", "null where it was not measured"),
    ("sections[].rates[].disturbed", "yes/no", "the median call took over 1.2 times the best"),
    ("sections[].rates[].why", "text", "why it was not measured; empty where it was"),
    ("sections[].ratios[].case", "text", "a problem"),
    ("sections[].ratios[].what", "text", "which two numbers"),
    ("sections[].ratios[].value", "1", "null where one of the two was not measured"),
    ("sections[].ratios[].at_least", "1", "the aim; null where there is none"),
    ("sections[].ratios[].at_most", "1", "the aim; null where there is none"),
    ("sections[].ratios[].met", "yes/no", "whether it is; null where there is none"),
)
"""Keys of `Report.as_dict`, with units and what they are."""


@dataclass(frozen=True)
class Rate:
    """How much of a case one way computes in a second.

    Fields:
        case: which problem, such as "L = 40".
        way: who computes it, such as "C kernel".
        per_second: in the unit of the section; None where it was not measured.
        disturbed: calls of it took so unlike times that it is too low, one does not know by what.
        why: it was not measured; empty where it was.
    """

    case: str
    way: str
    per_second: float | None
    disturbed: bool = False
    why: str = ""


@dataclass(frozen=True)
class Ratio:
    """Two rates, or two other numbers of one run, and what was aimed at.

    Fields:
        case: which problem.
        what: which numbers, such as "default engine / C kernel".
        value: None where one of the two was not measured.
        at_least, at_most: the aim; None: there is none.
    """

    case: str
    what: str
    value: float | None
    at_least: float | None = None
    at_most: float | None = None

    @property
    def met(self) -> bool | None:
        """None where nothing was aimed at, or nothing measured."""
        if self.value is None or (self.at_least is None and self.at_most is None):
            return None
        low, high = self.at_least, self.at_most
        return (low is None or self.value >= low) and (high is None or self.value <= high)


@dataclass(frozen=True)
class Section:
    """One benchmark.

    Fields:
        name: as `fluidkv bench --only` has it.
        title: what is measured.
        about: the problem, and how the ways were held against one another, in sentences.
        unit: of the rates, such as "requests".
        rates, ratios: in the order in which they are shown.
        notes: what else was found, in sentences.
        as_time: one takes so long that its time says more than how many there are a second.
    """

    name: str
    title: str
    about: str
    unit: str
    rates: tuple[Rate, ...]
    ratios: tuple[Ratio, ...]
    notes: tuple[str, ...] = ()
    as_time: bool = False


@dataclass(frozen=True)
class Report:
    """A run of the suite.

    Fields:
        machine: where, and with which versions.
        date: UTC, of the start.
        repeat: the command that does it again.
        quick: whether the problems were small ones, whose rates say little.
        load_before, load_after: runnable processes over the last minute, others' before; None
            where the system does not say.
        sections: in the order of the run.

    Examples:
        >>> from fluidkv.suite.run import run_suite
        >>> from fluidkv.suite.report import Report
        >>> from fluidkv.suite.settings import LEAST
        >>> report = run_suite(["certified"], effort=LEAST)
        >>> report.repeat, report.quick, [section.name for section in report.sections]
        ('fluidkv bench --only certified', True, ['certified'])
        >>> Report.of_dict(report.as_dict()) == report
        True
    """

    machine: Machine
    date: str
    repeat: str
    quick: bool
    load_before: float | None
    load_after: float | None
    sections: tuple[Section, ...]

    def as_dict(self) -> dict[str, Any]:
        """Plain values; each ratio says whether its aim was met."""
        found = asdict(self)
        for said, section in zip(found["sections"], self.sections, strict=True):
            for ratio, value in zip(said["ratios"], section.ratios, strict=True):
                ratio["met"] = value.met
        return found

    @staticmethod
    def of_dict(values: Mapping[str, Any]) -> "Report":
        """What `as_dict` wrote, maybe through JSON."""
        sections = tuple(map(_section, values["sections"]))
        names = ("date", "repeat", "quick", "load_before", "load_after")
        return Report(
            machine=Machine(
                **{**values["machine"], "versions": dict(values["machine"]["versions"])}
            ),
            sections=sections,
            **{name: values[name] for name in names},
        )


def _section(values: Mapping[str, Any]) -> Section:
    rates = tuple(Rate(**each) for each in values["rates"])
    ratios = tuple(
        Ratio(**{name: value for name, value in each.items() if name != "met"})
        for each in values["ratios"]
    )
    parts = {"rates": rates, "ratios": ratios, "notes": tuple(values["notes"])}
    return Section(**{**values, **parts})


def rate(case: str, way: str, count: float, taken: Times) -> Rate:
    """So many in the best of the times."""
    return Rate(case, way, count / taken.best, taken.disturbed)


def against(case: str, way: Rate, other: Rate, *, at_least: float | None = None) -> Ratio:
    """One way against another."""
    value = None
    if way.per_second is not None and other.per_second is not None:
        value = way.per_second / other.per_second
    return Ratio(case, f"{way.way} / {other.way}", value, at_least)
