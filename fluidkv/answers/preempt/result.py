"""What `fluidkv preempt` reports."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from fluidkv.answers.served.described import BIAS, GAP, below, clock_json
from fluidkv.plain import finite
from fluidkv.questions.answer import Answer, Described, described
from fluidkv.report.page import Row

if TYPE_CHECKING:
    import xarray as xr

    from fluidkv.answers.preempt.effects import Effects
    from fluidkv.answers.preempt.objectives import Objectives
    from fluidkv.answers.preempt.pick import Aim, Pick
    from fluidkv.answers.preempt.rules import Combination
    from fluidkv.answers.served.bias import Bias
    from fluidkv.answers.served.demand import Demand
    from fluidkv.answers.served.paired import Against
    from fluidkv.answers.served.window import Window
    from fluidkv.preempt.slo import MeanTimes
    from fluidkv.serving.clock import IterationClock
    from fluidkv.serving.limits import Limits
    from fluidkv.serving.rules import EngineRules


@dataclass(frozen=True, eq=False)
class PreemptAnswer(Answer):
    """Every combination of rules on one workload; indices are of combinations.

    Fields:
        objectives: what is to be met by each request; None: nothing.
        times: the mean times that a scale of objectives is a multiple of; else None.
        combinations: a full grid; the first is what the engine does.
        table: metrics [combination, run]; all combinations serve the same requests in a run.
        against: metric -> difference from the first combination.
        aims: what is to be had.
        knows: combinations that look at true lengths, as no server can: as predictions, or as
            `max_tokens`.
        name: of the workload.
        notes: rows on how options and files were read.

    Examples:
        >>> from fluidkv.serving import Victim
        >>> mix, victims = fk.Workload.from_lengths([(8, 10), (30, 20)]), [Victim.MOST_BLOCKS]
        >>> small = {"requests": 40, "seeds": 2, "backend": "reference"}
        >>> found = fk.preempt_study(mix, fk.Limits(128, 4), victims=victims, **small)
        >>> [aim.metric for aim in found.aims], found.pick.index
        (['throughput', 'longest_gap_p99'], 0)
        >>> found.against["preemptions"].mean, dict(found.table.preemptions.sizes)
        (array([ 0.        , -0.37288136]), {'combination': 2, 'run': 2})
    """

    engine: Annotated[
        "EngineRules",
        Described(
            "the rules that surround those compared",
            below=(("name", "text", "of the engine"), ("version", "text", "in which it has them")),
        ),
    ]
    limits: Annotated[
        "Limits",
        Described(
            "memory and caps, and what swapping costs",
            flat=True,
            below=(
                ("capacity", "tokens", "of KV memory"),
                ("block_size", "tokens", "of a block"),
                ("max_num_seqs", "count", "most requests running at once; null: no limit"),
                ("max_num_batched_tokens", "tokens", "most of an iteration; null: no limit"),
                ("swap.per_token", "time", "to copy a token to the host, or back"),
                ("swap.per_copy", "time", "more for each copy"),
                ("swap.pool", "tokens", "that the host can hold; null: no limit"),
                ("swap.sweet_spot", "tokens", "from which the cheaper way is to swap"),
                ("swap.shared", "yes/no", "whether one copy waits for the other"),
            ),
        ),
    ]
    demand: Annotated[
        "Demand",
        Described(
            "when requests come",
            below=(
                ("kind", "text", "saturated, rate, clients or replay"),
                ("rate", "a unit of time", "Poisson arrivals"),
                ("clients", "count", "with one request at a time"),
                ("speed", "number", "times as fast as the trace"),
            ),
        ),
    ]
    clock: Annotated[
        "IterationClock", Described("duration of an iteration", section="clock", json=clock_json)
    ]
    objectives: "Objectives | None"
    times: "MeanTimes | None"
    combinations: "tuple[Combination, ...]"
    table: "xr.Dataset"
    against: "Mapping[str, Against]"
    requests: Annotated[int, Described("in each run")]
    window: Annotated[
        "Window | None",
        Described("part of a trace that is served; null: requests are drawn", section="window"),
    ]
    pairs: Annotated[
        str, Described("what is paired: `run`, or `segment` of the one run of a trace")
    ]
    seed: Annotated[int, Described("of the first run")]
    effects: Annotated[
        "Mapping[str, Effects]",
        Described(
            "what each choice explains, by metric, where anything differs",
            below=(
                (
                    "*.of.*.share",
                    "share",
                    "by metric and choice: what of the difference it explains",
                ),
                ("*.of.*.means.*", "as the metric", "mean, by what was chosen"),
                ("*.together", "share", "what no choice explains alone"),
                ("*.noise", "relative", "variance from seed to seed over that of combinations"),
            ),
        ),
    ]
    aims: "tuple[Aim, ...]"
    pick: Annotated[
        "Pick",
        Described(
            "what to take",
            below=(
                ("index", "from 0", "0: leave it"),
                ("better[]", "from 0", "better in something by more than noise, worse in nothing"),
                ("close[]", "from 0", "of these, as good as the pick within noise"),
                ("by", "text", "the first metric in which the pick is better"),
                ("wins", "count", "runs in which it is"),
                ("untold[]", "from 0", "better, but not taken, as they see true lengths"),
            ),
        ),
    ]
    knows: tuple[int, ...]
    bias: "Mapping[str, Bias]"
    name: str = ""
    notes: Sequence[Row] = ()

    @described(
        "what each request is to meet",
        key="objectives",
        below=(
            ("ttft", "time", "for the first token"),
            ("tbt", "time", "between tokens"),
            ("scale[]", "number", "instead, of the mean times: from, to"),
            ("mean_ttft", "time", "over all that is compared"),
            ("mean_tbt", "time", "over all that is compared"),
        ),
    )
    def bounds(self) -> "dict[str, Any] | None":
        """The objectives, and the times that a scale of them is a multiple of."""
        wanted, times = self.objectives, self.times
        if wanted is None:
            return None
        return {
            "ttft": wanted.ttft,
            "tbt": wanted.tbt,
            "scale": wanted.scale and list(wanted.scale),
            "mean_ttft": times and finite(times.ttft),
            "mean_tbt": times and finite(times.tbt),
        }

    @described("how the answer is known")
    def evidence(self) -> str:
        """Runs of drawn requests, or of one trace."""
        return "sampled"

    @described("of each combination, with other requests each")
    def runs(self) -> int:
        """Of each combination, with other requests each."""
        return self.table.sizes["run"]

    @described("of intervals", kind="share")
    def confidence(self) -> float:
        """Of the intervals."""
        from fluidkv.answers.served.paired import CONFIDENCE

        return CONFIDENCE

    @described(
        "metrics of the pick, and which way is better",
        key="aims",
        below=(("*", "number", "which way is better: 1 more, -1 less"),),
    )
    def aimed_at(self) -> dict[str, int]:
        """The metrics aimed at, and which way is better."""
        return {aim.metric: aim.sign for aim in self.aims}

    @described(
        "each combination",
        key="combinations",
        lists=1,
        below=(
            ("victim", "text", "which goes; the engine's own first"),
            ("restore", "text", "how its cache comes back"),
            ("allocation", "text", "how much memory a request is given"),
            ("predictor", "text", "what is known of lengths"),
            ("knows_lengths", "yes/no", "whether it looks at true lengths"),
            ("released[]", "text", "engines that have it"),
            ("proposed[]", "text", "where it is proposed"),
            ("metrics.*[]", "as the metric", "one a run"),
            ("score", "number", "mean over runs; 0 of the first"),
            *below("against", GAP),
        ),
    )
    def rows(self) -> list[dict[str, Any]]:
        """Every combination, what it does, and how far it is from the first."""
        from fluidkv.answers.preempt.rules import PROPOSED, RELEASED

        return [
            {
                **combination.names,
                "knows_lengths": index in self.knows,
                "released": [RELEASED.get(rule) for rule in combination.rules],
                "proposed": [PROPOSED.get(rule) for rule in combination.rules],
                "metrics": {
                    str(name): finite(column.values[index].astype(float).tolist())
                    for name, column in self.table.data_vars.items()
                },
                "score": finite(self.pick.scores[index]),
                "against": {name: gap.row(index) for name, gap in self.against.items()},
            }
            for index, combination in enumerate(self.combinations)
        ]

    @described("what the simulation of a log's own server misses; None without a log", below=BIAS)
    def measured(self) -> "Mapping[str, Bias] | None":
        """The log beside the simulation of the engine's own rules; None without one."""
        return self.bias or None

    @property
    def throughput(self) -> str:
        """The metric of throughput on this clock."""
        return throughput_of(self.clock)

    @property
    def free_prefill(self) -> bool:
        """Whether computing again costs no time on this clock, only tokens of a batch."""
        return not self.clock.prefills

    @property
    def first_tokens(self) -> bool:
        """Whether times to first token are said."""
        from fluidkv.answers.served.slo import first_tokens

        return first_tokens(self.demand, self.clock)

    @property
    def ranked(self) -> tuple[int, ...]:
        """The engine's own first; then by the first aim, the best first, and in it by the others.

        Numbers that are alike as shown, to three digits, count as equal.
        """

        def place(index: int) -> tuple[float, ...]:
            values = [-aim.sign * self.mean(index, aim.metric) for aim in self.aims]
            shown = [float(f"{value:.3g}") for value in values]
            return (float(index != 0), *(v if math.isfinite(v) else math.inf for v in shown))

        return tuple(sorted(range(len(self.combinations)), key=place))

    @property
    def unfinished(self) -> tuple[int, ...]:
        """Combinations of which a run did not end."""
        ended = self.table.ended.values.all(axis=1)
        return tuple(index for index, all_ended in enumerate(ended) if not all_ended)

    def mean(self, index: int, metric: str) -> float:
        """Over the runs of a combination; NaN where a run has no value."""
        return float(self.table[metric].values[index].mean())

    def to_xarray(self) -> "xr.Dataset":
        """Metrics [combination, run]; coordinates are the four choices."""
        return self.table


def throughput_of(clock: "IterationClock") -> str:
    """Requests a second, or an iteration."""
    return "throughput_per_time" if clock.unit == "s" else "throughput"
