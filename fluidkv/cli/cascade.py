"""`fluidkv cascade`: how one start collapses, phase by phase."""

import json
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from fluidkv.cli import arguments
from fluidkv.errors import InputError

if TYPE_CHECKING:
    from fluidkv.exact.one_class.cascade import Cascade
    from fluidkv.workload import System

# Numbers grow longer with every exact iteration, so that their number is what exactness costs.
HORIZON, EXACT_HORIZON = 10_000, 2_000

# More is refused before anything is run. All states are kept and looked at, some 12 us and 40 bytes
# a mass: minutes and 400 MB at most. Exact masses grow by log2(l0 + 1) bits an iteration, and time
# faster than the square of iterations: 3,000 that do not settle took two minutes (1000:20).
MOST_MASSES, EXACT_MOST_ITERATIONS = 10_000_000, 5_000

_START = "masses such as 5/2,2,17/10, one a decode stage"
_ROWS = 40  # of the table of phases


def cascade(
    class_: Annotated[
        list[str], typer.Option("--class", metavar="IN:OUT", help="The one request class.")
    ],
    capacity: Annotated[str, typer.Option(metavar="TOKENS", help="KV capacity.")],
    start: Annotated[
        str,
        typer.Option(
            metavar="X,X,...",
            help="Requests in each decode stage, decimals or fractions; they must fill memory.",
        ),
    ],
    exact: Annotated[
        bool, typer.Option("--exact", help="Rational arithmetic instead of float64.")
    ] = False,
    iterations: Annotated[
        str | None,
        typer.Option(
            metavar="N",
            help=rf"Horizon, at most {MOST_MASSES:,} over OUT, {EXACT_MOST_ITERATIONS:,} with "
            rf"--exact. \[default: {HORIZON:,}; {EXACT_HORIZON:,} with --exact]",
        ),
    ] = None,
    project: Annotated[
        bool, typer.Option("--project", help="Scale a start that does not fill memory.")
    ] = False,
    json_: Annotated[
        bool, typer.Option("--json", help="Print only JSON on standard output.")
    ] = False,
) -> None:
    """How does a server of equal requests collapse from a given state?

    Follows the saturated model: first eviction (preemption), every decode stage
    that goes empty for good, the cycle in which it settles, and what it costs.

    [bold]fluidkv cascade --class 2:3 --capacity 24 --start 5/2,2,17/10 --exact[/bold]
    """
    if len(class_) != 1 or class_[0].count(":") != 1:
        raise InputError("--class", " ".join(class_), "one class IN:OUT, such as 128:256")
    workload, tokens = arguments.request_classes(class_), arguments.capacity(capacity)
    horizon = _horizon(iterations, workload.longest_decode, exact)
    masses = [arguments.exact_number("--start", part, _START) for part in start.split(",")]

    from fluidkv.workload import System

    system = System(workload, tokens)
    first = _start(system, masses, project)
    found = _exact(system, first, horizon) if exact else _float(system, first, horizon)
    if json_:
        print(json.dumps(found.as_dict(), indent=2, allow_nan=False))
    else:
        _print(found, horizon, Console(highlight=False))


def _horizon(iterations: str | None, stages: int, exact: bool) -> int:
    most = max(1, MOST_MASSES // stages)
    if exact:
        most = min(most, EXACT_MOST_ITERATIONS)
    if iterations is None:
        return min(most, EXACT_HORIZON if exact else HORIZON)
    horizon = arguments.whole_number("--iterations", iterations, least=1)
    if horizon > most:
        allowed = f"1 to {most} where outputs have {stages} tokens"
        raise InputError("--iterations", iterations, allowed + (", exact" if exact else ""))
    return horizon


def _start(system: "System", masses: list[Fraction], project: bool) -> tuple[Fraction, ...]:
    from fluidkv.exact.one_class.trajectory import checked_start, projected_start

    try:
        return projected_start(system, masses) if project else checked_start(system, masses)
    except InputError as error:
        offer = "" if "scale" not in error.allowed else " (--project does)"
        raise InputError("--start", error.value, error.allowed + offer) from None


def _exact(system: "System", start: tuple[Fraction, ...], horizon: int) -> "Cascade":
    from fluidkv.exact.one_class.cascade import cascade as analyse
    from fluidkv.exact.one_class.trajectory import trajectory

    # One round of the cycle more, over which throughput is measured.
    states = trajectory(system, start, iterations=horizon, after_settling=len(start))
    return analyse(states, system)


def _float(system: "System", start: tuple[Fraction, ...], horizon: int) -> "Cascade":
    from fluidkv.exact.one_class.cascade import cascade as analyse
    from fluidkv.fluid import simulate

    first = [float(x) for x in start]
    states = simulate(system, [first], iterations=horizon, record="state")
    return analyse(states, system, start=first)


@dataclass(frozen=True)
class _Phase:
    """The iterations that lead to X^first ... X^last, all with the same live positions."""

    first: int
    last: int
    empty: int
    evictions: int
    evicted: float
    completed: float


def _phases(found: "Cascade") -> list[_Phase]:
    n0, last = found.iterations[0], found.iterations[-1]
    firsts = [n0, *(loss.iteration for loss in found.support_losses)]
    ends = [*(n - 1 for n in firsts[1:]), last]
    phases = []
    for first, end in zip(firsts, ends, strict=True):
        evictions = [e for e in found.evictions if first <= e.iteration <= end]
        leading = range(max(first, n0 + 1), end + 1)
        phases.append(
            _Phase(
                first,
                end,
                found.levels[first - n0],
                len(evictions),
                sum(float(e.requests) for e in evictions),
                sum(float(found.states[n - 1 - n0][-1]) for n in leading),
            )
        )
    return phases


def _print(found: "Cascade", horizon: int, console: Console) -> None:
    from fluidkv.exact.one_class.waste import waste
    from fluidkv.exact.survival import eviction_free_equilibrium

    best = float(eviction_free_equilibrium(found.system).rate)
    account = waste(found.states, found.system)
    only = found.system.workload.classes[0]
    arithmetic = "exact arithmetic" if found.tolerance == 0 else "float64"
    console.print(
        f"[bold]Input {only.input_length}, output {only.decode_length} tokens, "
        f"{float(found.system.capacity):,g} KV tokens[/bold], {arithmetic}\n"
    )
    for line in _story(found, best, horizon, float(account.wasted_share)):
        console.print(line, soft_wrap=True)
    console.print("\n[bold]Phases[/bold], by the number of stages that stay empty")
    phases = _phases(found)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for column in ("iterations", "empty", "evicting", "evicted", "completed", "an iteration"):
        table.add_column(column, justify="right")
    table.add_column("of x*", justify="right")
    for phase in _ends(phases):
        if phase is None:
            table.add_row(*["..."] * 7)
            continue
        count = phase.last - phase.first + 1
        rate = phase.completed / max(1, phase.last - max(phase.first, found.first + 1) + 1)
        if found.settled is not None and phase.first <= found.settled.iteration <= phase.last:
            rate = float(found.throughput)  # whole rounds of the cycle
        table.add_row(
            f"{phase.first} to {phase.last}" if count > 1 else str(phase.first),
            str(phase.empty),
            str(phase.evictions),
            f"{phase.evicted:,.4g}",
            f"{phase.completed:,.4g}",
            f"{rate:,.4g}",
            f"{rate / best:.0%}",
        )
    console.print(table)
    console.print("Requests, by the iterations that lead there; x* is the eviction-free rate.")


def _ends(phases: list[_Phase]) -> list[_Phase | None]:
    """All phases, or the first and the last of them with None between; --json lists all."""
    if len(phases) <= _ROWS:
        return list(phases)
    return [*phases[: _ROWS // 2], None, *phases[-_ROWS // 2 :]]


def _story(found: "Cascade", best: float, horizon: int, wasted: float) -> list[str]:
    lines = []
    if found.evictions:
        hit = found.evictions[0]
        lines.append(
            f"first eviction  iteration {hit.iteration:,}: {float(hit.requests):.4g} requests, "
            f"{float(hit.tokens):.4g} tokens"
        )
    else:
        lines.append(f"first eviction  none in {found.iterations[-1]:,} iterations")
    if found.settled is None:
        lines.append(f"settled         not within {horizon:,} iterations")
    else:
        lines.append(
            f"settled         {found.settled.attractor}, from iteration {found.settled.iteration:,}"
            + ("" if found.tolerance == 0 else f" (within {found.tolerance:g})")
        )
    rate, (a, b) = float(found.throughput), found.window
    lines.append(
        f"throughput      {rate:,.5g} an iteration over {a:,} to {b:,}; "
        f"{rate / best:.1%} of x* = {best:,.5g}"
    )
    last = found.iterations[-1]
    lines.append(f"wasted          {wasted:.1%} of memory-time up to {last:,}, on evicted requests")
    return lines
