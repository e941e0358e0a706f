"""What CacheOPT is given, and which of its parts are left out, as values.

Defaults are those of section 5. Where the paper leaves something open, or its print and its words
differ, there is a value with both.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from types import MappingProxyType

from fluidkv.errors import InputError
from fluidkv.record import Record
from fluidkv.runs.checks import count, real
from fluidkv.serving.rules import Ranges, Restore, Victim


class Selection(Enum):
    """Who is served, and with how much.

    Examples:
        >>> from fluidkv_papers.cacheopt.scheduler.run import serve_cacheopt
        >>> from fluidkv_papers.cacheopt.scheduler.settings import CacheOpt, Selection
        >>> table = fk.Requests([2, 4], [9, 1], arrival=[0.0, 1.0], ttft_slo=[np.inf, 1.5])
        >>> for selection in Selection:
        ...     settings = CacheOpt(embeds=False, reserved_blocks=0, selection=selection)
        ...     run = serve_cacheopt(table, settings, fk.Limits(11))
        ...     print(selection.name, run.first_token.values.tolist())
        BY_SLACK [[1.0, 3.0]]
        FIRST_COME [[1.0, 10.0]]
    """

    BY_SLACK = "critical requests first, then the three cases (3.3.2)"
    FIRST_COME = "first come, first served, each with its whole estimate, as RLP (/RSA)"


class Overdue(Enum):
    """Whether a request whose objective is missed already is critical.

    Examples:
        >>> from fluidkv_papers.cacheopt.scheduler.run import serve_cacheopt
        >>> from fluidkv_papers.cacheopt.scheduler.settings import CacheOpt, Overdue
        >>> table = fk.Requests([2, 3], [9, 1], arrival=[0.0, 0.5], ttft_slo=[np.inf, 0.2])
        >>> for overdue in Overdue:
        ...     settings = CacheOpt(embeds=False, reserved_blocks=0, overdue=overdue)
        ...     run = serve_cacheopt(table, settings, fk.Limits(11))
        ...     print(overdue.name, run.evictions.values.tolist())
        CRITICAL [[1, 0]]
        TOO_LATE [[0, 0]]
    """

    CRITICAL = "yes: RT - T_max < epsilon holds, as printed"
    TOO_LATE = "no: nothing can satisfy its objective any more, which is what the rule is for"


class Weights(Enum):
    """Whose demand is cut, in case 3.

    Examples:
        >>> from fluidkv_papers.cacheopt.scheduler.run import serve_cacheopt
        >>> from fluidkv_papers.cacheopt.scheduler.settings import CacheOpt, Weights
        >>> table = fk.Requests([4, 1], [6, 3], tbt_slo=[8.0, 8.0])
        >>> for weights in Weights:
        ...     settings = CacheOpt(embeds=False, reserved_blocks=0, weights=weights)
        ...     run = serve_cacheopt(table, settings, fk.Limits(10))
        ...     print(weights.name, run.last_token.values.tolist())
        PRINTED [[6.0, 8.0]]
        SENTENCE [[6.0, 3.0]]
    """

    PRINTED = "allocated in proportion to RT times prompt length: who is loose and long gets most"
    SENTENCE = "cut in proportion to RT times predicted output: who is loose and long is cut most"


class Ahead(Enum):
    """Which running requests with an unfulfilled demand get more before they ask.

    Examples:
        >>> from fluidkv_papers.cacheopt.scheduler.run import serve_cacheopt
        >>> from fluidkv_papers.cacheopt.scheduler.settings import Ahead, CacheOpt
        >>> table = fk.Requests([2], [5], estimated_output=[2])
        >>> for ahead in Ahead:
        ...     settings = CacheOpt(reserved_blocks=0, ahead=ahead)
        ...     run = serve_cacheopt(table, settings, fk.Limits(20, block_size=2))
        ...     print(ahead.name, run.used_blocks.values.tolist())
        COMPLETES [[2, 2, 2, 3, 3]]
        EXHAUSTS [[2, 2, 3, 4, 4]]
    """

    COMPLETES = "those predicted to complete within m iterations (3.3.3, as printed)"
    EXHAUSTS = "those that use up what they have within m iterations (the abstract)"


class Place(Enum):
    """Where in the host's allocation a guest lies.

    Examples:
        >>> from fluidkv_papers.cacheopt.scheduler.run import serve_cacheopt
        >>> from fluidkv_papers.cacheopt.scheduler.settings import CacheOpt, Place
        >>> table = fk.Requests([2, 2], [20, 9], arrival=[0.0, 1.0], estimated_output=[20, 2])
        >>> for place in Place:  # the guest has more outputs than estimated, and its host grows
        ...     settings = CacheOpt(buffer=0, reserved_blocks=0, place=place)
        ...     run = serve_cacheopt(table, settings, fk.Limits(22))
        ...     print(place.name, run.evictions.values.tolist(), run.last_token.values.tolist())
        LOWEST [[0, 1]] [[20.0, 28.0]]
        HIGHEST [[0, 0]] [[20.0, 10.0]]
    """

    LOWEST = "b tokens past the host's tip when the guest is done (the paper)"
    HIGHEST = "at the end of what the host has: all that is left over is buffer"


@dataclass(frozen=True)
class CacheOpt(Record):
    """The settings of CacheOPT. The block size B is that of `Limits`.

    Args:
        buffer: b, tokens between a host and its guest (3.3.1).
        embeds: whether anybody is embedded.
        slack: epsilon, time that is small, at least 0 (3.3.2).
        iterations_ahead: m; 0: nothing is given ahead (/PA).
        reserved_blocks: R, blocks that only a request that found no others gets; 0: none (/GR).
        hands_on: whether who is cut is named heir to somebody's memory.
        spares_newcomers: whether nobody is preempted before it emits a token; False: as printed,
            where requests may take turns for ever and none compute.
        preempted_are_critical: whether a preempted request that waits is critical by its TBT
            objective. As printed only RT_tft decides of who waits, and RT_tbt orders them.
        beyond_budget: whether memory left over in case 2 goes to requests past the token budget.
        victim: CacheOPT's order, or another order that `Victim` has; the last come is /PP.
        restore: the cheaper of both is CacheOPT's; recomputation alone is /PSS.
        ranges: of CacheOPT's order (3.4).
        selection, overdue, weights, ahead, place: see the enumerations.

    Raises:
        InputError: a number outside of what is said here, or another kind of value.

    Examples:
        >>> from fluidkv_papers.cacheopt.scheduler.settings import CacheOpt
        >>> settings = CacheOpt(buffer=0, reserved_blocks=4)
        >>> settings.reserved_blocks, settings.victim.name, settings.may_cycle
        (4, 'LOOSEST_OBJECTIVE', False)
    """

    buffer: int = 8
    embeds: bool = True
    slack: float = 0.0
    iterations_ahead: int = 2
    reserved_blocks: int = 8
    hands_on: bool = True
    spares_newcomers: bool = True
    preempted_are_critical: bool = False
    beyond_budget: bool = True
    selection: Selection = Selection.BY_SLACK
    overdue: Overdue = Overdue.CRITICAL
    weights: Weights = Weights.PRINTED
    ahead: Ahead = Ahead.COMPLETES
    place: Place = Place.LOWEST
    victim: Victim = Victim.LOOSEST_OBJECTIVE
    restore: Restore = Restore.CHEAPER
    ranges: Ranges = field(default_factory=Ranges)

    def __post_init__(self) -> None:
        for name in ("buffer", "iterations_ahead", "reserved_blocks"):
            object.__setattr__(self, name, count(name, getattr(self, name), least=0))
        if not 0 <= real(self.slack) < float("inf"):
            raise InputError("slack", self.slack, "a finite time of at least 0")

    @property
    def may_cycle(self) -> bool:
        """Whether two late requests may be preempted for each other for ever."""
        return self.selection is not Selection.FIRST_COME and not self.spares_newcomers


_WHOLE = CacheOpt()
ABLATIONS: Mapping[str, CacheOpt] = MappingProxyType(
    {
        "/RSA": replace(_WHOLE, selection=Selection.FIRST_COME, embeds=False),
        "/PA": replace(_WHOLE, iterations_ahead=0),
        "/GR": replace(_WHOLE, reserved_blocks=0),
        "/PP": replace(_WHOLE, victim=Victim.LAST_ADMITTED),
        "/PSS": replace(_WHOLE, restore=Restore.RECOMPUTE),
    }
)
"""Section 5.2. /CKA is no setting: the estimates of the requests have a padding of 10 % then.

>>> from fluidkv_papers.cacheopt.scheduler.run import serve_cacheopt
>>> from fluidkv_papers.cacheopt.scheduler.settings import ABLATIONS
>>> table = fk.Requests([2, 2], [4, 4], estimated_output=[2, 2])
>>> serve_cacheopt(table, ABLATIONS["/GR"], fk.Limits(6)).preempt.sum().item()
1
"""

NOTHING = replace(
    ABLATIONS["/RSA"],
    iterations_ahead=0,
    reserved_blocks=0,
    victim=Victim.LAST_ADMITTED,
    restore=Restore.RECOMPUTE,
    spares_newcomers=False,
)
"""With every part left out: whole estimates first come, first served; past them block by block."""
