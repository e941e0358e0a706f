"""`fluidkv clocks`: which clocks have a name, whose they are, and where they hold."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fluidkv.answers.served.server_options import CLOCK
from fluidkv.cli.options import Json
from fluidkv.cli.output import give
from fluidkv.report.page import Page, Row

if TYPE_CHECKING:
    from fluidkv.serving.machines.against import Comparison
    from fluidkv.serving.machines.named import NamedClock, Validity

_NAME = "A clock: a name, or MODEL@GPU, such as llama-3.1-8b@h100; all where none is given."


def clocks(
    name: Annotated[
        str | None, typer.Argument(metavar="[CLOCK]", help=_NAME, show_default=False)
    ] = None,
    json_: Json = False,
) -> None:
    """Which clocks are there for --clock, whose are they, and how far are they off?

    A clock says how long an iteration takes. Some were measured on a server, some
    profiled; MODEL@GPU is modelled from data sheets, and what that misses on
    measured servers is listed.

    [bold]fluidkv clocks llama-3.1-8b@rtx-4090[/bold]
    """
    from fluidkv.serving.machines.named import CLOCKS, named_clock

    if name is None:
        give(_all_as_dict, _say_all, as_json=json_, time="s")
        return
    CLOCK.read("--clock", name)  # the same refusal as every --clock
    found = named_clock(name) if name in CLOCKS or "@" in name else None
    if found is None:
        from fluidkv.errors import InputError

        raise InputError("CLOCK", name, "a name, not numbers")
    give(
        lambda: _as_dict(found),
        lambda page: _say_one(page, found),
        as_json=json_,
        time=found.clock.unit,
    )


def _all_as_dict() -> dict[str, Any]:
    from fluidkv.serving.machines.against import compared, pools
    from fluidkv.serving.machines.gpus import known_gpus
    from fluidkv.serving.machines.models import known_models
    from fluidkv.serving.machines.named import CLOCKS

    return {
        "clocks": [_as_dict(each) for each in CLOCKS.values()],
        "models": [asdict(each) | {"kv_bytes": each.kv_bytes} for each in known_models().values()],
        "gpus": [asdict(each) for each in known_gpus().values()],
        "modelled_against_measured": [
            asdict(each) | {"relative_error": each.error} for each in compared()
        ],
        "kv_tokens_left": [asdict(each) | {"relative_error": each.error} for each in pools()],
    }


def _as_dict(named: "NamedClock") -> dict[str, Any]:
    from fluidkv.serving.machines.against import caveat_of

    clock, holds = named.clock, named.validity
    return {
        "name": named.name,
        "kind": named.kind,
        "model": named.model or None,
        "gpu": named.gpu or None,
        "engine": named.engine or None,
        "source": named.source,
        "unit": clock.unit,
        "base": clock.base,
        "per_kv_token": clock.per_kv_token,
        "per_prefill_token": clock.per_prefill_token,
        "per_prefill_pair": clock.per_prefill_pair,
        "per_request": clock.per_request,
        "experts": clock.experts,
        "expert_share": clock.expert_share,
        "gpu_count": named.gpus,
        "caveat": caveat_of(named) or None,
        "holds": {
            "running": holds.running,
            "kv_tokens": holds.kv_tokens and list(holds.kv_tokens),
            "prefill_tokens": holds.prefill_tokens,
        },
    }


def _say_all(page: Page) -> None:
    from fluidkv.serving.clock import FREE_PREFILL
    from fluidkv.serving.machines.against import compared, modelled_caveat, pool_caveat, pools
    from fluidkv.serving.machines.gpus import known_gpus
    from fluidkv.serving.machines.models import known_models
    from fluidkv.serving.machines.named import CLOCKS

    page.title("Clocks", ": seconds of an iteration, d0 + d1 KV tokens + d2 prefill tokens")
    page.line()
    timed = [each for each in CLOCKS.values() if each.clock.unit == "s"]
    header = ("--clock", "kind", "d0 ms", "d1 us", "d2 us")
    page.table(header, [(each.name, each.kind, *_numbers(each)) for each in timed])
    page.line()
    for each in timed:
        page.line(each.name)
        page.paragraph(_whose(each), indent=2)
    page.line("iteration")
    page.paragraph("every iteration lasts 1, whatever is in it: the papers' clock", indent=2)
    page.line()
    page.rows([("d2 -", FREE_PREFILL)], width=6)
    page.heading("MODEL@GPU", f": {modelled_caveat()}")
    page.line()
    page.table(
        ("measured", "model@GPU", "KV", "ms", "modelled", "error"),
        [_compared(each) for each in compared()],
    )
    page.rows(
        [
            ("KV", "tokens in the cache of a step; prefill: one token of it"),
            ("*", "a batch in which multiplying takes longer than reading: no clock of this kind"),
            ("+", "not looked at before the model's three round numbers were chosen"),
        ],
        width=3,
    )
    page.heading("KV tokens", f" that one GPU has beside a model's weights, {pool_caveat()}")
    page.line()
    page.table(
        ("measured", "model@GPU", "of memory", "tokens", "modelled", "error"),
        [
            (
                row.engine,
                f"{row.model}@{row.gpu}",
                f"{row.utilisation:.0%}",
                f"{row.measured:,}",
                f"{row.modelled:,}",
                f"{100 * row.error:+.0f}%",
            )
            for row in pools()
        ],
    )
    page.line()
    page.rows([("models", ", ".join(known_models())), ("GPUs", ", ".join(known_gpus()))])


def _say_one(page: Page, named: "NamedClock") -> None:
    from fluidkv.answers.served.rows import clock_text
    from fluidkv.serving.machines.against import cautions_of, caveat_of, pool_caveat
    from fluidkv.serving.machines.models import model_named

    page.title(named.name, f": {named.kind}")
    rows: list[Row] = [("clock", clock_text(named.clock)), ("server", _server(named))]
    rows += [("holds", _holds(named.validity)), ("source", named.source)]
    if named.model:
        each = model_named(named.model).kv_bytes
        rows.append(("KV", f"{each:,} bytes a token, {int(1e9 / each):,} tokens a GB"))
    if named.kind == "modelled":
        rows.append(("CAUTION", caveat_of(named)))
        rows += [("CAUTION", caution) for caution in cautions_of(named)]
        if named.validity.kv_tokens is not None:
            left = f"{named.validity.kv_tokens[1]:,} KV tokens beside the weights at 90 % of it"
            rows.append(("memory", f"{left}; {pool_caveat()}"))
    if not named.clock.prefills and named.clock.unit == "s":
        from fluidkv.serving.clock import FREE_PREFILL

        rows.append(("CAUTION", FREE_PREFILL))
    page.rows(rows)


def _numbers(named: "NamedClock") -> tuple[str, str, str]:
    clock = named.clock
    prefill = f"{1e6 * clock.per_prefill_token:.1f}" if clock.prefills else "-"
    return f"{1e3 * clock.base:.2f}", f"{1e6 * clock.per_kv_token:.3f}", prefill


def _whose(named: "NamedClock") -> str:
    return f"{_server(named)}; {_holds(named.validity)}; {named.source}"


def _server(named: "NamedClock") -> str:
    shared = f"{named.gpus} " if named.gpus > 1 else ""
    parts = (named.engine, named.model and f"{named.model} on {shared}{named.gpu}")
    return ", ".join(part for part in parts if part) or "none"


def _holds(validity: "Validity") -> str:
    parts = []
    if validity.running is not None:
        parts.append(f"up to {validity.running:,} requests")
    if validity.kv_tokens is not None:
        low, high = validity.kv_tokens
        parts.append(f"{low:,} to {high:,} KV tokens")
    if validity.prefill_tokens:
        parts.append(f"{validity.prefill_tokens:,} prefill tokens in an iteration")
    return ", ".join(parts) or "everywhere"


def _compared(row: "Comparison") -> tuple[str, ...]:
    what = "prefill" if row.what == "prefill" else f"{row.kv_tokens:,}"
    marks = "*" * (not row.inside) + "+" * row.held_out
    digits = 4 if row.what == "prefill" else 2
    return (
        row.engine + marks,
        f"{row.model}@{row.gpu}",
        what,
        f"{1e3 * row.measured_s:.{digits}f}",
        f"{1e3 * row.modelled_s:.{digits}f}",
        f"{100 * row.error:+.0f}%",
    )
