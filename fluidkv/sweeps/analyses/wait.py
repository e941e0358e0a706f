"""WAIT at many points: one server that admits by thresholds, by counts alone."""

from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

from fluidkv.errors import InputError
from fluidkv.sweeps.analyses.systems import classes_of
from fluidkv.sweeps.analysis import SEED, Analysis, Row, Setting, Variable, one_by_one
from fluidkv.sweeps.kinds import Exact, Number, Whole

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


def _find(asked: _Asked) -> dict[str, Any]:
    from fluidkv.wait.chain.simulate import simulate_chain
    from fluidkv.wait.theory.thresholds import batch_memory, iteration_time

    system, thresholds, row = asked
    run = simulate_chain(
        system,
        thresholds,
        horizon=row["run_time"],
        seed=row["seed"],
        memory=row["memory"],
    ).isel(run=0)
    time, present = float(run.time), float(run.in_system)
    return {
        "completed": int(run.completed),
        "throughput": int(run.completed) / time,
        "in_system": present,
        "latency": present / float(system.arrival_rate),
        "peak_held": float(run.peak_held),
        "waited_share": int(run.stuck) / int(run.iterations),
        "exceeded": float(run.exceeded) if "exceeded" in run else None,
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
    compute=one_by_one(VARIABLES, _asked, _find),
    chunk=64,
)
