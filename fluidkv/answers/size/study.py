"""The smallest memory, the highest rate or the fewest replicas that meet what is asked."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from fluidkv.answers.served.bias import OUTPUT, Bias, Totals
from fluidkv.answers.served.cases import Case
from fluidkv.answers.served.demand import Demand, Draws
from fluidkv.answers.served.experiment import Backend, bias_of
from fluidkv.answers.served.fresh import Horizon
from fluidkv.answers.served.memory import BLOCK_SIZES
from fluidkv.answers.served.setting import Setting, limits_of
from fluidkv.answers.served.slo import Slo
from fluidkv.answers.served.window import requests_of_log
from fluidkv.answers.size.nearly import Against, nearly_every
from fluidkv.answers.size.plan import Plan, planned
from fluidkv.answers.size.refusing import refuse
from fluidkv.answers.size.result import SizeAnswer
from fluidkv.answers.size.search import (
    WITHIN,
    Told,
    Tried,
    about,
    base_of,
    easier,
    first_grid,
    further,
    neighbours,
    other_ways,
)
from fluidkv.answers.size.sizes import AXES, Find, Size, cliff_of
from fluidkv.errors import InputError
from fluidkv.logs.timed import TimedRun
from fluidkv.runs.max_tokens import MaxTokens
from fluidkv.runs.requests import Requests
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.engines import served_engine, with_cache
from fluidkv.serving.limits import UNLIMITED, Limits
from fluidkv.serving.rules import EngineRules
from fluidkv.traces import Trace
from fluidkv.workload import Workload


def size_server(
    source: Workload | Trace,
    slos: Iterable[Slo],
    *,
    find: Find = "kv",
    capacity: int | None = None,
    rate: float | None = None,
    engine: str | EngineRules = "vllm+cache",
    clock: IterationClock | None = None,
    setting: Setting | None = None,
    block_size: int | None = None,
    max_num_batched_tokens: int | None = None,
    log: TimedRun | None = None,
    totals: Totals | None = None,
    requests: int | None = None,
    runs: int | None = None,
    seed: int = 0,
    draws: int | None = None,
    horizon: Horizon | None = None,
    max_tokens: MaxTokens | None = None,
    within: float = WITHIN,
    backend: Backend = "auto",
    on_progress: Told | None = None,
) -> SizeAnswer:
    """How much of something meets every SLO, in every run and in nearly every fresh draw.

    Sizes are tried on a grid, then between the last one that meets the SLOs and the first that does
    not, then with draws, then around the answer: a size that was tried, as is all that is said.

    Args:
        source: a workload, or a trace, all of which is run at its own times.
        slos: what must hold.
        find: "kv", the smallest memory; "rate", the highest rate of arrivals; "replicas", the
            fewest servers like today's, to which requests are dealt out in turn.
        capacity: KV tokens of today's server; needed for rates and replicas.
        rate: arrivals a unit of the clock: the times of a trace are stretched to it, a workload as
            Poisson arrivals. None: a trace's own.
        engine: as `serve` takes it.
        clock: duration of an iteration; None: the theory's, where each lasts 1.
        setting: caps and watermark; None: none.
        block_size: tokens; None: the engine's own.
        max_num_batched_tokens: most tokens an iteration computes.
        log: what was measured where these requests, all of them, were served with this engine and
            setting by today's memory. It says how far the simulation is off.
        totals: what else the log says.
        requests: in each run; None: 1,000, or all of a trace with times.
        runs: draws, or consecutive parts of a trace of so many requests; None: 2, or one of a
            trace.
        seed: of the first run; of draws others.
        draws: fresh ones that the answer is to hold for; None: 40, or 20 of a mix; 0: none.
        horizon: length of a draw; None: 3,000 requests.
        max_tokens: what clients ask for at most; None: what they get.
        within: an edge is narrowed until neighbours differ by no more than this share.
        backend: of `serve`.
        on_progress: told sizes tried, of about how many, and the answer so far.

    Raises:
        InputError: what `serve` and `Limits` refuse; a request that today's memory cannot hold; a
            bound on times to first token with a clock on which prefill costs nothing; no rate where
            requests have no times; more requests than a trace has; bounds that no size meets.

    Examples:
        >>> from fluidkv.answers import Slo
        >>> mix, slos = fk.Workload.from_lengths([(40, 30), (120, 60)]), [Slo("ttft_p99", 1.0)]
        >>> clock = fk.IterationClock(0.01, 1e-6, 1e-5)
        >>> small = {"engine": "vllm", "capacity": 256, "rate": 8.0, "requests": 20, "runs": 1}
        >>> found = fk.size_server(mix, slos, find="replicas", clock=clock, **small)
        >>> found.answer.replicas, found.edge.answer.replicas  # of fresh draws; of 20 requests
        (5, 2)
    """
    if not 0 < within < 1:
        raise InputError("within", within, "a share above 0 and below 1")
    plan = planned(
        source,
        tuple(slos),
        _server(engine, clock, setting or Setting(), block_size, max_num_batched_tokens),
        find=find,
        capacity=capacity,
        rate=rate,
        draws=Draws(requests_of_log(requests, log, Demand(replay=True)), runs, seed),
        fresh=draws,
        horizon=horizon or Horizon(),
        max_tokens=max_tokens,
        backend=backend,
    )
    bias = {} if log is None else _bias(plan, log, totals)
    tried = Tried(plan, on_progress, about(plan, against=bool(bias)))
    _first(tried, within)
    return _answer(tried, bias, within)


def _server(
    engine: str | EngineRules,
    clock: IterationClock | None,
    setting: Setting,
    block_size: int | None,
    max_num_batched_tokens: int | None,
) -> Case:
    """With all memory that there may be."""
    served = served_engine(engine)
    blocks = block_size or BLOCK_SIZES.get(served.rules.name, 1)
    caps = Limits(UNLIMITED - 1, blocks, max_num_batched_tokens=max_num_batched_tokens)
    limits, ticks = limits_of(caps, setting), clock or IterationClock.iterations()
    return Case(served, limits, ticks, clients=setting.clients)


def _first(tried: Tried, within: float) -> None:
    """The grid, and further out where the answer is not on it; refuses bounds that nothing meets.

    The engine that goes one by one serves memory for all requests first of all: what that misses,
    hardly any other size meets.
    """
    plan = tried.plan
    tried.run(first_grid(plan))
    new = [base_of(plan)]
    while tried.edge() is None and new:
        new = further(plan, list(tried.along), harder=False)
        tried.run(new)
    while tried.edge() is None and (finer := tried.finer(within)):
        tried.run(finer)
    while (edge := tried.edge()) is not None and edge.blocker is None and new:
        new = further(plan, list(tried.along), harder=True)
        tried.run(new)
    if tried.edge() is None:
        raise refuse(plan, tried.along)


def _answer(tried: Tried, bias: Mapping[str, Bias], within: float) -> SizeAnswer:
    plan = tried.plan
    answer = tried.narrow(within)
    tried.run(neighbours(plan, answer))  # what lies beside an answer may not hold
    answer = tried.narrow(within)
    nearly = None
    if plan.draws is not None:
        nearly = nearly_every(plan.draws, answer, within, tried.tell)
        if nearly.edge is not None and nearly.edge.answer != answer:
            tried.run([nearly.edge.answer, *neighbours(plan, nearly.edge.answer)])
            answer = plan.axis.harder_first([tried.narrow(within), nearly.edge.answer])[-1]
    tried.run([answer, *other_ways(plan, answer)], across=True)
    edge = tried.edge()
    assert edge is not None  # some size met it, and none was taken back
    tail = "ttft_p99" if plan.clock.prefills else "latency_p99"
    other = AXES["kv" if plan.axis.find == "rate" else "rate"]
    return SizeAnswer(
        plan=plan,
        along=tried.hardest_first,
        across=tried.across,
        edge=edge,
        nearly=nearly,
        bias=bias,
        against=_against(tried, bias, answer, within) if bias else None,
        cliff=cliff_of(plan.axis, answer, tried.along, tail),
        other=cliff_of(other, answer, tried.across, tail),
        within=within,
    )


def _against(tried: Tried, bias: Mapping[str, Bias], answer: Size, within: float) -> Against:
    """The same for a server that is slower, by as much as the simulation was off on its log.

    What a simulation misses on a log is above all how fast the server works. Near the cliff a
    server that is a little slower is much later, so no bound can simply be tightened: every
    iteration is taken to last longer by the largest error bar, of the output rate and of what the
    SLOs bound, as far as known, and the sizes are run again.
    """
    plan = tried.plan
    bounded = {OUTPUT, *(slo.metric for slo in plan.slos)}
    bar = max(one.error_bar for name, one in bias.items() if name in bounded)
    slow = replace(plan.server, clock=plan.clock.slower(bar))
    if plan.draws is not None:
        draws = replace(plan.draws, server=slow)
        nearly = nearly_every(draws, answer, within, tried.tell)
        return Against(bar, nearly.edge, nearly.along)
    again = Tried(replace(plan, server=slow), lambda count, *_: tried.tell(count))
    again.run(easier(plan, answer))
    if again.edge() is None:  # easier sizes may miss something else
        again.run(neighbours(plan, answer))
    if again.edge() is not None:
        again.narrow(within)
    return Against(bar, again.edge(), again.hardest_first)


def _bias(plan: Plan, log: TimedRun, totals: Totals | None) -> Mapping[str, Bias]:
    """What the simulation of the log's own server misses: its requests, at their own times.

    Raises:
        InputError: no capacity of today.
    """
    if plan.today is None:
        raise InputError("capacity", "none", "the KV tokens of the log's server")
    times = log.arrival_s - log.arrival_s[0]
    requests = Requests(log.input_lengths, log.decode_lengths, arrival=times)
    case = plan.case_of(Size(plan.today))
    prompts = plan.prompts[0] if with_cache(case.engine)[1] else None
    wanted = ("ttft_p99", "tpot_p99", "latency_p99", OUTPUT, *(slo.metric for slo in plan.slos))
    bias = bias_of(requests, prompts, case, log, wanted, totals)
    return {name: bias[name] for name in dict.fromkeys(wanted) if name in bias}
