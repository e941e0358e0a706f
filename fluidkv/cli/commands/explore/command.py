"""`fluidkv explore`: the interactive page, served on this machine or written into a file."""

import shlex
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from fluidkv.answers.backlog import logged_capacity, refuse_rate, words_of, workload_of
from fluidkv.answers.memory import UNSAID_MEMORY, LoggedMemory
from fluidkv.answers.served.load import AS_IT_IS, Origin, Reading
from fluidkv.cli.options import MaybeClasses, Source, flag, option
from fluidkv.cli.progress import progress
from fluidkv.cli.source import requests_of
from fluidkv.errors import InputError
from fluidkv.questions.kinds import Whole
from fluidkv.questions.options import OUTPUT, SERVER, WHO, as_options, only_with
from fluidkv.report.page import Page
from fluidkv.text import near_names, nearest_of

if TYPE_CHECKING:
    from fluidkv.explore.state import PageState

PORT = 8765
_PRESET = "Open with a load or a figure's system, by a name that --list shows."
_PORT = f"Port on 127.0.0.1, {PORT} if not given."
_OUT = "Write the page into this file, and serve nothing."
_LENGTHS = ("classes", "input length", "output length", "parts of the load")
"""Names of values that come from SOURCE, --preset or --class."""
_EMBED = "Only the moving picture, to embed in another page."


def explore(
    source: Source = None,
    class_: MaybeClasses = None,
    preset: Annotated[str | None, option("--preset NAME", str, _PRESET, WHO)] = None,
    list_: Annotated[bool, flag("--list", "List the loads and figures that it has.", WHO)] = False,
    reading: Reading = AS_IT_IS,
    memory: LoggedMemory = UNSAID_MEMORY,
    port: Annotated[
        int | None,
        option("--port N", Whole(1, 65535).read, _PORT, SERVER),
    ] = None,
    open_: Annotated[bool, flag("--open", "Open it in a browser.", SERVER)] = False,
    out: Annotated[str | None, option("--out FILE", str, _OUT, OUTPUT)] = None,
    embed: Annotated[bool, flag("--embed", _EMBED, OUTPUT)] = False,
) -> None:
    """A page with sliders: what does a full KV cache do?

    Serves one page to this machine, until Ctrl-C, or writes it into a file that
    needs no server. It opens on a trace, a log, a preset or classes. Move the
    lengths, the memory, a window or drafts, and see whether the batch settles
    or keeps preempting, how far it swings by chance, why, and what it costs.

    [bold]fluidkv explore sample:vllm-rtx4090[/bold]
    """
    page = Page()
    if list_:
        others = (source, class_, *_of_memory(memory).values(), preset, port, open_ or None, out)
        if embed or reading != AS_IT_IS or any(each is not None for each in others):
            raise InputError("--list", "another option", "no other option beside it")
        _list(page)
        return
    state = _state(source, class_, preset, reading, memory)
    if embed and out is None:
        raise InputError("--embed", "no --out", "together with --out FILE")
    if out is not None and port is not None:
        raise InputError("--port", port, "no --out beside it, which serves nothing")

    from fluidkv.explore.browser import require_browser
    from fluidkv.explore.page import page as made
    from fluidkv.explore.server import serve
    from fluidkv.report.file import require_ours, write_page

    path = None if out is None else Path(out)
    with as_options({"path": "--out", "port": "--port", "open": "--open"}):
        if open_:
            require_browser()
        if path is not None:
            require_ours(path)
        with progress("proving the verdicts of its figures"):
            text = made(opens=state, embed=embed)
        if path is not None:
            write_page(path, text)
            _say(page, path.resolve().as_uri(), memory, open_)
        else:
            serve(text, port or PORT, lambda url: _say(page, url, memory, open_, served=True))


def _state(
    source: str | None,
    classes: list[str] | None,
    preset: str | None,
    reading: Reading,
    memory: LoggedMemory,
) -> "PageState":
    """What the page opens with."""
    from fluidkv.explore.loads import ROOM, state_of
    from fluidkv.explore.presets import NAMED
    from fluidkv.explore.state import MOST_CLASSES, Load, PageState, lengths_of, whole
    from fluidkv.traces.presets import preset_names

    reading.check(source)
    refuse_rate(reading, "the page")
    capacity, options = memory.tokens(), _of_memory(memory)
    if preset in NAMED:
        others = {"SOURCE": source, "--class": classes, **options, **_of_scales(reading)}
        for name, value in others.items():
            if value is not None:
                raise InputError("--preset", preset, f"no {name} beside it")
        return NAMED[preset].state
    if preset is not None and preset not in preset_names():
        near = near_names(preset, (*preset_names(), *NAMED))
        raise InputError("--preset", preset, nearest_of(near) or "see --list")
    for name in ("--model", "--kv-bytes"):
        only_with(name, options[name], "--capacity KV", memory.capacity)
    if not (source or classes or preset):
        for name, value in {"--capacity": options["--capacity"], **_of_scales(reading)}.items():
            only_with(name, value, "SOURCE, --preset or --class", None)
        return state_of("sharegpt")
    origin = Origin(source, classes, preset)
    origin.check()
    load, report = requests_of(origin, reading)
    workload = workload_of(load, reading.scaling)
    asked = "--class" if classes else "--preset" if preset else "SOURCE"
    scaled = zip(("input length", "output length"), _of_scales(reading).items(), strict=True)
    blamed = dict.fromkeys(_LENGTHS, asked) | {name: each[0] for name, each in scaled if each[1]}
    with as_options({**blamed, "capacity": "--capacity"}):
        if classes and len(workload.classes) <= MOST_CLASSES:
            shown = lengths_of(workload)
        else:
            words = shlex.join(words_of(origin, reading))
            shown = Load(preset if preset and not reading.scaling else "yours", workload, words)
        if classes and capacity is None:
            raise InputError("--class", " ".join(classes), "together with --capacity KV")
        if preset and capacity is None:
            if workload.largest_footprint >= ROOM:
                raise InputError("--preset", preset, "together with --capacity KV")
            capacity = Fraction(ROOM)
        return PageState(shown, whole(logged_capacity(capacity, source, report)))


def _of_memory(memory: LoggedMemory) -> dict[str, object]:
    """What was given about memory, by its option; None where nothing was."""
    capacity = None if memory.capacity is None else memory.capacity.text
    return {"--capacity": capacity, "--model": memory.model, "--kv-bytes": memory.kv_bytes}


def _of_scales(reading: Reading) -> dict[str, object]:
    """The same about lengths that are scaled."""
    scaling = reading.scaling
    return {
        "--scale-input": None if scaling.input == 1 else str(scaling.input),
        "--scale-output": None if scaling.output == 1 else str(scaling.output),
    }


def _list(page: Page) -> None:
    from fluidkv.explore.loads import LOADS
    from fluidkv.explore.presets import OTHER_PAPERS, PRESETS, WITHOUT
    from fluidkv.traces.presets import preset_names

    page.rows(LOADS.items())
    page.rows((name, "Needs --capacity KV.") for name in preset_names() if name not in LOADS)
    for preset in PRESETS:
        page.rows([(preset.name, f"{preset.figure}: {preset.title}. {preset.finding}")])
    page.heading("Figures of Congestion without a state")
    page.rows((f"Figure {number}", why) for number, why in WITHOUT.items())
    page.heading("Other papers")
    page.rows(OTHER_PAPERS.items())


def _say(page: Page, url: str, memory: LoggedMemory, open_: bool, *, served: bool = False) -> None:
    page.line(url)  # whole, also where it is longer than a line
    page.rows(memory.notes())
    if served:
        page.rows([("ends", "with Ctrl-C; until then this machine alone can open it")])
    if open_:
        from fluidkv.explore.browser import show

        show(url)
