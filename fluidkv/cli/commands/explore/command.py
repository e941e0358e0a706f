"""`fluidkv explore`: the interactive page, served on this machine or written into a file."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from fluidkv.cli import arguments as read
from fluidkv.cli.memory import Memory
from fluidkv.cli.options import OUTPUT, SERVER, WHO, MaybeClasses, flag, option
from fluidkv.cli.progress import progress
from fluidkv.errors import InputError
from fluidkv.report.page import Page
from fluidkv.text import near_names

if TYPE_CHECKING:
    from fluidkv.explore.state import PageState

PORT = 8765
_PRESET = "Open with a figure's system, by a name that --list shows."
_PORT = f"Port on 127.0.0.1, {PORT} if not given."
_OUT = "Write the page into this file, and serve nothing."
_FROM = {
    **dict.fromkeys(("classes", "input length", "output length", "parts of the load"), "--class"),
    "capacity": "--capacity",
}
"""Where a value of the page's state comes from."""
_EMBED = "Only the moving picture, to embed in another page."


def explore(
    memory: Memory,
    class_: MaybeClasses = None,
    preset: Annotated[str | None, option("--preset NAME", str, _PRESET, WHO)] = None,
    list_: Annotated[bool, flag("--list", "List the figures that it has.", WHO)] = False,
    port: Annotated[
        int | None,
        option("--port N", read.whole_number, _PORT, SERVER, least=1, most=65535),
    ] = None,
    open_: Annotated[bool, flag("--open", "Open it in a browser.", SERVER)] = False,
    out: Annotated[str | None, option("--out FILE", str, _OUT, OUTPUT)] = None,
    embed: Annotated[bool, flag("--embed", _EMBED, OUTPUT)] = False,
) -> None:
    """A page with sliders: what does a full KV cache do?

    Serves one page to this machine, until Ctrl-C, or writes it into a file that
    needs no server. Move the lengths, their shares and the memory, and see
    whether the batch settles or keeps preempting, why, and what it costs.

    [bold]fluidkv explore --class 50:2:1/2 --class 50:4:1/2 --capacity 626[/bold]
    """
    page = Page()
    if list_:
        others = (class_, *_of_memory(memory).values(), preset, port, open_ or None, out)
        if embed or any(each is not None for each in others):
            raise InputError("--list", "another option", "no other option beside it")
        _list(page)
        return
    state = _state(class_, memory, preset)
    if embed and out is None:
        raise InputError("--embed", "no --out", "together with --out FILE")
    if out is not None and port is not None:
        raise InputError("--port", port, "no --out beside it, which serves nothing")

    from fluidkv.explore.browser import require_browser
    from fluidkv.explore.page import page as made
    from fluidkv.explore.server import serve
    from fluidkv.report.file import require_ours, write_page

    path = None if out is None else Path(out)
    with read.as_options({"path": "--out", "port": "--port", "open": "--open"}):
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


def _state(classes: list[str] | None, memory: Memory, preset: str | None) -> "PageState":
    """What the page opens with."""
    from fluidkv.explore.page import OPENS
    from fluidkv.explore.presets import NAMED
    from fluidkv.explore.state import of_classes

    capacity = memory.tokens()
    given = _of_memory(memory)
    if preset is not None:
        for name, value in {"--class": classes, **given}.items():
            if value is not None:
                raise InputError("--preset", preset, f"no {name} beside it")
        if preset not in NAMED:
            near = near_names(preset, NAMED)
            told = f"near: {', '.join(near)}" if near else "a figure's name"
            raise InputError("--preset", preset, f"{told}; see --list")
        return NAMED[preset].state
    for name in ("--model", "--kv-bytes"):
        read.only_with(name, given[name], "--capacity KV", memory.capacity)
    if not classes:
        read.only_with("--capacity", given["--capacity"], "--class", None)
        return OPENS
    if capacity is None:
        raise InputError("--class", " ".join(classes), "together with --capacity KV")
    with read.as_options(_FROM):
        return of_classes(read.request_classes(classes), capacity)


def _of_memory(memory: Memory) -> dict[str, object]:
    """What was given about memory, by its option; None where nothing was."""
    capacity = None if memory.capacity is None else memory.capacity.text
    return {"--capacity": capacity, "--model": memory.model, "--kv-bytes": memory.kv_bytes}


def _list(page: Page) -> None:
    from fluidkv.explore.presets import OTHER_PAPERS, PRESETS, WITHOUT

    for preset in PRESETS:
        page.rows([(preset.name, f"{preset.figure}: {preset.title}. {preset.finding}")])
    page.heading("Figures of Congestion without a state")
    page.rows((f"Figure {number}", why) for number, why in WITHOUT.items())
    page.heading("Other papers")
    page.rows(OTHER_PAPERS.items())


def _say(page: Page, url: str, memory: Memory, open_: bool, *, served: bool = False) -> None:
    page.line(url)  # whole, also where it is longer than a line
    page.rows(memory.notes())
    if served:
        page.rows([("ends", "with Ctrl-C; until then this machine alone can open it")])
    if open_:
        from fluidkv.explore.browser import show

        show(url)
