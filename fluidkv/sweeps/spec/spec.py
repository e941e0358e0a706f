"""What a sweep is asked: one analysis, fixed settings, and axes; read from TOML or a mapping."""

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from hashlib import sha256
from math import prod
from pathlib import Path
from typing import Any

from fluidkv.errors import InputError
from fluidkv.questions.kinds import Whole, plain
from fluidkv.reading import reading
from fluidkv.sweeps.analyses.named import analysis_named
from fluidkv.sweeps.analysis import REQUIRED, SEED, Analysis, Setting
from fluidkv.sweeps.spec.axes import (
    MOST_POINTS,
    ROW,
    SAMPLE,
    Axis,
    Column,
    grid_axis,
    list_axis,
    read_value,
    sobol_axis,
)
from fluidkv.text import nearest

_TOP = ("analysis", "title", "seed", "chunk", "settings", "grid", "list", "sobol")
_TABLES = ("settings", "grid", "list", "sobol")
MOST_SAMPLES = 2**24


@dataclass(frozen=True)
class Spec:
    """A sweep as it was asked for, checked.

    Fields:
        analysis: what is done at each point.
        title: of the dataset.
        seed: of the Sobol sample, and of what points draw unless it varies.
        chunk: about how many points are computed and written together.
        settings: what is the same at all points, defaults included.
        axes: the dimensions, in their order.
    """

    analysis: Analysis
    title: str
    seed: int
    chunk: int
    settings: Mapping[str, Any]
    axes: tuple[Axis, ...]

    def as_dict(self) -> dict[str, Any]:
        """Plain values; reading them gives the same spec."""
        defaults = {each.name: each.default for each in self.analysis.settings}
        said: dict[str, Any] = {
            "analysis": self.analysis.name,
            "title": self.title,
            "seed": self.seed,
            "chunk": self.chunk,
            "settings": {
                name: plain(value)
                for name, value in self.settings.items()
                if name != SEED.name and (value is not None or defaults.get(name) is not None)
            },
        }
        for axis in self.axes:
            table = {ROW: "list", SAMPLE: "sobol"}.get(axis.dim, "grid")
            said[table] = {**said.get(table, {}), **axis.said}
        return said

    @property
    def text(self) -> str:
        """The one text of it: equal specs have equal texts."""
        return json.dumps(self.as_dict(), separators=(",", ":"), allow_nan=False)

    @property
    def digest(self) -> str:
        return sha256(self.text.encode()).hexdigest()


def read_spec(spec: Mapping[str, Any] | Path | str) -> Spec:
    """A spec from a TOML file, by its path, or from a mapping with the same keys.

    Raises:
        InputError: a file that cannot be read or is not TOML; an unknown analysis, key or setting,
            and what is near it; a value of the wrong kind; a setting that is missing, or said
            twice; an axis without values; no axis.

    Examples:
        >>> from fluidkv.sweeps.spec.spec import read_spec
        >>> asked = {"analysis": "stability", "settings": {"decode_length": [2, 3], "capacity": 8}}
        >>> asked |= {"grid": {"input_length": [1, 4, 8]}, "chunk": 2}
        >>> read_spec(asked).settings["decode_length"]
        (2, 3)
        >>> read_spec(asked | {"analysis": "stab"})
        Traceback (most recent call last):
        ...
        fluidkv.errors.InputError: analysis: got 'stab'; allowed: stability, ...
    """
    said = spec if isinstance(spec, Mapping) else _read_toml(spec)
    for key in said:
        if key not in _TOP:
            raise InputError("spec", key, _top_key(key, said))
    if "analysis" not in said:
        raise InputError("analysis", "none", "the name of an analysis, such as stability")
    analysis = analysis_named(said["analysis"])
    for table in _TABLES:
        if table in said and not isinstance(said[table], Mapping):
            raise InputError(table, said[table], f"a table, [{table}]")
    title = said.get("title", analysis.title)
    if not isinstance(title, str):
        raise InputError("title", title, "a text")
    seed = Whole(0, 2**31 - 1).read("seed", said.get("seed", 0))
    settings = {
        name: read_value(f"settings.{name}", setting, value, single=name != setting.name)
        for name, (setting, value) in _known(analysis, said, "settings").items()
    }
    axes = _axes(analysis, said, seed)
    _check_once(settings, axes)
    return Spec(
        analysis=analysis,
        title=title,
        seed=seed,
        chunk=Whole(1, 2**24).read("chunk", said.get("chunk", analysis.chunk)),
        settings=_with_defaults(analysis, settings, axes, seed),
        axes=axes,
    )


def _read_toml(path: Path | str) -> Mapping[str, Any]:
    if not isinstance(path, Path | str) or "\0" in str(path):
        raise InputError("spec", path, "the path of a TOML file, or a mapping")
    with reading(Path(path), "spec") as text:
        content = text.read()
    try:
        return tomllib.loads(content, parse_float=Decimal)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InputError("spec", str(path), f"a TOML file ({error})") from None
    except (ValueError, InvalidOperation):  # digits or an exponent that Python does not read
        raise InputError("spec", str(path), "numbers of at most 1,000 digits") from None


def _top_key(key: object, said: Mapping[str, Any]) -> str:
    """What is allowed in place of an unknown key; a setting stands one level deeper."""
    try:
        if analysis_named(said.get("analysis")).setting(str(key)) is not None:
            return f"{key} under [settings], or as an axis under [grid], [list] or [sobol]"
    except InputError:
        pass
    return nearest(key, _TOP)


def _known(
    analysis: Analysis, said: Mapping[str, Any], table: str, besides: Sequence[str] = ()
) -> dict[str, tuple[Setting, Any]]:
    """Key -> its setting and what is said of it; unknown keys are refused."""
    found = {}
    for key, value in said.get(table, {}).items():
        if key in besides:
            continue
        setting = analysis.setting(key)
        if setting is None or (table == "settings" and key == SEED.name):
            where = "seed above all tables" if setting else ""
            known = [*besides, *(each.name for each in analysis.settings)]
            raise InputError(table, key, where or nearest(key, known))
        found[key] = (setting, value)
    return found


def _axes(analysis: Analysis, said: Mapping[str, Any], seed: int) -> tuple[Axis, ...]:
    columns = {
        table: [
            Column(key, f"{table}.{key}", setting, value)
            for key, (setting, value) in _known(analysis, said, table, besides).items()
        ]
        for table, besides in (("grid", ()), ("list", ()), ("sobol", ("points",)))
    }
    axes = [grid_axis(column) for column in columns["grid"]]
    if columns["list"]:
        axes.append(list_axis(columns["list"]))
    if columns["sobol"]:
        points = said["sobol"].get("points")
        if points is None:
            raise InputError("sobol.points", "none", "how many points the sample has")
        number = Whole(1, MOST_SAMPLES).read("sobol.points", points)
        axes.append(sobol_axis(number, columns["sobol"], seed))
    for table in ("grid", "list", "sobol"):
        if table in said and not columns[table]:
            raise InputError(table, "no axis", "at least one setting with its values")
    if not axes:
        raise InputError("grid", "none", "an axis under [grid], [list] or [sobol]")
    if (points := prod(axis.size for axis in axes)) > MOST_POINTS:
        raise InputError("grid", f"{points:,} points", f"at most {MOST_POINTS:,}")
    return tuple(axes)


def _check_once(settings: Mapping[str, Any], axes: Sequence[Axis]) -> None:
    seen: set[str] = set(settings)
    for axis in axes:
        for name in axis.columns:
            if name in seen:
                raise InputError(name, "said twice", "one place: [settings], or one axis")
            seen.add(name)


def _with_defaults(
    analysis: Analysis, settings: Mapping[str, Any], axes: Sequence[Axis], seed: int
) -> dict[str, Any]:
    """All that is fixed, in the order of the analysis; single classes behind."""
    varied = {key for axis in axes for key in axis.columns}
    said = set(settings) | varied
    found: dict[str, Any] = {}
    for setting in analysis.settings:
        if setting.name in settings:
            found[setting.name] = settings[setting.name]
        elif setting.name in varied:
            continue
        elif setting.name == SEED.name:
            found[SEED.name] = seed
        elif any(analysis.setting(name) is setting for name in said):
            continue  # class by class
        elif setting.default is REQUIRED:
            allowed = "a value under [settings], or an axis under [grid], [list] or [sobol]"
            raise InputError(setting.name, "none", allowed)
        else:
            found[setting.name] = setting.default
    return found | {name: value for name, value in settings.items() if name not in found}
