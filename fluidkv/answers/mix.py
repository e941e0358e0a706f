"""`fluidkv mix`: which request classes to put on which node."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated

from fluidkv.answers.memory import converted_rows, optional_tokens
from fluidkv.answers.served.load import CLASSES, request_classes
from fluidkv.errors import InputError
from fluidkv.keys import Key, Keyed
from fluidkv.plain import picked, with_exact
from fluidkv.questions.kinds import Exact, Whole
from fluidkv.questions.options import SERVER, Made, Option
from fluidkv.questions.question import Question
from fluidkv.report.numbers import counted, modes_grow, percent, short
from fluidkv.report.page import Page, Row
from fluidkv.workload import Workload

if TYPE_CHECKING:
    from fluidkv.exact.routing.mixing import RoutedNode, Routing
    from fluidkv.exact.routing.partition import BestPartition

LONGEST = 4096  # decode length; beyond, one certificate takes seconds, and there are hundreds
MOST_CLASSES = 64
_SHOWN = 44  # columns for the classes of a node
_NODES = Option(
    "--nodes N",
    Whole(1, 1024),
    "Number of nodes, which all have the same KV capacity.",
    SERVER,
)
_IMBALANCE = Option(
    "--max-imbalance R",
    Exact(1, math.inf, example="1.2 or 6/5", included=True),
    "Leave out partitions whose fullest node is above R times the mean load.",
    None,
)


_ROUTING = "→ [routing](#routing)"


@dataclass(frozen=True)
class MixAnswer(Keyed):
    """What `fluidkv mix` reports.

    Fields:
        partition: mixed, and the best of the partitions.
        apart: neighbouring classes together; None where there are fewer classes than nodes.
        max_imbalance: the fullest node over the mean load, above which partitions were left out.

    Examples:
        >>> from fluidkv.answers.mix import mix_answer
        >>> chats = fk.Workload.from_lengths([(1, 2), (1, 2), (1, 3), (1, 5)])
        >>> answer = mix_answer(chats, nodes=2)
        >>> answer.partition.examined, answer.partition.is_mixed, answer.partition.exhaustive
        (3, False, True)
        >>> answer.apart.groups, answer.partition.best_partition.groups
        (((0,), (1, 2)), ((0,), (1, 2)))
    """

    partition: "BestPartition"
    apart: "Routing | None"
    max_imbalance: Fraction | None

    KEYS = (
        Key(
            "classes[]",
            of=lambda answer: [
                {**picked(each, "input_length", "decode_length"), **with_exact("share", each.share)}
                for each in answer.partition.mixed.workload.classes
            ],
            below=(
                ("input_length", "tokens", "of the class"),
                ("decode_length", "tokens", "of the class"),
                ("share", "share", "of requests"),
            ),
        ),
        Key("nodes", "count", "asked for", lambda answer: len(answer.partition.mixed.nodes)),
        Key("capacity", "tokens", "of each", "partition.mixed.capacity", exact=True),
        Key("max_imbalance", "number", exact=True),
        Key("best", "text"),
        Key("segregated", "", f"neighbouring classes together {_ROUTING}", "apart"),
        Key("mixed", "", f"all classes on all nodes {_ROUTING}", "partition.mixed"),
        Key(
            "partition",
            "",
            what=f"the best with each class on one node {_ROUTING}",
            of="partition.best_partition",
        ),
        Key("search.examined", "count", "partitions looked at", "partition.examined"),
        Key(
            "search.over_imbalance",
            "count",
            what="left out for their imbalance",
            of="partition.over_imbalance",
        ),
        Key(
            "search.undecided",
            "count",
            what="left out, as a certificate did not close",
            of=lambda answer: len(answer.partition.undecided),
        ),
        Key(
            "search.ties",
            "count",
            what="that could not be told from the best",
            of=lambda answer: len(answer.partition.ties),
        ),
        Key("search.exhaustive", "yes/no", "whether it is all of them", "partition.exhaustive"),
        Key("search.evidence", "text", "that none is better", "partition.evidence"),
    )

    @property
    def best(self) -> str | None:
        """`mixed` or `partition`; None: not decided."""
        if self.partition.best is None:
            return None
        return "mixed" if self.partition.is_mixed else "partition"


def _classes(class_: Annotated[Sequence[str], CLASSES]) -> Workload:
    if len(class_) > MOST_CLASSES:
        raise InputError("--class", f"{len(class_)} classes", f"at most {MOST_CLASSES}")
    workload = request_classes(class_)
    for text, c in zip(class_, workload.classes, strict=True):
        if c.decode_length > LONGEST:
            raise InputError("--class", text, f"a decode length of at most {LONGEST}")
    return workload


def mix_answer(
    workload: Annotated[Workload, Made(_classes)],
    nodes: Annotated[int, _NODES],
    *,
    capacity: Annotated[Fraction | int | None, Made(optional_tokens)] = None,
    max_imbalance: Annotated[Fraction | int | None, _IMBALANCE] = None,
) -> MixAnswer:
    """Keep request classes apart, or mix them? And which with which?

    Each node's mix decides whether its batch oscillates. Classes apart, all
    mixed on every node, and the partition with the fewest growing modes, each
    with a certificate, and with the load that it puts on each node.

    Raises:
        InputError: as `best_partition` does.

    Examples:
        >>> from fluidkv.answers.mix import mix_answer
        >>> answer = mix_answer(fk.Workload.from_lengths([(8, 3), (8, 4)]), nodes=2)
        >>> answer.to_dict()["best"], answer.partition.mixed.stability.value
        ('mixed', 'stable')
        >>> answer.apart.stability.value  # one length alone: requests bunch together
        'unstable'
    """
    from fluidkv.exact.routing.mixing import segregated
    from fluidkv.exact.routing.partition import best_partition

    partition = best_partition(workload, nodes, capacity=capacity, max_imbalance=max_imbalance)
    apart = None
    if nodes <= len(workload.classes):
        apart = segregated(workload, nodes, capacity=capacity)
    bound = None if max_imbalance is None else Fraction(max_imbalance)
    return MixAnswer(partition, apart, bound)


def say_mix(page: Page, answer: "MixAnswer") -> None:
    """Each way of using the nodes, the best of them, and how it was searched."""
    partition, apart, mixed = answer.partition, answer.apart, answer.partition.mixed
    classes, nodes = len(mixed.workload.classes), len(mixed.nodes)
    page.title(
        f"{counted(classes, 'request class', 'request classes')} on {counted(nodes, 'node')}"
    )
    split = partition.best_partition
    same = apart is not None and split is not None and apart.groups == split.groups
    for name, routing in (
        ("apart", apart if nodes > 1 else None),
        ("all mixed", mixed),
        ("partition", None if same else split),
    ):
        if routing is not None:
            page.rows(_rows(name, routing))
    page.rows([("best", _best(partition)), ("search", _search(partition))])


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


def _best(partition: "BestPartition") -> str:
    if partition.best is None:
        return "not decided"
    name = "all mixed" if partition.is_mixed else "the partition"
    if partition.best_partition is None:
        return name
    whole = modes_grow(partition.mixed.unstable_modes)
    parts = modes_grow(partition.best_partition.unstable_modes)
    if partition.is_mixed:
        return f"{name}: {whole}; the best partition: {parts}"
    return f"{name}: {parts}; all mixed: {whole}"


def _search(partition: "BestPartition") -> str:
    if not partition.examined:
        return f"no partition to look at; {partition.evidence}"
    kind = "every partition" if partition.exhaustive else "local steps, not every partition"
    text = f"{counted(partition.examined, 'partition')} ({kind}), {partition.evidence}"
    for count, what in (
        (partition.over_imbalance, "over the imbalance"),
        (len(partition.undecided), "undecided"),
        (len(partition.ties), "tied with the best"),
    ):
        if count:
            text += f"; {count:,} {what}"
    return text


MIX = Question(
    name="mix",
    ask=mix_answer,
    say=say_mix,
    notes=converted_rows,
    doing="certifying partitions",
    assumes=(
        "Each node is full and never lacks requests to admit, in the shares of its classes.",
        "Nodes are alike, and a class goes to one node or, mixed, to all.",
    ),
    examples=("fluidkv mix --class 300:5 --class 300:6 --nodes 2",),
    time="iteration",
    sweep=None,
)
