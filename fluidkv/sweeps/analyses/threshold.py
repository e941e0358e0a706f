"""`threshold` at many points: from which input length on a mix of decode lengths is stable."""

from typing import TYPE_CHECKING, Any

from fluidkv.errors import InputError
from fluidkv.sweeps.analyses.systems import DECODE, SHARE, decode_lengths_of, shares_of
from fluidkv.sweeps.analysis import Analysis, Row, Variable, one_by_one

if TYPE_CHECKING:
    from fluidkv.exact.mixed.mix import LengthMix

_STATUS = ("found", "none", "beyond_bound", "bracketed", "undecided")
VARIABLES = (
    Variable("l0_min", "smallest stable input length", "token", "int"),
    Variable("at_most", "a stable length above an unstable one", "token", "int"),
    Variable("known", "what is known of the threshold", kind="flag", words=_STATUS),
    Variable("stable_windows", "stretches of stable input lengths", kind="int"),
    Variable("common_divisor", "greatest common divisor of the decode lengths", "token", "int"),
)


def _mix(row: Row) -> "LengthMix":
    from fluidkv.exact.mixed.mix import LengthMix

    lengths = decode_lengths_of(row)
    if len(lengths) < 2:
        raise InputError("decode_length", lengths, "at least two classes")
    return LengthMix(lengths, shares_of(row, len(lengths)))


def _find(mix: "LengthMix") -> dict[str, Any]:
    from fluidkv.exact.mixed.thresholds.threshold import input_threshold

    found = input_threshold(mix)
    return {
        "l0_min": found.least,
        "at_most": found.at_most,
        "known": found.status.name.lower(),
        "stable_windows": len(found.stable_windows),
        "common_divisor": mix.decode_gcd,
    }


THRESHOLD = Analysis(
    name="threshold",
    title="From which input length on is a mix stable?",
    call="fluidkv.input_threshold",
    settings=(DECODE, SHARE),
    variables=VARIABLES,
    admit=_mix,
    compute=one_by_one(VARIABLES, _mix, _find),
    chunk=256,
)
