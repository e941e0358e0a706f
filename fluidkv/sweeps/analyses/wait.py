"""WAIT at many points: one server that admits by thresholds, by counts alone."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

from fluidkv.errors import InputError
from fluidkv.questions.kinds import Exact, Number, Whole
from fluidkv.sweeps.analyses.systems import classes_of
from fluidkv.sweeps.analysis import SEED, Analysis, Arrays, Points, Row, Setting, Sheet, Variable

if TYPE_CHECKING:
    from fluidkv.wait.model import WaitSystem

_TIMES = Exact(0, 10**9)
_FROM_0 = Exact(-1, 10**9)
SETTINGS = (
    Setting("arrival_rate", _TIMES, "prompts that come", "request / time", each_class=True),
    Setting("input_length", Whole(), "prompt tokens", "token", each_class=True),
    Setting("decode_length", Whole(), "output tokens", "token", each_class=True),
    Setting("threshold", Whole(1, 65_535), "prompts that a batch waits for", each_class=True),
    Setting("base", _TIMES, "d0, an iteration without tokens", "time"),
    Setting("per_kv_token", _FROM_0, "d1, for each token held", "time / token"),
    Setting("per_prefill_token", _FROM_0, "d2, for each token of prefill", default=Fraction(0)),
    Setting("run_time", Number(above=0), "horizon", "time", default=1000.0),
    Setting("memory", Number(above=0), "a level of tokens", "token", default=None, optional=True),
    SEED,
)
VARIABLES = (
    Variable("completed", "prompts that were served", "request", "int"),
    Variable("throughput", "prompts served", "request / time"),
    Variable("in_system", "prompts in the system, mean over time", "request"),
    Variable("latency", "time of a prompt in the system, by Little's law", "time"),
    Variable("peak_held", "most tokens in memory", "token"),
    Variable("waited_share", "share of iterations that waited first"),
    Variable("exceeded", "when memory first went above the level", "time"),
    Variable("iteration_time", "of a full batch, by the fluid", "time"),
    Variable("batch_memory", "tokens of full batches", "token"),
)


class _Asked(NamedTuple):
    system: "WaitSystem"
    thresholds: tuple[int, ...]
    row: Row


def _asked(row: Row) -> _Asked:
    from fluidkv.wait.model import PromptType, WaitSystem

    rates, inputs, outputs, thresholds = classes_of(
        row, "arrival_rate", "input_length", "decode_length", "threshold"
    )
    types = [PromptType(*each) for each in zip(rates, inputs, outputs, strict=True)]
    for name in ("per_kv_token", "per_prefill_token"):
        if row[name] < 0:
            raise InputError(name, str(row[name]), "a number of at least 0")
    system = WaitSystem(types, row["base"], row["per_kv_token"], row["per_prefill_token"])
    return _Asked(system, thresholds, row)


def _compute(points: Points) -> Arrays:
    """All points of one seed and as many types in one call; none knows of the others."""
    sheet = Sheet(points.size, VARIABLES, {})
    groups: dict[tuple[Any, ...], list[tuple[int, _Asked]]] = defaultdict(list)
    for place, row, asked in points.admitted(_asked):
        levels = row["memory"] is not None
        groups[row["seed"], len(asked.thresholds), levels].append((place, asked))
    for (seed, _, levels), members in groups.items():
        each = [asked for _, asked in members]
        for (place, _), found in zip(members, _found(each, seed, levels), strict=True):
            sheet.put(place, found)
    return sheet.arrays


def _found(each: Sequence[_Asked], seed: int, levels: bool) -> Iterator[dict[str, Any]]:
    from fluidkv.wait.chain.simulate import simulate_chain
    from fluidkv.wait.theory.thresholds import batch_memory, iteration_time

    runs = simulate_chain(
        [asked.system for asked in each],
        [asked.thresholds for asked in each],
        horizon=[asked.row["run_time"] for asked in each],
        seed=seed,
        memory=[asked.row["memory"] for asked in each] if levels else None,
    ).isel(run=0)
    of_run = {str(name): column.values for name, column in runs.data_vars.items()}
    for number, (system, thresholds, _) in enumerate(each):
        run = {name: values[number] for name, values in of_run.items()}
        yield {
            "completed": run["completed"],
            "throughput": run["completed"] / run["time"],
            "in_system": run["in_system"],
            "latency": run["in_system"] / float(system.arrival_rate),
            "peak_held": run["peak_held"],
            "waited_share": run["stuck"] / run["iterations"],
            "exceeded": run.get("exceeded"),
            "iteration_time": float(iteration_time(system, thresholds)),
            "batch_memory": float(batch_memory(system, thresholds)),
        }


WAIT = Analysis(
    name="wait",
    title="What do thresholds of WAIT achieve?",
    call="fluidkv.wait.simulate_chain",
    settings=SETTINGS,
    variables=VARIABLES,
    admit=_asked,
    compute=_compute,
    chunk=1024,
    alone=True,
)
