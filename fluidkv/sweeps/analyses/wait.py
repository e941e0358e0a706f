"""WAIT at many points: one server that admits by thresholds, by counts alone."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

from fluidkv.errors import InputError
from fluidkv.questions.kinds import Exact, Number, Whole
from fluidkv.sweeps.analyses.systems import DECODE, INPUT, classes_of
from fluidkv.sweeps.analysis import SEED, Analysis, Row, Setting, Variable

if TYPE_CHECKING:
    from fluidkv.wait.model import WaitSystem

_TIMES = Exact(0, 10**9)
_FROM_0 = Exact(-1, 10**9)


class _Waiting(NamedTuple):
    system: "WaitSystem"
    thresholds: tuple[int, ...]
    horizon: float
    memory: float | None
    seed: int


def _waiting(row: Row) -> _Waiting:
    from fluidkv.wait.model import PromptType, WaitSystem

    rates, inputs, outputs, thresholds = classes_of(
        row, "arrival_rate", "input_length", "decode_length", "threshold"
    )
    types = [PromptType(*each) for each in zip(rates, inputs, outputs, strict=True)]
    for name in ("per_kv_token", "per_prefill_token"):
        if row[name] < 0:
            raise InputError(name, str(row[name]), "a number of at least 0")
    system = WaitSystem(types, row["base"], row["per_kv_token"], row["per_prefill_token"])
    return _Waiting(system, thresholds, row["run_time"], row["memory"], row["seed"])


def _chains(points: Sequence[_Waiting]) -> Mapping[str, Any]:
    """Points of one seed and as many types in one call; none knows of the others."""
    from fluidkv.wait.chain.simulate import simulate_chain
    from fluidkv.wait.theory.thresholds import batch_memory, iteration_time

    systems, thresholds, horizons, memories, seeds = zip(*points, strict=True)
    runs = simulate_chain(
        systems,
        thresholds,
        horizon=horizons,
        seed=seeds[0],
        memory=None if memories[0] is None else memories,
    ).isel(run=0)
    arrival_rates = [float(each.arrival_rate) for each in systems]
    return {
        **{name: runs[name] for name in ("completed", "in_system", "peak_held")},
        "throughput": runs.completed / runs.time,
        "latency": runs.in_system / arrival_rates,
        "waited_share": runs.stuck / runs.iterations,
        "exceeded": runs.get("exceeded"),
        "iteration_time": [float(iteration_time(*each[:2])) for each in points],
        "batch_memory": [float(batch_memory(*each[:2])) for each in points],
    }


WAIT = Analysis(
    name="wait",
    title="What do thresholds of WAIT achieve?",
    call="fluidkv.wait.simulate_chain",
    settings=(
        Setting("arrival_rate", _TIMES, "prompts that come", "request / time", each_class=True),
        INPUT,
        DECODE,
        Setting("threshold", Whole(1, 65_535), "prompts that a batch waits for", each_class=True),
        Setting("base", _TIMES, "d0, an iteration without tokens", "time"),
        Setting("per_kv_token", _FROM_0, "d1, for each token held", "time / token"),
        Setting("per_prefill_token", _FROM_0, "d2, for each token of prefill", default=Fraction(0)),
        Setting("run_time", Number(above=0), "horizon", "time", default=1000.0),
        Setting("memory", Number(above=0), "a level of tokens", "token", default=None),
        SEED,
    ),
    variables=(
        Variable("completed", "prompts that were served", "request", "int"),
        Variable("throughput", "prompts served", "request / time"),
        Variable("in_system", "prompts in the system, mean over time", "request"),
        Variable("latency", "time of a prompt in the system, by Little's law", "time"),
        Variable("peak_held", "most tokens in memory", "token"),
        Variable("waited_share", "share of iterations that waited first"),
        Variable("exceeded", "when memory first went above the level", "time"),
        Variable("iteration_time", "of a full batch, by the fluid", "time"),
        Variable("batch_memory", "tokens of full batches", "token"),
    ),
    admit=_waiting,
    find=_chains,
    together=lambda point: (point.seed, len(point.thresholds), point.memory is None),
    chunk=1024,
    alone=True,
)
