"""What a recommendation shows: settings on the same requests, and which to take."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from fluidkv.answers.recommend.records import Choice, Gain, WhatIf
from fluidkv.answers.served.described import BIAS, STRETCH, below, clock_json, cost_keys
from fluidkv.answers.served.published import Published, misses_of
from fluidkv.plain import finite
from fluidkv.questions.answer import Answer, Described, described
from fluidkv.report.page import Row

if TYPE_CHECKING:
    import xarray as xr

    from fluidkv.answers.recommend.choosing import Gains
    from fluidkv.answers.recommend.likes import Likes
    from fluidkv.answers.recommend.runs import Plan, Ran
    from fluidkv.answers.served.bias import Bias, Totals
    from fluidkv.answers.served.cost import Cost
    from fluidkv.answers.served.setting import Setting

_PLAN = (
    ("engine.name", "text", "whose rules are run"),
    ("engine.version", "text", "whose rules these are"),
    ("engine.text", "text", "as asked for"),
    ("prefix_cache", "yes/no", "whether a preempted request finds what is left of itself"),
    ("capacity", "tokens", "KV memory"),
    ("block_size", "tokens", "of a KV block"),
    ("max_num_batched_tokens", "tokens", "most of an iteration; null: no limit"),
    ("demand.*", "", "`kind` (saturated, rate, clients, replay), `rate`, `clients`, `speed`"),
    ("window", "", "→ [window](#window)"),
    ("clock", "", "→ [clock](#clock)"),
    ("equilibrium.rate", "per iteration", "x*, completions of a full memory without eviction"),
    ("equilibrium.in_flight", "requests", "that memory carries then"),
    ("objective", "text", "what the pick is the best in"),
    ("slos.*", "as the metric", "bounds, by metric"),
)
SETTING_KEYS = (
    ("watermark", "share", "of blocks that admission leaves free"),
    ("max_num_seqs", "count", "most requests running at once; null: no cap"),
    ("admission_rate", "per iteration", "requests let in; null: no cap"),
    ("clients", "count", "requests in the system at once; null: no clients"),
    ("conservativeness", "number", "SGLang's; null: the engine's own, or none"),
    ("metrics", "", "→ [metrics](#metrics)"),
    ("gains", "", "if there is a log or another to hold it against, by metric; else null"),
    *below("gains.*", tuple(Gain.json_keys())),
)
"""Keys of a setting that was run."""
_FINDINGS = (
    ("simulated.evidence", "text", "how this is known: sampled"),
    ("simulated.settings", "count", "that were run"),
    (
        "simulated.settings_left_out",
        "count",
        "pairs of values left out: one is not the best alone",
    ),
    ("simulated.runs_each", "count", "of each setting"),
    ("simulated.requests_each", "count", "of each run"),
    ("simulated.iterations", "iterations", "of a run; null: until all are served"),
    ("simulated.warm_up", "iterations", "left out at the start"),
    ("simulated.unfinished", "count", "runs without an end"),
    ("simulated.all_start", "yes/no", "whether runs are too short for a pick"),
    ("nothing_to_gain", "yes/no", "whether only today's setting was run"),
    ("now", "", "today → [setting](#setting)"),
    *below("measured", BIAS),
    (
        "measured_preemptions.count",
        "count",
        "if there is a log: preemptions in it, or more",
    ),
    ("measured_preemptions.counted", "yes/no", "if there is a log: whether it counts them"),
    ("pick", "", "what to take → [setting](#setting)"),
    ("candidate", "", "if every simulated difference were the server's → [setting](#setting)"),
    ("pick_at_hand", "", "with flags of the logged version → [setting](#setting)"),
    ("pick_in_front", "", "with a rate limiter, where it gains more → [setting](#setting)"),
    ("closest", "", "where nothing meets what is asked → [setting](#setting)"),
    ("flags.*", "text", "of the pick"),
    ("needs.*", "text", "flag of the pick -> version that has it"),
    *below("published[]", tuple(Published.json_keys())),
    ("frontier[]", "", "what no other setting beats → [setting](#setting)"),
    ("end_of_preemption", "share", "smallest watermark tried without a preemption"),
    ("draws.count", "count", "fresh draws; without any `draws` is null"),
    ("draws.requests", "count", "in the largest draw"),
    *below("draws.stretch", STRETCH),
    ("draws.settings[].setting", "count", "its number; 0 as it is now"),
    ("draws.settings[].meet_slos", "count", "draws that meet every SLO"),
    *below("draws.settings[].gains.*", tuple(Gain.json_keys())),
    *below("what_if[]", tuple(WhatIf.json_keys())),
    *cost_keys("of the server as it is set (`now`) and the best that was tried (`tried`)"),
)


def _plan_json(plan: "Plan") -> dict[str, Any]:
    """What was asked for and of whom."""
    demand, engine, limits = plan.demand, plan.engine, plan.limits
    numbers = {name: getattr(demand, name) for name in ("rate", "clients", "speed")}
    return {
        "engine": {
            "name": engine.rules.name,
            "version": engine.rules.version,
            "text": engine.name,
        },
        "prefix_cache": engine.caching,
        "capacity": limits.capacity,
        "block_size": limits.block_size,
        "max_num_batched_tokens": limits.max_num_batched_tokens,
        "demand": {"kind": demand.kind}
        | {name: value for name, value in numbers.items() if value not in (None, 1.0)},
        "window": None if plan.window is None else plan.window.to_dict(),
        "clock": clock_json(plan.clock),
        "equilibrium": {
            "rate": float(plan.equilibrium.rate),
            "in_flight": float(plan.equilibrium.in_flight),
        },
        "objective": plan.felt[0],
        "slos": {slo.metric: slo.bound for slo in plan.slos},
    }


class Picks(NamedTuple):
    """What to take, of three kinds of settings.

    Fields:
        of_engine: with flags of the engine, in any version that we know.
        at_hand: with flags that the server's version has; the same where it has all.
        in_front: also with what no engine has a flag for, a rate limiter or fewer clients.
    """

    of_engine: Choice
    at_hand: Choice
    in_front: Choice


@dataclass(frozen=True, eq=False)
class Recommendation(Answer):
    """Settings of a server on the same requests, and which to take; indices are of settings.

    Fields:
        version: of the server, where it is known.
        ran: what was run for it, metrics [setting, run].
        gains: of every setting on the server as it is.
        frontier: settings that no other beats in all objectives, by their means; of settings with
            the same means, the one with the fewest knobs turned.
        picks: what to take: nothing, of runs that are mostly start.
        end_of_preemption: smallest watermark, all else as now, with which no run preempts; None
            if none that was tried, or if runs are mostly start.
        unfinished: runs that did not end as runs of this kind should.
        what_if: with more memory, longer prompts and so on; empty where it was not run.
        likes: the picks, or what would be, on fresh draws; None: none was to be run.
        totals: what the log says of the run as a whole; None: there is none.
        cost: of the server; None: no price is known.
        name: of the workload.
        notes: rows on how options and files were read.

    Examples:
        >>> mix = fk.Workload.from_lengths([(8, 10), (8, 20)])
        >>> small = {"requests": 104, "runs": 2, "backend": "reference"}
        >>> tried = {"max_num_seqs": [12], "watermark": [], "admission_rate": []}
        >>> answer = fk.recommend_settings(mix, 400, candidates=tried, **small)
        >>> [setting.max_num_seqs for setting in answer.settings]
        [None, 12]
        >>> answer.flags(1), answer.frontier, round(answer.gain(1, "output_throughput"), 3)
        ((('--max-num-seqs', '12'),), (0, 1), -0.273)
    """

    plan: Annotated["Plan", Described("what is asked", flat=True, json=_plan_json, below=_PLAN)]
    version: Annotated[str | None, Described("version of the log's engine", key="logged_version")]
    ran: "Ran"
    gains: "Gains"
    frontier: tuple[int, ...]
    picks: Picks
    end_of_preemption: int | None
    unfinished: int
    what_if: tuple[WhatIf, ...]
    likes: "Likes | None" = None
    totals: "Totals | None" = None
    cost: "Cost | None" = None
    name: str = ""
    notes: Sequence[Row] = ()

    @property
    def label(self) -> str:
        """The engine and its version as asked for, without what is said of a cache."""
        from fluidkv.serving.engines import CACHE

        return self.plan.engine.label.replace(CACHE, "")

    @property
    def settings(self) -> "tuple[Setting, ...]":
        """What was run; the first is how the server is set now."""
        return self.ran.settings

    @property
    def table(self) -> "xr.Dataset":
        """Metrics [setting, run], from `fluidkv.runs.measuring`; coordinates are the knobs."""
        return self.ran.table

    @property
    def runs(self) -> int:
        """Runs of each setting, with other requests each."""
        return self.table.sizes["run"]

    @property
    def bias(self) -> "Mapping[str, Bias]":
        """Metric -> measured beside simulated, now; empty where no log of this server is given."""
        return self.gains.bias

    @property
    def throughput(self) -> str:
        """The metric to make large."""
        return self.plan.objectives[0]

    @property
    def tails(self) -> tuple[str, ...]:
        """The metrics of the frontier that are tails of times."""
        return self.plan.objectives[2:]

    @property
    def felt(self) -> tuple[str, ...]:
        """What the pick is about: the objective, then what else users feel."""
        return self.plan.felt

    @property
    def choice(self) -> Choice:
        """What to take of the settings that the engine has flags for."""
        return self.picks.of_engine

    @property
    def best(self) -> int | None:
        """The best that was tried, taken or not; None: none is better than what is set."""
        return self.choice.index or self.choice.candidate or self.choice.closest or None

    @property
    def left(self) -> bool:
        """Whether the server is left as it is although the rule alone would take something."""
        return self.choice.index == 0 and self.choice.candidate not in (None, 0)

    @property
    def pick_in_front(self) -> int | None:
        """What a rate limiter or fewer clients gain beyond the pick; None where they do not."""
        from fluidkv.answers.recommend.settings import of_the_engine

        index = self.picks.in_front.index
        return None if index is None or index in of_the_engine(self.settings) else index

    @property
    def to_take(self) -> bool:
        """Whether there is a setting to take, be it with a rate limiter in front."""
        return self.choice.index is not None or self.pick_in_front is not None

    def mean(self, index: int, metric: str) -> float:
        """Over the runs of a setting; NaN where a run has no value."""
        return float(self.table[metric].values[index].mean())

    def gain(self, index: int, metric: str) -> float:
        """Of a setting against now, relative, by the means over runs, simulated both."""
        from fluidkv.answers.served.paired import gained

        return gained(self.mean(index, metric), self.mean(0, metric))

    def flags(self, index: int) -> tuple[tuple[str, str], ...]:
        """(flag, value) for what differs from now and has a flag in this engine."""
        from fluidkv.answers.recommend.settings import flags_of

        return flags_of(self.plan.engine.rules, self.settings[index], self.settings[0])

    def needs(self, index: int) -> tuple[tuple[str, str], ...]:
        """(flag, first version known to have it) for the flags that the server lacks."""
        from fluidkv.answers.recommend.settings import needs_of

        rules = self.plan.engine.rules
        return needs_of(rules, self.settings[index], self.settings[0], self.version)

    def costs(self) -> dict[str, Any]:
        """Of a million output tokens, as it is set and by the best that was tried."""
        from fluidkv.answers.served.bias import OUTPUT

        if self.cost is None:
            return {}
        places = {"now": 0} | ({"tried": self.best} if self.best else {})
        per_million = {
            name: self.cost.per_million(self.mean(index, OUTPUT)) for name, index in places.items()
        }
        return self.cost.values(**per_million)

    def to_xarray(self) -> "xr.Dataset":
        """Metrics [setting, run]; coordinates are the knobs."""
        return self.table

    @described("what was run, and what is found", flat=True, below=_FINDINGS)
    def findings(self) -> dict[str, Any]:
        """What was run, and what it says."""
        choice, plan, totals = self.choice, self.plan, self.totals
        index, end = choice.index, self.end_of_preemption
        turned = self.settings[choice.candidate or 0].changed(self.settings[0])
        logged = None if totals is None else totals.preemptions
        return {
            "simulated": {
                "evidence": "sampled",
                "settings": len(self.settings),
                "settings_left_out": self.ran.left_out,
                "runs_each": self.runs,
                "requests_each": plan.size,
                "iterations": plan.horizon,
                "warm_up": plan.warm_up * plan.every,
                "unfinished": self.unfinished,
                "all_start": plan.short,
            },
            "nothing_to_gain": self.ran.nothing_to_gain,
            "now": self._row(0),
            "measured": {name: bias.to_dict() for name, bias in self.bias.items()} or None,
            "measured_preemptions": None
            if totals is None or logged is None
            else {"count": logged, "counted": totals.counted},
            "pick": self._row(index),
            "candidate": self._row(choice.candidate),
            "pick_at_hand": self._row(self.picks.at_hand.index),
            "pick_in_front": self._row(self.pick_in_front),
            "closest": self._row(choice.closest),
            "flags": {} if index is None else dict(self.flags(index)),
            "needs": {} if index is None else dict(self.needs(index)),
            "published": [benchmark.to_dict() for benchmark in misses_of(turned)],
            "frontier": [self._row(place) for place in self.frontier],
            "end_of_preemption": None if end is None else self.settings[end].watermark,
            "draws": None if self.likes is None else self.likes.to_dict(),
            "what_if": [row.to_dict() for row in self.what_if],
            **self.costs(),
        }

    def _row(self, index: int | None) -> dict[str, Any] | None:
        if index is None:
            return None
        setting = self.settings[index]
        rate = setting.admission_rate
        return {
            **vars(setting),
            "admission_rate": None if rate is None else float(rate),
            "metrics": {
                str(name): finite(float(column.values[index].mean()))
                for name, column in self.table.data_vars.items()
            },
            "gains": {name: self.gains.of(index, name).to_dict() for name in self.felt}
            if index
            else {},
        }
