"""`fluidkv mix`: which request classes to put on which node."""

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated

from fluidkv.answers.memory import NO_MEMORY, Memory
from fluidkv.answers.served.load import request_classes
from fluidkv.cli import arguments as read
from fluidkv.cli.options import SERVER, Classes, Json, option
from fluidkv.cli.output import give
from fluidkv.cli.progress import progress
from fluidkv.errors import InputError
from fluidkv.report.numbers import counted, modes_grow, percent, short
from fluidkv.report.page import Page, Row

if TYPE_CHECKING:
    from fluidkv.answers.mix import MixAnswer
    from fluidkv.exact.routing.mixing import RoutedNode, Routing
    from fluidkv.exact.routing.partition import BestPartition
    from fluidkv.workload import Workload

LONGEST = 4096  # decode length; beyond, one certificate takes seconds, and there are hundreds
MOST_CLASSES = 64
MOST_NODES = 1024
_SHOWN = 44  # columns for the classes of a node


def _imbalance(argument: str, text: str) -> Fraction:
    allowed = "a number of at least 1, such as 1.2 or 6/5"
    value = read.exact_number(argument, text, allowed)
    if value < 1:
        raise InputError(argument, text, allowed)
    return value


def mix(
    class_: Classes,
    nodes: Annotated[
        int,
        option(
            "--nodes N",
            read.whole_number,
            "Number of nodes, which all have the same KV capacity.",
            SERVER,
            most=MOST_NODES,
        ),
    ],
    memory: Memory = NO_MEMORY,
    max_imbalance: Annotated[
        Fraction | None,
        option(
            "--max-imbalance R",
            _imbalance,
            "Leave out partitions whose fullest node is above R times the mean load.",
        ),
    ] = None,
    json_: Json = False,
) -> None:
    """Keep request classes apart, or mix them? And which with which?

    Each node's mix decides whether its batch oscillates. Classes apart, all
    mixed on every node, and the partition with the fewest growing modes, each
    with a certificate, and with the load that it puts on each node.

    [bold]fluidkv mix --class 300:5 --class 300:6 --nodes 2[/bold]
    """
    from fluidkv.answers.mix import mix_answer

    workload, capacity = _workload(class_), memory.tokens()
    try:
        with progress("certifying partitions"):
            answer = mix_answer(workload, nodes, capacity=capacity, max_imbalance=max_imbalance)
    except InputError as error:  # the only argument that is left to check
        raise InputError("--capacity", error.value, error.allowed) from None
    give(answer.to_dict, lambda page: _say(page, answer), as_json=json_, notes=memory.notes())


def _workload(texts: list[str]) -> "Workload":
    if len(texts) > MOST_CLASSES:
        raise InputError("--class", f"{len(texts)} classes", f"at most {MOST_CLASSES}")
    workload = request_classes(texts)
    for text, c in zip(texts, workload.classes, strict=True):
        if c.decode_length > LONGEST:
            raise InputError("--class", text, f"a decode length of at most {LONGEST}")
    return workload


# --- text ---------------------------------------------------------------------------------------


def _say(page: Page, answer: "MixAnswer") -> None:
    found, apart, mixed = answer.found, answer.apart, answer.found.mixed
    classes, nodes = len(mixed.workload.classes), len(mixed.nodes)
    page.title(
        f"{counted(classes, 'request class', 'request classes')} on {counted(nodes, 'node')}"
    )
    split = found.best_partition
    same = apart is not None and split is not None and apart.groups == split.groups
    for name, routing in (
        ("apart", apart if nodes > 1 else None),
        ("all mixed", mixed),
        ("partition", None if same else split),
    ):
        if routing is not None:
            page.rows(_rows(name, routing))
    page.rows([("best", _best(found)), ("search", _search(found))])


def _rows(name: str, routing: "Routing") -> list[Row]:
    low, high = routing.spectral_radius
    head = f"{routing.stability}, {modes_grow(routing.unstable_modes)}"
    if high > 0:
        head += f", spectral radius {(low + high) / 2:.6g}"
    rows: list[Row] = [(name, head)]
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
        rows.append(("  rate", f"{short(routing.rate)} requests per iteration in all"))
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
        modes_grow(node.certificate.outside),
        f"divisor {node.decode_gcd}",
        f"{percent(node.load_share)} of requests",
    ]
    if node.rate is not None:
        parts.append(f"x* = {short(node.rate)}")
    return ", ".join(parts)


def _best(found: "BestPartition") -> str:
    if found.best is None:
        return "not decided"
    name = "all mixed" if found.is_mixed else "the partition"
    if found.best_partition is None:
        return name
    whole = modes_grow(found.mixed.unstable_modes)
    parts = modes_grow(found.best_partition.unstable_modes)
    if found.is_mixed:
        return f"{name}: {whole}; the best partition: {parts}"
    return f"{name}: {parts}; all mixed: {whole}"


def _search(found: "BestPartition") -> str:
    if not found.examined:
        return f"no partition to look at; {found.evidence}"
    kind = "every partition" if found.exhaustive else "local steps, not every partition"
    text = f"{counted(found.examined, 'partition')} ({kind}), {found.evidence}"
    for count, what in (
        (found.over_imbalance, "over the imbalance"),
        (len(found.undecided), "undecided"),
        (len(found.ties), "tied with the best"),
    ):
        if count:
            text += f"; {count:,} {what}"
    return text
