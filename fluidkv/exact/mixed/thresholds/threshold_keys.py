"""What JSON has of the threshold of a mix."""

from typing import Any

from fluidkv.exact.mixed.thresholds.asymptotic import AGAINST
from fluidkv.exact.mixed.thresholds.pencil import Crossing
from fluidkv.exact.roots.spectrum import UnitCircleCount
from fluidkv.keys import Key

_WINDOW = "fluidkv.exact.mixed.thresholds.threshold:InputWindow"
_COUNT = (
    ("input_length", "tokens", "at which modes are counted by themselves"),
    ("growing_modes", "count", "roots outside the unit circle; null: undecided"),
    ("neutral_modes", "count", "roots on it"),
    ("evidence", "text", "for both counts"),
)


def _count_dict(length: int | None, count: UnitCircleCount | None) -> dict[str, Any] | None:
    if count is None:
        return None
    return {
        "input_length": length,
        "growing_modes": count.outside,
        "neutral_modes": count.on_circle,
        "evidence": None if count.outside is None else count.evidence,
    }


THRESHOLD_KEYS = (
    Key("decode_lengths[]", "tokens", "the shortest output first", "mix.decode_lengths"),
    Key("shares[]", "share", "of requests with each", "mix.shares", exact=True),
    Key(
        "input_ratios[]",
        "number",
        what="input lengths, as multiples of L",
        of="mix.input_ratios",
        exact=True,
    ),
    Key("common_divisor", "tokens", "of the decode lengths", "mix.decode_gcd"),
    Key(
        "status",
        "text",
        what="`found`, `none`, `beyond_bound`, `bracketed`, `undecided`",
        of=lambda answer: answer.status.name.lower(),
    ),
    Key("l0_min", "tokens", of="least"),
    Key(
        "l0_min_at_most",
        "tokens",
        what="stable there and not one token below; l0_min is not larger",
        of="at_most",
    ),
    Key("bound", "tokens"),
    Key(
        "at",
        "",
        what="the certificate at `l0_min_at_most`; null where there is none",
        of=lambda answer: _count_dict(answer.at_most, answer.at),
        below=_COUNT,
    ),
    Key(
        "below",
        "",
        what="the certificate one token below it",
        of=lambda answer: _count_dict(answer.last_unstable, answer.below),
        below=_COUNT,
    ),
    Key("last_crossings[]", "", "what takes the last growing modes in", below=Crossing),
    Key("stable_windows[]", below=_WINDOW),
    Key("windows[]", below=_WINDOW),
    Key("crossings[]", below=Crossing),
    Key(
        "asymptotic",
        of=lambda answer: answer.asymptotic and answer.asymptotic.against(answer.least),
        below=AGAINST,
    ),
)
"""Keys of an `InputThreshold`, in their order."""
