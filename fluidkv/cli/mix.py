"""`fluidkv mix`: which request classes to put on which node."""

import json
import math
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from fluidkv.cli import arguments
from fluidkv.errors import InputError

if TYPE_CHECKING:
    from fluidkv.exact.routing.mixing import RoutedNode, Routing
    from fluidkv.exact.routing.partition import BestPartition
    from fluidkv.workload import Workload

LONGEST = 4096  # decode length; beyond, one certificate takes seconds, and there are hundreds
MOST_CLASSES = 64
MOST_NODES = 1024
_SHOWN = 44  # columns for the classes of a node


def mix(
    class_: Annotated[
        list[str],
        typer.Option("--class", metavar="IN:OUT[:SHARE]", help="A request class; repeatable."),
    ],
    nodes: Annotated[
        str, typer.Option(metavar="N", help="Nodes of equal KV capacity, each with its own.")
    ],
    capacity: Annotated[
        str | None,
        typer.Option(metavar="TOKENS", help="KV capacity of each node, for rates."),
    ] = None,
    max_imbalance: Annotated[
        str | None,
        typer.Option(
            metavar="R",
            help="Leave out partitions whose fullest node is above R times the mean load.",
        ),
    ] = None,
    json_: Annotated[
        bool, typer.Option("--json", help="Print only JSON on standard output.")
    ] = False,
) -> None:
    """Keep request classes apart, or mix them? And which with which?

    Each node's mix decides whether its batch oscillates. Classes apart, all
    mixed on every node, and the partition with the fewest growing modes, each
    with a certificate, and with the load that it puts on each node.

    [bold]fluidkv mix --class 300:5 --class 300:6 --nodes 2[/bold]
    """
    from fluidkv.exact.routing.mixing import segregated
    from fluidkv.exact.routing.partition import best_partition

    workload = _workload(class_)
    count = arguments.whole_number("--nodes", nodes, least=1, most=MOST_NODES)
    tokens = None if capacity is None else arguments.capacity(capacity)
    allowed = "a number of at least 1, such as 1.2 or 6/5"
    bound = None
    if max_imbalance is not None:
        bound = arguments.exact_number("--max-imbalance", max_imbalance, allowed)
        if bound < 1:
            raise InputError("--max-imbalance", max_imbalance, allowed)
    try:
        found = best_partition(workload, count, capacity=tokens, max_imbalance=bound)
    except InputError as error:  # the only argument that is left to check
        raise InputError("--capacity", error.value, error.allowed) from None
    apart = None
    if count <= len(workload.classes):
        apart = segregated(workload, count, capacity=tokens)
    if json_:
        print(json.dumps(as_dict(found, apart, bound), indent=2, allow_nan=False))
    else:
        _print(found, apart, Console(highlight=False))


def _workload(texts: list[str]) -> "Workload":
    if len(texts) > MOST_CLASSES:
        raise InputError("--class", f"{len(texts)} classes", f"at most {MOST_CLASSES}")
    workload = arguments.request_classes(texts)
    for text, c in zip(texts, workload.classes, strict=True):
        if c.decode_length > LONGEST:
            raise InputError("--class", text, f"a decode length of at most {LONGEST}")
    return workload


# --- JSON ---------------------------------------------------------------------------------------


def as_dict(
    found: "BestPartition", apart: "Routing | None", bound: Fraction | None
) -> dict[str, Any]:
    """Plain values for JSON: fractions as text, `null` for what is not known or was not asked."""
    workload, capacity = found.mixed.workload, found.mixed.capacity
    best = None
    if found.best is not None:
        best = "mixed" if found.is_mixed else "partition"
    return {
        "classes": [
            {
                "input_length": c.input_length,
                "decode_length": c.decode_length,
                "share": str(c.share),
            }
            for c in workload.classes
        ],
        "nodes": len(found.mixed.nodes),
        "capacity": None if capacity is None else str(capacity),
        "max_imbalance": None if bound is None else str(bound),
        "best": best,
        "segregated": _routing(apart),
        "mixed": _routing(found.mixed),
        "partition": _routing(found.best_partition),
        "search": {
            "examined": found.examined,
            "over_imbalance": found.over_imbalance,
            "undecided": len(found.undecided),
            "ties": len(found.ties),
            "exhaustive": found.exhaustive,
            "evidence": found.evidence,
        },
    }


def _routing(routing: "Routing | None") -> dict[str, Any] | None:
    if routing is None:
        return None
    return {
        "stability": routing.stability,
        "growing_modes": routing.unstable_modes,
        "spectral_radius": list(routing.spectral_radius),
        "evidence": routing.evidence,
        "imbalance": float(routing.imbalance),
        "rate": _float(routing.rate),
        "on_nodes": [_node(node) for node in routing.nodes],
    }


def _node(node: "RoutedNode") -> dict[str, Any]:
    return {
        "classes": list(node.classes),
        "shares": [str(c.share) for c in node.workload.classes],
        "load_share": str(node.load_share),
        "common_divisor": node.decode_gcd,
        "stability": node.stability,
        "growing_modes": node.certificate.outside,
        "neutral_modes": node.certificate.on_circle,
        "spectral_radius": list(node.certificate.radius),
        "rate": _float(node.rate),
        "utilisation": _float(node.utilisation),
    }


def _float(value: Fraction | None) -> float | None:
    return None if value is None else float(value)


# --- text ---------------------------------------------------------------------------------------


def _print(found: "BestPartition", apart: "Routing | None", console: Console) -> None:
    mixed = found.mixed
    classes, nodes = len(mixed.workload.classes), len(mixed.nodes)
    console.print(
        f"[bold]{classes} request {'class' if classes == 1 else 'classes'} on {nodes} "
        f"{'node' if nodes == 1 else 'nodes'}[/bold]",
        soft_wrap=True,
    )
    same = apart is not None and found.best_partition is not None
    same = same and apart.groups == found.best_partition.groups  # pyright: ignore[reportOptionalMemberAccess]
    for name, routing in (
        ("apart", apart if nodes > 1 else None),
        ("all mixed", mixed),
        ("partition", None if same else found.best_partition),
    ):
        if routing is not None:
            for label, text in _rows(name, routing):
                console.print(f"{label:<12}{text}", soft_wrap=True)
    for label, text in [("best", _best(found)), ("search", _search(found))]:
        console.print(f"{label:<12}{text}", soft_wrap=True)


def _rows(name: str, routing: "Routing") -> list[tuple[str, str]]:
    low, high = routing.spectral_radius
    head = f"{routing.stability}, {_modes(routing.unstable_modes)}"
    if high > 0:
        head += f", spectral radius {(low + high) / 2:.6g}"
    rows = [(name, head)]
    if low > 1:
        # From the lower end of what is proved of the radius: the fastest mode is no slower.
        tenfold = math.ceil(math.log(10) / math.log(low))
        rows.append(("  growth", f"the fastest mode grows tenfold in {tenfold:,} iterations"))
    alike = len({id(node) for node in routing.nodes}) == 1
    for place, node in enumerate(routing.nodes[:1] if alike else routing.nodes, start=1):
        label = "  each node" if alike else f"  node {place}"
        rows += [(label, _named(node)), ("", _facts(node))]
    if len(routing.nodes) > 1:
        load = f"fullest node {float(routing.imbalance):.3g} times the mean load"
        rows.append(("  load", load))
    if routing.rate is not None:
        rows.append(("  rate", f"{float(routing.rate):.4g} requests an iteration in all"))
    return rows


def _named(node: "RoutedNode") -> str:
    names = [f"{c.input_length}:{c.decode_length}" for c in node.workload.classes]
    shown = len(names)
    while shown > 1 and len(" ".join(names[:shown])) > _SHOWN:
        shown -= 1
    more = f" and {len(names) - shown} more" if shown < len(names) else ""
    return f"{' '.join(names[:shown])}{more}"


def _facts(node: "RoutedNode") -> str:
    parts = [
        _modes(node.certificate.outside),
        f"divisor {node.decode_gcd}",
        f"{float(node.load_share):.1%} of requests",
    ]
    if node.rate is not None:
        parts.append(f"x* = {float(node.rate):.4g}")
    return ", ".join(parts)


def _best(found: "BestPartition") -> str:
    if found.best is None:
        return "not decided"
    name = "all mixed" if found.is_mixed else "the partition"
    if found.best_partition is None:
        return name
    whole, parts = found.mixed.unstable_modes, found.best_partition.unstable_modes
    if found.is_mixed:
        return f"{name}: {_modes(whole)}; the best partition: {_modes(parts)}"
    return f"{name}: {_modes(parts)}; all mixed: {_modes(whole)}"


def _search(found: "BestPartition") -> str:
    if not found.examined:
        return f"no partition to look at; {found.evidence}"
    kind = "every partition" if found.exhaustive else "local steps, not every partition"
    one = found.examined == 1
    text = f"{found.examined:,} {'partition' if one else 'partitions'} ({kind}), {found.evidence}"
    for count, what in (
        (found.over_imbalance, "over the imbalance"),
        (len(found.undecided), "undecided"),
        (len(found.ties), "tied with the best"),
    ):
        if count:
            text += f"; {count:,} {what}"
    return text


def _modes(count: int | None) -> str:
    if count is None:
        return "growing modes not decided"
    if count == 0:
        return "no mode grows"
    return f"{count:,} {'mode grows' if count == 1 else 'modes grow'}"
