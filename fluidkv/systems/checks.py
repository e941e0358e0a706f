"""What a system may be, for many at once: the first bad one is named, with its argument."""

import math

import numpy as np

from fluidkv.errors import InputError
from fluidkv.systems.rationals import INTEGER, Rationals, first


def check_systems(
    input_length: np.ndarray, decode_length: np.ndarray, share: Rationals, capacity: Rationals
) -> None:
    """As `RequestClass`, `Workload` and `System` check one.

    Raises:
        InputError: a length below 1, a share outside (0, 1], shares that do not sum to exactly 1, a
            capacity not above the largest request, a class behind a place that is empty.
    """
    shape = input_length.shape
    if len(shape) != 2 or 0 in shape:
        raise InputError("input_length", f"shape {shape}", "(system, class), at least one of each")
    for name, got, allowed in (
        ("decode_length", decode_length.shape, shape),
        ("share", share.numerator.shape, shape),
        ("capacity", capacity.numerator.shape, shape[:1]),
    ):
        if got != allowed:
            raise InputError(name, f"shape {got}", f"{allowed}, as input_length")
    here = decode_length != 0
    here[:, 0] = True
    columns = (
        ("input_length", input_length, input_length >= 1, INTEGER),
        ("decode_length", decode_length, decode_length >= 1, INTEGER),
        (
            "share",
            share,
            (share.numerator > 0) & (share.numerator <= share.denominator),
            "a rational number in (0, 1]",
        ),
    )
    for name, values, good, allowed in columns:
        _raise_first(name, values, here & ~good, allowed)
    late = here[:, 1:] & ~here[:, :-1]
    _raise_first("decode_length", decode_length[:, 1:], late, "0 behind a place without a class")
    for name, values in (("input_length", input_length), ("share", share.numerator)):
        _raise_first(name, values, ~here & (values != 0), "0 where decode_length is 0")
    _check_sums(share)
    # Of unsigned numbers: two lengths below 2^63 sum to less than 2^64.
    largest = (input_length.astype(np.uint64) + decode_length.astype(np.uint64)).max(axis=1)
    whole, rest = np.divmod(*capacity)
    least = np.where(whole < 0, 0, whole).astype(np.uint64)
    bad = first((least < largest) | ((least == largest) & (rest == 0)))
    if bad is not None:
        raise InputError(
            "capacity",
            f"{_shown(capacity, bad)} (system {bad})",
            f"more than {largest[bad]} tokens, the largest request (input + decode)",
        )


def _raise_first(name: str, values: np.ndarray | Rationals, bad: np.ndarray, allowed: str) -> None:
    system = first(bad) if bad.size else None
    if system is not None:
        shown = _shown(values, (system, int(bad[system].argmax())))
        raise InputError(name, f"{shown} (system {system})", allowed)


def _shown(values: np.ndarray | Rationals, at: int | tuple[int, int]) -> str:
    if not isinstance(values, Rationals):
        return str(values[at])
    top, bottom = (part[at] for part in values)
    return str(top) if bottom == 1 else f"{top}/{bottom}"


def _check_sums(share: Rationals) -> None:
    """On integers over a common denominator, in 64 bits where they hold it."""
    with np.errstate(over="ignore"):
        product = share.denominator.astype(np.float64).prod(axis=1)
        common = np.lcm.reduce(share.denominator, axis=1)
        sums = (share.numerator * (common[:, None] // np.maximum(share.denominator, 1))).sum(axis=1)
    wide = product * share.numerator.shape[1] >= 2.0**62
    wrong = np.where(wide, False, sums != common)
    for i in np.flatnonzero(wide):
        tops, bottoms = share.numerator[i].tolist(), share.denominator[i].tolist()
        lcm = math.lcm(*bottoms)
        wrong[i] = sum(t * (lcm // b) for t, b in zip(tops, bottoms, strict=True)) != lcm
    bad = first(wrong)
    if bad is not None:
        raise InputError("share", f"shares of system {bad}", "shares that sum to exactly 1")
