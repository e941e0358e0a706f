"""Records of SGLang's own scheduler: each step, who was admitted in it, and what the tree holds.

The format: the server's options; `requests`, which say what they say and what their clients ask
for; `columns` and `records`, a row a step, taken after scheduling and before the tokens of its
pass. Requests are called by their place in the file.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

from fluidkv.errors import InputError
from fluidkv.serving.caching.sglang.stepped import SglangEngine
from fluidkv.serving.caching.sglang.table import tokens_alone
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.engines import SGLANG
from fluidkv.serving.records.arrivals import Arrivals, read_arrivals
from fluidkv.serving.records.fields import Fields, version_notes
from fluidkv.serving.records.steps import Step, StepsRecord
from fluidkv.serving.records.table import COUNT, COUNTS, NUMBER, WORD, lists_of, read_steps
from fluidkv.serving.sglang_settings import SglangSettings

RATIO, DIGITS = "new_token_ratio", 10
"""The column that is no whole number, and the digits behind its point that are recorded."""

_COUNTED = (
    *("arrived", "batch", "running", "waiting", "admitted", "retracted", "completed"),
    *("prefill_tokens", "hit_tokens", "used", "available", "evictable", "protected"),
    *("batch_is_full", "chunked"),
)
_IDS = ("retracted_ids", "finished_ids", "aborted_ids")

COLUMNS = {
    **dict.fromkeys(_COUNTED, COUNT),
    "mode": WORD,
    RATIO: NUMBER,
    "admissions": lists_of(3),
    **dict.fromkeys(_IDS, COUNTS),
}
"""What is compared, and what its cells hold; as in `caching.sglang.seen.Row`."""

_FOR_READERS = ("what", "summary")  # sums of its rows


@dataclass(frozen=True, eq=False)
class SglangRecord(StepsRecord):
    """One run of SGLang's scheduler.

    Args:
        source, version, notes, arrivals, columns, rows: as of every `StepsRecord`.
        settings: the server.

    Examples:
        >>> from fluidkv.prefix import Prompts
        >>> from fluidkv.serving import SglangSettings
        >>> from fluidkv.serving.records.replay import replay
        >>> from fluidkv.serving.records.sglang_steps import SglangRecord
        >>> from fluidkv.serving.records.arrivals import Arrivals
        >>> alike = Prompts([[(0, 0, 12)], [(0, 0, 12)]], [[(1, 0, 2)], [(2, 0, 2)]])
        >>> arrivals = Arrivals(fk.Requests([12, 12], [2, 2], arrival=[0, 3]), alike)
        >>> rows = [["prefill", 0], ["decode", 0], ["idle", 0], ["prefill", 11]]
        >>> steps = (arrivals, ("mode", "hit_tokens"), rows)
        >>> replayed = replay(SglangRecord("by hand", "0.5.18", (), *steps, SglangSettings(40)))
        >>> replayed.equal, replayed.rows
        (True, 4)
    """

    settings: SglangSettings
    engine: ClassVar[str] = "sglang"
    evictions: ClassVar[str] = "retracted"

    def scheduler(self, *, compiled: bool) -> Step:
        """Steps of the engine, literal or compiled."""
        arrivals, clock = self.arrivals, IterationClock.iterations()
        table = arrivals.requests, arrivals.prompts
        run = SglangEngine(*table, self.settings, clock, compiled=compiled)
        comes, places = arrivals.requests.arrival.tolist(), arrivals.places

        def step() -> dict[str, Any]:
            while run.arrived < len(comes) and comes[run.arrived] <= run.now:
                run.offer(run.arrived)
            run.step()
            row = run.row._asdict()
            for name in _IDS:
                row[name] = [places[index] for index in row[name]]
            return row | {
                RATIO: round(row[RATIO], DIGITS),
                "chunked": places[row["chunked"]] if row["chunked"] >= 0 else -1,
                "admissions": [[places[index], *tokens] for index, *tokens in row["admissions"]],
                "finished_ids": sorted(row["finished_ids"]),
            }

        return step


def sglang_record(fields: Fields) -> SglangRecord:
    """The record in a file.

    Raises:
        InputError: naming file and field: missing, of another kind, not modelled, not fitting the
            others; a request that this server would never admit.
    """
    version = fields.text("version")
    fields.only("policy", "fcfs", "not modelled")
    settings = _settings(fields)
    arrivals = read_arrivals(fields, with_max_output=True)
    _check_fit(fields, arrivals, settings)
    columns, rows = read_steps(fields, COLUMNS)
    notes = version_notes(version, SGLANG.version) + fields.notes(fields.unused(_FOR_READERS))
    run = arrivals, columns, rows
    return SglangRecord(fields.where, version, tuple(notes), *run, settings)


def _settings(fields: Fields) -> SglangSettings:
    try:
        return SglangSettings(
            capacity=fields.integer("capacity_tokens"),
            page_size=fields.integer("page_size"),
            conservativeness=fields.any("conservativeness"),
            chunked_prefill_size=fields.cap("chunked_prefill_size"),
            max_prefill_tokens=fields.integer("max_prefill_tokens"),
            max_running=fields.integer("max_running"),
            eviction=fields.text("eviction"),
            radix=fields.flag("radix"),
            mixed_chunk=fields.flag("mixed_chunk"),
            overlap=fields.flag("overlap"),
            ignore_eos=fields.flag("ignore_eos"),
        )
    except InputError as error:
        if error.argument.startswith(fields.where):
            raise
        raise fields.wrong(error.argument, error.value, error.allowed) from None


def _check_fit(fields: Fields, arrivals: Arrivals, settings: SglangSettings) -> None:
    requests = arrivals.requests
    lengths = zip(requests.input_length, requests.output_length, requests.max_output, strict=True)
    for index, (inputs, outputs, most) in enumerate(lengths):
        name = f"requests[{arrivals.places[index]}]"
        if settings.ignore_eos and outputs != most:
            raise fields.wrong(name, f"{outputs} outputs", f"all {most}, with ignore_eos")
        needed = int(tokens_alone(inputs, 0, outputs, most, settings))
        if needed > settings.tokens:
            allowed = f"a request that fits: it needs {needed}, the memory is {settings.tokens}"
            raise fields.wrong(name, f"{inputs} + {most} tokens", allowed)
