"""Pictures of described answers: lines over a coordinate, one or several, with bands or without."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import cycle
from typing import TYPE_CHECKING, Any

from fluidkv.figures.figure import Axes, Canvas, Data, Figure
from fluidkv.figures.style import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, name_axes
from fluidkv.questions.answer import Answer

if TYPE_CHECKING:
    import xarray as xr

_LOOKS = (
    (BLUE, "-", "o"),
    (ORANGE, "--", "o"),
    (GREEN, "-.", "o"),
    (PURPLE, ":", "o"),
    (BLACK, "-", "o"),
    (GREY, "--", "o"),
)


def lines_figure(answer: Answer, variable: str, *, title: str, log: str = "") -> Figure:
    """A variable of an answer's dataset over its last dimension, a line for each of others.

    Args:
        variable: its name, and that of the figure.
        title: the finding, one line.
        log: as in `name_axes`; the axes have the titles and units of the answer's fields.
    """
    column = answer.to_xarray()[variable]
    *others, x = map(str, column.dims)
    rows = column.stack(line=others).transpose("line", x) if others else column.expand_dims("line")
    data: dict[str, Any] = {x: column[x].values.astype(float)}
    for row in rows:
        names = " ".join(str(row[dim].item()) for dim in others)
        data[f"{names}.{variable}".lstrip(".")] = row.values
    lines = Lines(x=x, y=variable, axes=(_axis(column[x]), _axis(column)))
    return Figure(
        id=variable,
        title=title,
        source=f"fluidkv: {type(answer).__name__}",
        parameters={},
        size=(7.0, 4.0),
        data=lambda: data,
        draw=partial(_draw, lines, log),
        caption=lambda _: f"{column.attrs.get('description', column.attrs['long_name'])}.",
    )


def _axis(column: "xr.DataArray") -> str:
    unit = column.attrs["units"]
    return column.attrs["long_name"] + ("" if unit == "1" else f", {unit}")


def _draw(lines: "Lines", log: str, data: Data, canvas: Canvas) -> None:
    ax = canvas.subplots()
    lines.draw(data, ax, log=log)
    if len(lines.names(data)) > 1:
        ax.legend()


@dataclass(frozen=True)
class Lines:
    """Lines over one coordinate.

    Fields:
        x: name of the coordinate in the data.
        y, band: fields of each line: its values, and half of the band around them; "": none.
        axes: what is along x and y.
        level, level_label: name in the data of a dashed line across, and what it is; "": none.
        looks: name of a line -> colour, line and marker, each told from others without its colour.
        labels: name -> as a legend has it; others in capitals.
        factor: of y as it is drawn: 100 of a share in percent.
        alike: differences that no eye tells apart.
    """

    x: str
    y: str
    axes: tuple[str, str]
    band: str = ""
    level: str = ""
    level_label: str = ""
    looks: Mapping[str, tuple[str, str, str]] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    factor: float = 1
    alike: float = 5e-4

    def data(
        self, x: Sequence[float], level: float, lines: Iterable[tuple[str, Any]]
    ) -> dict[str, Any]:
        """The coordinate, the level, and of each named answer its values and their band."""
        import numpy as np

        data: dict[str, Any] = {self.x: np.array(x, float), self.level: level}
        for name, answer in lines:
            data[f"{name}.{self.y}"] = getattr(answer, self.y)
            data[f"{name}.{self.band}"] = getattr(answer, self.band)
        return data

    def names(self, data: Data) -> list[str]:
        """The lines in the data, in their order."""
        keys = [key for key in data if key == self.y or key.endswith(f".{self.y}")]
        return [key.removesuffix(self.y).removesuffix(".") for key in keys]

    def label(self, name: str) -> str:
        """Of a line, in a legend."""
        return self.labels.get(name, name.upper())

    def draw(self, data: Data, ax: Axes, *, log: str = "x", apart: float = 0) -> None:
        """Lines with their bands, and the level.

        Args:
            log: as in `name_axes`.
            apart: markers stand at multiples of this along x alone; 0: at every place.
        """
        import numpy as np

        x = data[self.x]
        marked = [place for place, at in enumerate(x) if at % apart == 0] if apart else None
        if self.level:
            level = self.factor * data[self.level]
            ax.axhline(level, color=GREY, linewidth=0.8, linestyle="--", label=self.level_label)
        for name, look in zip(self.names(data), cycle(_LOOKS), strict=False):
            colour, line, marker = self.looks.get(name, look)
            y = data[f"{name}.{self.y}".lstrip(".")]
            style: dict[str, Any] = {"color": colour, "linestyle": line, "marker": marker}
            style |= {"markevery": marked, "label": self.label(name)}
            ax.plot(x, self.factor * y, markersize=4, fillstyle="none", **style)
            band = data[f"{name}.{self.band}"] if self.band else np.zeros(1)
            if band.any():
                low, high = self.factor * (y - band), self.factor * (y + band)
                ax.fill_between(x, low, high, color=colour, alpha=0.2, linewidth=0)
        name_axes(ax, *self.axes, log=log)
        ax.set_ylim(bottom=0)

    def coinciding(self, data: Data, names: Sequence[str] | None = None) -> str:
        """Which lines lie on each other everywhere, in words; "" for none."""
        left = list(self.names(data) if names is None else names)
        groups = []
        while left:
            first, *left = left
            line = data[f"{first}.{self.y}"]
            same = [
                name for name in left if abs(data[f"{name}.{self.y}"] - line).max() < self.alike
            ]
            left = [name for name in left if name not in same]
            if same:
                *front, last = map(self.label, (first, *same))
                groups.append(f"{', '.join(front)} and {last}")
        return "".join(f" {group} lie on each other." for group in groups)
