"""How a person reads what a sweep did."""

from collections.abc import Mapping
from typing import Any

from fluidkv.report.page import Page, Row


def say_sweep(page: Page, found: Mapping[str, Any]) -> None:
    """What, how many points, how fast, the answers, where it is and how to open it."""
    page.title(found["title"])
    page.paragraph(_shape(found))
    page.line()
    rows: list[Row] = [("computed", _work(found))]
    for name, counts in found["answers"].items():
        said = [
            f"{word} {_part(count, found['points'])}" for word, count in counts.items() if count
        ]
        rows.append((name.replace("_", " "), ", ".join(said) or "none"))
    if found["refused"]:
        part = _part(found["refused"], found["points"])
        rows.append(("no answer", f"{_many(found['refused'], 'point')} ({part}); {found['why']}"))
    names = ", ".join(each["name"] for each in found["variables"])
    rows += [("variables", names), ("store", found["store"])]
    page.rows(rows)
    page.line()
    page.line("open it in Python:")
    page.line(f"  import xarray; ds = xarray.open_zarr({found['store']!r})")


def _shape(found: Mapping[str, Any]) -> str:
    sizes = " x ".join(f"{dim['size']:,} {dim['name']}" for dim in found["dims"])
    points = _many(found["points"], "point")
    return f"{found['analysis']} over {sizes}: {points} in {_many(found['chunks'], 'chunk')}"


def _work(found: Mapping[str, Any]) -> str:
    if found["computed"] == 0:
        return "nothing: the store was complete"
    points = _many(found["computed"], "point")
    said = f"{points} in {found['seconds']:,.1f} s, {found['per_second']:,.4g} a second"
    before = found["before"]
    return f"{said}; {before:,} were there before" if before else said


def _many(number: int, what: str) -> str:
    return f"{number:,} {what}" + ("" if number == 1 else "s")


def _part(count: int, points: int) -> str:
    return f"{100 * count / points:.3g} %"
