"""`fluidkv cascade`: how one start collapses, phase by phase."""

from fractions import Fraction
from typing import TYPE_CHECKING, Annotated

from fluidkv.answers.classes import one_class_system
from fluidkv.answers.memory import converted_rows
from fluidkv.errors import InputError
from fluidkv.questions.kinds import FEW_DIGITS, Text, Whole, rational
from fluidkv.questions.options import Made, Option
from fluidkv.questions.question import Question
from fluidkv.report.numbers import percent, short
from fluidkv.report.page import Page, Row, ends
from fluidkv.workload import System

if TYPE_CHECKING:
    from fluidkv.exact.one_class.collapse import Cascade

# Numbers grow longer with every exact iteration, so that their number is what exactness costs.
HORIZON, EXACT_HORIZON = 10_000, 2_000

# More is refused before anything is run. All states are kept and looked at, some 12 us and 40 bytes
# a mass: minutes and 400 MB at most. Exact masses grow by log2(l0 + 1) bits an iteration, and time
# faster than the square of iterations: 3,000 that do not settle took two minutes (1000:20).
MOST_MASSES, EXACT_MOST_ITERATIONS = 10_000_000, 5_000

_ROWS = 40  # of the table of phases; --json lists all
_START = Option(
    "--start X,X,...",
    Text(),
    "Requests in each decode stage, as decimals or fractions; they must fill memory.",
    None,
)
_EXACT = Option("--exact", None, "Compute in rationals instead of float64.", None)
_ITERATIONS = Option(
    "--iterations N",
    Whole(),
    f"Iterations to follow, at most {MOST_MASSES:,} / OUT, and {EXACT_MOST_ITERATIONS:,} with "
    rf"--exact. \[default: {HORIZON:,}; {EXACT_HORIZON:,} with --exact]",
    None,
)
_PROJECT = Option("--project", None, "Scale a start that does not fill memory.", None)


def ask_cascade(
    system: Annotated[System, Made(one_class_system)],
    start: Annotated[str, _START],
    exact: Annotated[bool, _EXACT] = False,
    iterations: Annotated[int | None, _ITERATIONS] = None,
    project: Annotated[bool, _PROJECT] = False,
) -> "Cascade":
    """How does a server of equal requests collapse from a given state?

    Follows the saturated model: first eviction (preemption), every decode stage
    that goes empty for good, the cycle in which it settles, and what it costs.
    """
    horizon = _horizon(iterations, system.workload.longest_decode, exact)
    masses = [_mass(part) for part in start.split(",")]
    first = _start(system, masses, project)
    return _exact(system, first, horizon) if exact else _float(system, first, horizon)


def _mass(text: str) -> Fraction:
    value = rational(text, FEW_DIGITS)
    if value is None:
        raise InputError("start", text, "masses such as 5/2,2,17/10, one a decode stage")
    return value


def _horizon(iterations: int | None, stages: int, exact: bool) -> int:
    most = max(1, MOST_MASSES // stages)
    if exact:
        most = min(most, EXACT_MOST_ITERATIONS)
    if iterations is None:
        return min(most, EXACT_HORIZON if exact else HORIZON)
    if iterations > most:
        allowed = f"1 to {most} where outputs have {stages} tokens"
        raise InputError("iterations", iterations, allowed + (", exact" if exact else ""))
    return iterations


def _start(system: System, masses: list[Fraction], project: bool) -> tuple[Fraction, ...]:
    from fluidkv.exact.one_class.trajectory import checked_start, projected_start

    try:
        return projected_start(system, masses) if project else checked_start(system, masses)
    except InputError as error:
        offer = "" if "scale" not in error.allowed else " (--project does)"
        raise InputError("start", error.value, error.allowed + offer) from None


def _exact(system: System, start: tuple[Fraction, ...], horizon: int) -> "Cascade":
    from fluidkv.exact.one_class.cascade import cascade as analyse
    from fluidkv.exact.one_class.trajectory import trajectory

    # One round of the cycle more, over which throughput is measured.
    states = trajectory(system, start, iterations=horizon, after_settling=len(start))
    return analyse(states, system)


def _float(system: System, start: tuple[Fraction, ...], horizon: int) -> "Cascade":
    from fluidkv.exact.one_class.cascade import cascade as analyse
    from fluidkv.fluid import simulate

    first = [float(x) for x in start]
    states = simulate(system, [first], iterations=horizon, record="state")
    return analyse(states, system, start=first)


def say_cascade(page: Page, answer: "Cascade") -> None:
    """The first eviction, where it settles at what cost, and the phases."""
    from fluidkv.exact.one_class.waste import waste
    from fluidkv.exact.survival import eviction_free_equilibrium

    best = float(eviction_free_equilibrium(answer.system).rate)
    wasted = float(waste(answer.states, answer.system).wasted_share)
    only = answer.system.workload.classes[0]
    page.title(
        f"Input {only.input_length}, output {only.decode_length} tokens, "
        f"{short(answer.system.capacity)} KV tokens",
        ", exact arithmetic" if answer.tolerance == 0 else ", float64",
    )
    page.rows(_story(answer, best, wasted))
    page.heading("Phases", ", by the number of stages that stay empty")
    header = ("iterations", "empty", "evicting", "evicted", "completed", "per iteration", "of x*")
    page.table(header, ends(_phases(answer, best), _ROWS))
    page.line("Requests, by the iterations that lead there; x* is the eviction-free rate.", "dim")


def _phases(answer: "Cascade", best: float) -> list[list[str]]:
    """A row for the iterations to X^first ... X^end, all with the same live positions."""
    n0, last = answer.iterations[0], answer.iterations[-1]
    firsts = [n0, *(loss.iteration for loss in answer.support_losses)]
    rows = []
    for first, end in zip(firsts, [*(n - 1 for n in firsts[1:]), last], strict=True):
        evictions = [e for e in answer.evictions if first <= e.iteration <= end]
        leading = range(max(first, n0 + 1), end + 1)
        completed = sum(float(answer.states[n - 1 - n0][-1]) for n in leading)
        rate = completed / max(1, len(leading))
        if answer.settled is not None and first <= answer.settled.iteration <= end:
            rate = float(answer.throughput)  # whole rounds of the cycle
        rows.append(
            [
                f"{first} to {end}" if end > first else str(first),
                str(answer.levels[first - n0]),
                str(len(evictions)),
                short(sum(float(e.requests) for e in evictions)),
                short(completed),
                short(rate),
                f"{rate / best:.0%}",
            ]
        )
    return rows


def _story(answer: "Cascade", best: float, wasted: float) -> list[Row]:
    last = answer.iterations[-1]
    first = f"none in {last:,} iterations"
    if answer.evictions:
        hit = answer.evictions[0]
        first = (
            f"iteration {hit.iteration:,}: {short(hit.requests)} requests, "
            f"{short(hit.tokens)} tokens"
        )
    settled = f"not within {last:,} iterations"
    if answer.settled is not None:
        within = "" if answer.tolerance == 0 else f" (within {answer.tolerance:g})"
        settled = f"{answer.settled.attractor}, from iteration {answer.settled.iteration:,}{within}"
    rate, (a, b) = float(answer.throughput), answer.window
    return [
        ("first eviction", first),
        ("settled", settled),
        (
            "throughput",
            f"{short(rate, 5)} per iteration over {a:,} to {b:,}; {percent(rate / best)} of x* = "
            f"{short(best, 5)}",
        ),
        ("wasted", f"{percent(wasted)} of memory-time up to {last:,}, on evicted requests"),
    ]


CASCADE = Question(
    name="cascade",
    ask=ask_cascade,
    say=say_cascade,
    notes=converted_rows,
    doing="following iterations",
    assumes=(
        "Memory is full and never lacks requests to admit, all of one input and one output length.",
        "Least progressed requests are evicted first, and start again; masses are real numbers.",
    ),
    examples=("fluidkv cascade --class 2:3 --capacity 24 --start 5/2,2,17/10 --exact",),
    time="iteration",
    sweep=None,
)
