"""The modelled clock against servers that were measured: how far off it is, and where.

`measured.csv` records steps and prefill tokens of measured servers, each with where it is from. The
three round numbers of `modelled_clock` were chosen with these in sight, all but those that are
`held_out`: the range is of servers that were seen, and another one may be farther off.
"""

from dataclasses import dataclass
from functools import cache
from typing import Literal

from fluidkv.record import Record
from fluidkv.serving.machines.efficiencies import bar, first_token_wait, is_measured, kind_of
from fluidkv.serving.machines.gpus import Gpu, gpu_named, rows_of
from fluidkv.serving.machines.models import Model, model_named
from fluidkv.serving.machines.named import NamedClock
from fluidkv.serving.machines.pool import kv_tokens_left
from fluidkv.serving.machines.roofline import batch_limit, modelled_clock


@dataclass(frozen=True)
class Comparison(Record):
    """One measured duration beside the modelled one.

    Fields:
        server, model, gpu, engine, source: whose, and from where.
        what: "step", decoding alone, or "prefill", a token of it.
        running, kv_tokens: of the step; running None: not known.
        prefill_tokens: tokens in a row, of a prefill.
        measured_s, modelled_s: seconds.
        held_out: not looked at before the shares were chosen.
        inside: the batch is one that the modelled clock holds for.

    Examples:
        >>> from fluidkv.serving.machines.against import compared
        >>> row = next(each for each in compared() if each.what == "step")
        >>> row.server, row.running, row.kv_tokens
        ('vllm-rtx4090', 49, 41352)
        >>> row.measured_s, round(row.modelled_s, 5), round(row.error, 3)
        (0.02564, 0.02633, 0.027)
    """

    server: str
    model: str
    gpu: str
    engine: str
    source: str
    what: Literal["step", "prefill"]
    running: int | None
    kv_tokens: int
    prefill_tokens: int
    measured_s: float
    modelled_s: float
    held_out: bool
    inside: bool

    @property
    def error(self) -> float:
        """Modelled over measured, less 1: above 0, the model is too slow."""
        return self.modelled_s / self.measured_s - 1


@dataclass(frozen=True)
class PoolComparison(Record):
    """The KV tokens of a measured server beside those of `kv_tokens_left`.

    Fields:
        server, model, gpu, engine, source: whose, and from where.
        utilisation: share of the memory that the engine took.
        measured, modelled: tokens.

    Examples:
        >>> from fluidkv.serving.machines.against import pools
        >>> row = pools()[0]
        >>> row.server, row.measured, row.modelled, round(row.error, 4)
        ('vllm-rtx4090', 41408, 42131, 0.0175)
    """

    server: str
    model: str
    gpu: str
    engine: str
    source: str
    utilisation: float
    measured: int
    modelled: int

    @property
    def error(self) -> float:
        """Modelled over measured, less 1."""
        return self.modelled / self.measured - 1


@cache
def compared() -> tuple[Comparison, ...]:
    """All rows of `measured.csv`.

    Examples:
        >>> from fluidkv.serving.machines.against import compared
        >>> errors = [each.error for each in compared() if each.inside and each.what == "step"]
        >>> len(errors), round(min(errors), 2), round(max(errors), 2)
        (11, -0.31, 0.21)
    """
    return tuple(map(_comparison, rows_of("measured.csv")))


@cache
def pools() -> tuple[PoolComparison, ...]:
    """All rows of `pools.csv`: servers whose share of the memory is known.

    Examples:
        >>> from fluidkv.serving.machines.against import pools
        >>> len(pools()), round(max(abs(each.error) for each in pools()), 2)
        (3, 0.14)
    """
    return tuple(map(_pool, rows_of("pools.csv")))


def error_range(what: Literal["step", "prefill"]) -> tuple[float, float, int]:
    """Least and greatest error of steps or prefills, where the clock holds; and of how many
    servers.

    Examples:
        >>> from fluidkv.serving.machines.against import error_range
        >>> least, greatest, servers = error_range("step")
        >>> round(least, 2), round(greatest, 2), servers
        (-0.31, 0.21, 8)
    """
    rows = [row for row in compared() if row.what == what and row.inside]
    errors = [row.error for row in rows]
    return min(errors), max(errors), len({row.server for row in rows})


def modelled_caveat() -> str:
    """What to say beside an answer on a modelled clock.

    Examples:
        >>> from fluidkv.serving.machines.against import modelled_caveat
        >>> print(modelled_caveat())
        modelled, not measured: of 8 servers measured or profiled its steps were -31% to +21% off...
    """
    low, high, servers = error_range("step")
    first, last, prefills = error_range("prefill")
    return (
        f"modelled, not measured: of {servers} servers measured or profiled its steps were "
        f"{low:+.0%} to {high:+.0%} off, of {prefills} its prefill {first:+.0%} to {last:+.0%}"
    )


def caveat_of(named: NamedClock) -> str:
    """What to say beside an answer on a named clock; "": nothing.

    Examples:
        >>> from fluidkv.serving.machines.named import named_clock
        >>> from fluidkv.serving.machines.against import caveat_of
        >>> caveat_of(named_clock("vllm-llama3.1-8b-rtx4090"))
        ''
        >>> caveat_of(named_clock("llama-3.1-8b@h100")).partition(";")[0]
        'modelled, not measured'
    """
    if named.kind != "modelled":
        return ""
    model, gpu = model_named(named.model), gpu_named(named.gpu)
    return _bars_of(model, gpu) if gpu.generation else modelled_caveat()


def _bars_of(model: Model, gpu: Gpu) -> str:
    measured = is_measured(model)
    whose = kind_of(model, gpu) if measured else "models left out of the fit, as this one is"
    said = []
    for metric, title in (("tpot", "TPOT"), ("throughput", "throughput"), ("ttft", "TTFT")):
        one = bar(model, gpu, metric)
        said.append(
            f"{title} {one.mean:.0%} off on average, 90 % of them {one.low:.2f} to {one.high:.2f}"
        )
    rows = bar(model, gpu, "tpot").rows
    return (
        f"modelled, not measured; of {rows} measured closed loops that it was not fitted to "
        f"({whose}), measured over modelled: {'; '.join(said)}"
    )


def cautions_of(named: NamedClock) -> tuple[str, ...]:
    """What a named clock does not have, one sentence each.

    Examples:
        >>> from fluidkv.serving.machines.named import named_clock
        >>> from fluidkv.serving.machines.against import cautions_of
        >>> cautions_of(named_clock("llama-3.1-8b@rtx-4090"))
        ()
        >>> len(cautions_of(named_clock("gpt-oss-120b@h100")))
        2
    """
    if named.kind != "modelled":
        return ()
    model, gpu, found = model_named(named.model), gpu_named(named.gpu), []
    if model.windowed:
        found.append(
            f"{model.windowed} of the {model.layers} layers of {model.name} keep the last "
            f"{model.window:,} tokens only: KV tokens are those of the other layers, which is not "
            "the number that a server prints"
        )
    if gpu.generation:
        step = named.clock.duration(0, 0, decoding=32)
        wait = first_token_wait(named.engine, 1024, step)
        found.append(
            "before a first token measured clients also waited for the front end and the "
            f"scheduler, which no iteration has: {1e3 * wait:.0f} ms for 1,024 tokens and 32 "
            "requests"
        )
    return tuple(found)


def pool_caveat() -> str:
    """What to say beside a number of tokens that a GPU has left for a model.

    Examples:
        >>> from fluidkv.serving.machines.against import pool_caveat
        >>> pool_caveat()
        'modelled, not measured: on 3 measured servers -14% to +2% off'
    """
    errors = [row.error for row in pools()]
    return (
        f"modelled, not measured: on {len(errors)} measured servers {min(errors):+.0%} to "
        f"{max(errors):+.0%} off"
    )


def _pool(row: dict[str, str]) -> PoolComparison:
    model, gpu, share = model_named(row["model"]), gpu_named(row["gpu"]), float(row["utilisation"])
    return PoolComparison(
        server=row["server"],
        model=model.name,
        gpu=gpu.name,
        engine=row["engine"],
        source=row["source"],
        utilisation=share,
        measured=int(row["tokens"]),
        modelled=kv_tokens_left(model, gpu, utilisation=share),
    )


def _comparison(row: dict[str, str]) -> Comparison:
    model, gpu = model_named(row["model"]), gpu_named(row["gpu"])
    clock = modelled_clock(model, gpu)
    running = int(row["running"]) if row["running"] else None
    kv, tokens = (int(row[name] or 0) for name in ("kv_tokens", "prefill_tokens"))
    prefill = row["what"] == "prefill"
    # A token of a row of S is in (S + 1) / 2 pairs on average.
    of_token = clock.per_prefill_token + clock.per_prefill_pair * (tokens + 1) / 2
    return Comparison(
        server=row["server"],
        model=model.name,
        gpu=gpu.name,
        engine=row["engine"],
        source=row["source"],
        what="prefill" if prefill else "step",
        running=running,
        kv_tokens=kv,
        prefill_tokens=tokens,
        measured_s=float(row["seconds"]),
        modelled_s=of_token if prefill else clock.duration(kv, 0),
        held_out=row["held_out"] == "yes",
        inside=(running or 0) <= batch_limit(model, gpu),
    )
