"""`fluidkv log`: what the files of a measured run say, and what they lack for which answer."""

from typing import TYPE_CHECKING, Annotated, Any

from fluidkv.cli.asked import note_read
from fluidkv.cli.options import Json, argument
from fluidkv.cli.output import give
from fluidkv.cli.progress import progress
from fluidkv.questions.options import as_options
from fluidkv.report.page import Page, Row

if TYPE_CHECKING:
    from fluidkv.logs.log import ServerLog

_LOG = (
    "Folder with any files of a run, or one of them: benchmark results, a server's output, polled "
    "metrics."
)
_Log = Annotated[str, argument("SOURCE", str, _LOG)]


def log(source: _Log, json_: Json = False) -> None:
    """What do my files say, and what else should I record?

    Finds out what each file is, puts them together as one run, and names what is
    missing for which answer, with the command that would record it.

    [bold]fluidkv log sample:vllm-rtx4090[/bold]
    """
    from fluidkv.logs import read_log
    from fluidkv.logs.report import log_as_dict

    with progress(f"reading {source}"), as_options({"source": "SOURCE"}):
        found = read_log(source)
    if found.requests is not None and found.requests.report is not None:
        note_read(found.requests.report)
    said = log_as_dict(found)
    give(lambda: said, lambda page: _say(page, found, said), as_json=json_, time="s")


def _say(page: Page, log: "ServerLog", said: dict[str, Any]) -> None:
    page.title(_name(log))
    page.line()
    page.table(("file", "what it is", "what it gave"), [_file(each) for each in said["files"]])
    page.heading("What they say")
    page.rows(_server(said["server"]) + _requests(said["requests"]) + _ticks(said["ticks"]))
    page.rows([("", note) for note in log.notes])
    for report in log.reports:
        page.rows([("rows", line.strip()) for line in report.summary().splitlines()])
    page.heading("What they lack" if log.missing else "They lack nothing")
    for each in log.missing:
        page.paragraph(f"{each.what}, for {each.needed_for}")
        page.paragraph(each.command, indent=2)


def _name(log: "ServerLog") -> str:
    names = {"vllm": "vLLM", "sglang": "SGLang", None: "An engine that no file names"}
    server = " ".join(part for part in (names[log.engine], log.version) if part)
    parts = [server, log.settings.model, log.settings.device]
    return ", ".join(part for part in parts if part)


def _file(file: dict[str, str]) -> tuple[str, str, str]:
    return file["name"][:24], file["kind"], file["gave"]


def _server(server: dict[str, Any]) -> list[Row]:
    words = [f"{server['capacity']:,} KV tokens"] if server["capacity"] else []
    if server["blocks"]:
        words.append(f"{server['blocks']:,} blocks of {server['block_size']} for requests")
    for name in ("max_num_seqs", "max_num_batched_tokens", "max_model_len", "conservativeness"):
        if server[name]:
            words.append(f"{name} {server[name]:,}")
    if server["prefix_caching"] is not None:
        words.append(f"prefix caching {'on' if server['prefix_caching'] else 'off'}")
    return [("server", ", ".join(words) or "nothing of its settings")]


def _requests(requests: dict[str, Any] | None) -> list[Row]:
    if requests is None:
        return []
    count, inputs, outputs = (requests[n] for n in ("count", "input_tokens", "output_tokens"))
    text = f"{count:,}, {inputs / count:,.0f} tokens in and {outputs / count:,.0f} out on average"
    rows: list[Row] = [("requests", f"{text}; the longest has {requests['longest']:,}")]
    if requests["duration_s"] is not None:
        rate = outputs / requests["duration_s"]
        tails = f"p99 TTFT {requests['ttft_p99_s']:.4g} s, p99 latency "
        tails += f"{requests['latency_p99_s']:.4g} s"
        rows.append(("measured", f"{rate:,.0f} output tokens/s, {tails}"))
    return rows


def _ticks(ticks: dict[str, Any] | None) -> list[Row]:
    if ticks is None:
        return []
    words = [f"{ticks['count']:,} over {ticks['over_s']:,.0f} s"]
    for name, what in (("running_peak", "running"), ("waiting_peak", "waiting")):
        if ticks[name] is not None:
            words.append(f"at most {ticks[name]:,.0f} {what}")
    if ticks["kv_used_peak"] is not None:
        words.append(f"{ticks['kv_used_peak']:.1%} of the KV in use at most")
    if ticks["preemptions"] is not None:
        words.append(f"{ticks['preemptions']:,} preemptions")
    return [("ticks", ", ".join(words))]
