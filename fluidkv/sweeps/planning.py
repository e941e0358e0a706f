"""A sweep cut into chunks: which points each has, and what is found at them.

The points are the product of the axes, in C order. A chunk is a box of them, and of every array in
the store one chunk of Zarr's: so no two writers ever touch one file. `plan`, `compute`, `write` and
`missing` are all that who runs a sweep needs, on whatever machines.
"""

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from fluidkv.errors import InputError
from fluidkv.sweeps.analysis import STATUS, Arrays, Points, Row, Variable
from fluidkv.sweeps.spec.spec import Spec, read_spec

_LOOKED_AT = 64  # points that are tried before a store is made
_MOST_POINTS = 10**8  # weeks for the quickest analysis, and gigabytes in memory for their numbers


@dataclass(frozen=True, eq=False)
class Plan:
    """What a sweep computes, chunk by chunk. It pickles as the text of its spec.

    Fields:
        spec: what was asked.

    Examples:
        >>> from fluidkv.sweeps.planning import plan
        >>> asked = {"analysis": "stability", "settings": {"decode_length": [2, 3], "capacity": 8}}
        >>> asked |= {"grid": {"input_length": [1, 4, 8]}, "chunk": 2}
        >>> found = plan(asked)
        >>> found.dims, found.shape, [found.size(chunk) for chunk in range(found.chunks)]
        (('input_length',), (3,), [2, 1])
        >>> found.region(1), found.points_of(found.region(1)).columns
        ((slice(2, 3, None),), {'input_length': [8]})
    """

    spec: Spec

    def __reduce__(self) -> tuple[Any, ...]:
        return _planned, (self.spec.text,)

    @cached_property
    def dims(self) -> tuple[str, ...]:
        """Names of the dimensions of the points."""
        return tuple(axis.dim for axis in self.spec.axes)

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Points along each."""
        return tuple(axis.size for axis in self.spec.axes)

    @cached_property
    def chunk_shape(self) -> tuple[int, ...]:
        """Points of a chunk along each; the last chunk of a dimension may have fewer."""
        return _chunk_shape(self.shape, self.spec.chunk)

    @property
    def points(self) -> int:
        """In all."""
        return math.prod(self.shape)

    @cached_property
    def grid(self) -> tuple[int, ...]:
        """Chunks along each dimension."""
        return tuple(-(-n // c) for n, c in zip(self.shape, self.chunk_shape, strict=True))

    @property
    def chunks(self) -> int:
        """In all; they are numbered from 0, in C order."""
        return math.prod(self.grid)

    @property
    def variables(self) -> tuple[Variable, ...]:
        return self.spec.analysis.variables

    @property
    def stored(self) -> tuple[Variable, ...]:
        """What a store has an array of; the status is written last."""
        return (*self.variables, STATUS)

    def place(self, chunk: int) -> tuple[int, ...]:
        """Which one it is along each dimension."""
        return tuple(int(i) for i in np.unravel_index(chunk, self.grid))

    def region(self, chunk: int) -> tuple[slice, ...]:
        """Its points along each dimension."""
        boxes = zip(self.place(chunk), self.chunk_shape, self.shape, strict=True)
        return tuple(slice(i * c, min((i + 1) * c, n)) for i, c, n in boxes)

    def size(self, chunk: int) -> int:
        """Points of a chunk."""
        return math.prod(each.stop - each.start for each in self.region(chunk))

    def points_of(self, region: tuple[slice, ...]) -> Points:
        """The settings at a box of points, in C order."""
        sizes = [each.stop - each.start for each in region]
        columns: dict[str, list[Any]] = {}
        for i, axis in enumerate(self.spec.axes):
            inner, outer = math.prod(sizes[i + 1 :]), math.prod(sizes[:i])
            for name, values in axis.columns.items():
                along = [v for v in values[region[i]] for _ in range(inner)]
                columns[name] = along * outer
        return Points(math.prod(sizes), self.spec.settings, columns)


def plan(spec: Mapping[str, Any] | Path | str | Spec) -> Plan:
    """What a spec asks for, cut into chunks.

    Args:
        spec: a TOML file, by its path, a mapping with the same keys, or a `Spec`.

    Raises:
        InputError: what `read_spec` refuses; a variable that has the name of an axis; too many
            points.
    """
    made = Plan(spec if isinstance(spec, Spec) else read_spec(spec))
    if made.points > _MOST_POINTS:
        sizes = " x ".join(f"{axis.size:,} of {axis.dim}" for axis in made.spec.axes)
        allowed = f"at most {_MOST_POINTS:,}: a coarser grid than {sizes}, or a sobol sample"
        raise InputError("points", made.points, allowed)
    return made


def compute(plan: Plan, chunk: int) -> Arrays:
    """Everything that is found at the points of a chunk: the same wherever it is computed.

    Returns:
        Variable -> array of the chunk's shape and the variable's own dimensions; `STATUS` among
        them, which says at which points there is an answer.

    Examples:
        >>> from fluidkv.sweeps.planning import compute, plan
        >>> asked = {"analysis": "stability", "settings": {"decode_length": [2, 3], "capacity": 8}}
        >>> asked |= {"grid": {"input_length": [1, 4, 8]}, "chunk": 2}
        >>> compute(plan(asked), 0)["in_flight"].round(3)
        array([2.857, 1.379])
    """
    region = plan.region(chunk)
    box = tuple(each.stop - each.start for each in region)
    found = plan.spec.analysis.compute(plan.points_of(region))
    return {name: values.reshape(box + values.shape[1:]) for name, values in found.items()}


def check_some(plan: Plan) -> None:
    """Look at the first points before anything is written.

    Raises:
        InputError: none of them has an answer; says why the first one has none.
    """
    analysis, first = plan.spec.analysis, None
    for number in range(min(plan.points, _LOOKED_AT)):
        refused = _refusal(plan, number, analysis.answer if analysis.quick else analysis.admit)
        if refused is None:
            return
        first = first or refused
    if first is not None:
        raise first


def why_refused(plan: Plan, point: int) -> InputError | None:
    """Why a point, counted in C order, has no answer; None if it has one."""
    return _refusal(plan, point, plan.spec.analysis.answer)


def _refusal(plan: Plan, point: int, ask: Callable[[Row], Any]) -> InputError | None:
    place = np.unravel_index(point, plan.shape)
    points = plan.points_of(tuple(slice(int(i), int(i) + 1) for i in place))
    try:
        ask(next(points.rows()))
    except InputError as error:
        return error
    return None


@lru_cache(maxsize=8)
def _planned(text: str) -> Plan:
    """The plan of a spec's text, made once a process."""
    return plan(json.loads(text))


def _chunk_shape(shape: tuple[int, ...], points: int) -> tuple[int, ...]:
    """Boxes of at most that many points, long along the last dimensions, about equal in size."""
    found: list[int] = []
    for n in reversed(shape):
        most = min(n, max(1, points))
        found.append(-(-n // -(-n // most)))
        points //= found[-1]
    return tuple(reversed(found))
