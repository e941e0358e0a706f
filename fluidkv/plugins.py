"""What other distributions bring: claims, figures and tables, listed by their entry points.

A distribution names a function for each kind of thing that it lists, in its `pyproject.toml`:

    [project.entry-points."fluidkv.claims"]
    papers = "fluidkv_papers.claims:claims"

Nothing of it is imported before that kind is asked for. What the functions return is said where it
is used: `fluidkv.ledger.registry` and `fluidkv.figures.registry`.
"""

from functools import cache
from importlib.metadata import entry_points
from typing import Any, Literal

from fluidkv.errors import InputError

Kind = Literal["claims", "figures", "tables"]
KINDS: tuple[Kind, ...] = ("claims", "figures", "tables")


def listed(kind: Kind) -> list[Any]:
    """What each installed plug-in lists of this kind, plug-ins in the order of their names.

    Raises:
        InputError: no plug-in that lists any is installed; the message says what to install.
    """
    points = sorted(entry_points(group=f"fluidkv.{kind}"), key=lambda point: point.name)
    if not points:
        raise InputError(
            kind,
            None,
            "those of an installed plug-in; pip install fluidkv-papers "
            "(in a checkout: pip install -e papers)",
        )
    return [point.load()() for point in points]


@cache
def packages() -> frozenset[str]:
    """The top-level packages of the installed plug-ins: "fluidkv_papers"."""
    points = [point for kind in KINDS for point in entry_points(group=f"fluidkv.{kind}")]
    return frozenset(point.module.split(".")[0] for point in points)
