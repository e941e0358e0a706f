"""What other runs of the same load on the same server came to, where a log's meta.json says it.

Between repeats of one run counts differ: what lies within their spread cannot be told from chance.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any

from fluidkv.errors import InputError
from fluidkv.logs.meta import META_FILE, meta_of
from fluidkv.logs.read import log_folder
from fluidkv.questions.answer import Answer, Described

_KEY = "repeats_of_this_run"
_NAMES: Mapping[str, str] = MappingProxyType(
    {
        "preemptions": "retractions",
        "duration_s": "wall_s",
        "output_per_s": "out_tok_s",
        "recomputed_tokens": "recomputed_tokens",
    }
)
_MOST = 10**15


@dataclass(frozen=True)
class Repeats(Answer):
    """Several runs, the logged one among them; a number each, () where the file does not say."""

    preemptions: Annotated[tuple[float, ...], Described("of each", kind="count", lists=1)] = ()
    duration_s: Annotated[
        tuple[float, ...], Described("from the first arrival to the last token", "s", lists=1)
    ] = ()
    output_per_s: Annotated[
        tuple[float, ...], Described("output tokens over that time", "tokens a second", lists=1)
    ] = ()
    recomputed_tokens: Annotated[
        tuple[float, ...], Described("computed again", "tokens", lists=1)
    ] = ()


def read_repeats(source: Path | str) -> Repeats | None:
    """None where no file says anything of repeats.

    Args:
        source: a log folder, or a file in it.

    Raises:
        InputError: a meta.json that is no JSON object; numbers of repeats that are none.
    """
    runs = meta_of(log_folder(source)).get(_KEY)
    if runs is None:
        return None
    if not isinstance(runs, dict):
        raise InputError(_KEY, runs, f"a JSON object in {META_FILE}")
    numbers = {name: _numbers(runs, key) for name, key in _NAMES.items()}
    return Repeats(**numbers) if any(numbers.values()) else None


def _numbers(runs: dict[str, Any], key: str) -> tuple[float, ...]:
    values = runs.get(key, [])
    fine = isinstance(values, list) and all(
        isinstance(v, int | float) and not isinstance(v, bool) and 0 <= v <= _MOST for v in values
    )
    if not fine:
        raise InputError(f"{_KEY}.{key}", values, f"numbers of at least 0 in {META_FILE}")
    return tuple(float(value) for value in values)
