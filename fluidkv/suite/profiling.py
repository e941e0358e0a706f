"""Where the time of a call goes: to which packages, and to which rooms of this one."""

import cProfile
import pstats
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

_SHOWN = 5
_HERE = Path(__file__).parents[1]
_BUILT_IN = "~"  # the file of a function that has none


def where_time_goes(call: Callable[[], object], clock: Callable[[], float] | None = None) -> str:
    """The packages that take most, with their shares; a compiled loop counts for its caller.

    Args:
        call: what is to be profiled.
        clock: what is shared out, read where a function begins and where it ends; else seconds.
    """
    profile = cProfile.Profile(clock) if clock else cProfile.Profile()
    profile.runcall(call)
    stats: dict[tuple, tuple] = pstats.Stats(profile).__dict__["stats"]
    own: defaultdict[str, float] = defaultdict(float)
    for (file, _, function), (_, _, taken, _, callers) in stats.items():
        if file != _BUILT_IN:
            own[_package(file)] += taken
        elif "_thread." in function:
            own["waiting for threads"] += taken
        else:
            for (calling, *_), (_, _, taken, _) in callers.items():
                own[_package(calling)] += taken
    whole = sum(own.values())
    first = sorted(own, key=lambda name: own[name], reverse=True)[:_SHOWN]
    return ", ".join(f"{name} {own[name] / whole:.0%}" for name in first)


def _package(file: str) -> str:
    """`fluidkv.serving.kernel`, `xarray`; `Python` for what comes with it."""
    path = Path(file)
    if path.is_relative_to(_HERE):
        return ".".join(["fluidkv", *path.relative_to(_HERE).parts[:-1]])
    parts = path.parts
    if "site-packages" in parts:
        return parts[parts.index("site-packages") + 1].removesuffix(".py")
    return "Python"
