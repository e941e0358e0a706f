"""The benchmarks by name, and a run of them: here, now, with the machine named."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from fluidkv.errors import InputError
from fluidkv.suite import basins, certified, many, serving, sweeping
from fluidkv.suite.machine import load, this_machine
from fluidkv.suite.mass import benchmark as mass
from fluidkv.suite.report import Report, Section
from fluidkv.suite.settings import QUICK, WHOLE, Effort, Told
from fluidkv.text import nearest

BENCHMARKS: dict[str, Callable[[Effort, Told], Section]] = {
    mass.NAME: mass.measure,
    many.NAME: many.measure,
    basins.NAME: basins.measure,
    serving.NAME: serving.measure,
    certified.NAME: certified.measure,
    sweeping.NAME: sweeping.measure,
}
"""Name -> measures it, in the order of the page.

>>> from fluidkv.suite.run import BENCHMARKS
>>> list(BENCHMARKS)
['mass', 'systems', 'basins', 'requests', 'certified', 'sweep']
"""

Progress = Callable[[int, int, str], None]
"""Told how many benchmarks are done, of how many, and what is being measured."""


def run_suite(
    only: Sequence[str] | None = None,
    *,
    quick: bool = False,
    effort: Effort | None = None,
    on_progress: Progress | None = None,
) -> Report:
    """Measure on whatever device JAX has, each benchmark's ways in one run.

    Args:
        only: names out of `BENCHMARKS`; None: all of them.
        quick: small problems: seconds instead of minutes, and rates that say little.
        effort: other sizes than these two.
        on_progress: told before each part.

    Raises:
        InputError: a name that no benchmark has.
        AssertionError: two ways to compute the same do not agree: a defect, no bad input.

    Examples:
        >>> from fluidkv.suite.run import run_suite
        >>> from fluidkv.suite.settings import LEAST
        >>> [section] = run_suite(["certified"], effort=LEAST).sections
        >>> section.name, all(each.per_second > 0 for each in section.rates)
        ('certified', True)
        >>> run_suite(["mas"])
        Traceback (most recent call last):
            ...
        fluidkv.errors.InputError: only: got 'mas'; allowed: mass (the nearest)
    """
    for name in only or ():
        if name not in BENCHMARKS:
            raise InputError("only", name, nearest(name, BENCHMARKS))
    names = [name for name in BENCHMARKS if not only or name in only]
    effort = effort or (QUICK if quick else WHOLE)
    machine, before, date = this_machine(), load(), datetime.now(UTC)
    sections: list[Section] = []

    def teller(name: str) -> Told:
        def tell(what: str) -> None:
            if on_progress is not None:
                on_progress(len(sections), len(names), f"{name}, {what}")

        return tell

    for name in names:
        sections.append(BENCHMARKS[name](effort, teller(name)))
    return Report(
        machine=machine,
        date=date.strftime("%Y-%m-%d %H:%M UTC"),
        repeat=_command(only or (), effort),
        quick=effort is not WHOLE,
        load_before=before,
        load_after=load(),
        sections=tuple(sections),
    )


def _command(only: Sequence[str], effort: Effort) -> str:
    words = ["fluidkv bench", *(f"--only {name}" for name in only)]
    return " ".join(words + (["--quick"] if effort is QUICK else []))
