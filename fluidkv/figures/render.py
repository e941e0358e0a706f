"""Write figures to a folder: PNG, SVG, data and a manifest that says what is what.

Nothing in the files depends on when or where they were written, so writing them again from the
same numbers changes no byte. All files of a call appear together, at its end, or none.
"""

import csv
import hashlib
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import fluidkv
from fluidkv.errors import InputError
from fluidkv.figures.figure import Canvas, Data, Figure, MissingInput
from fluidkv.figures.style import RC
from fluidkv.files import require_writable, write_together
from fluidkv.record import Record

MANIFEST = "manifest.json"


@dataclass(frozen=True)
class Rendered(Record):
    """What became of one figure.

    Fields:
        id: of the figure.
        files: names written, in the folder; empty if skipped.
        data_sha256: of the data file; "" if skipped.
        skipped: the reason, or "".
    """

    id: str
    files: tuple[str, ...] = ()
    data_sha256: str = ""
    skipped: str = ""


def write_figures(
    figures: Iterable[Figure],
    out_dir: str | Path,
    *,
    on_skip: Callable[[str, str], None] | None = None,
    beside: Mapping[str, bytes] | None = None,
    on_progress: Callable[[int, int, str], None] | None = None,
) -> list[Rendered]:
    """Write figures, PNG, SVG and data each, and bring the manifest up to date.

    A figure whose input is missing is skipped with its reason; files and manifest entry from an
    earlier run stay. So do the entries of figures that were not asked for.

    Args:
        figures: of the registry, or of `study_figures`.
        out_dir: made if it does not exist.
        on_skip: called with id and reason.
        beside: name -> content of further files that appear together with the figures.
        on_progress: told before each figure how many are done, of how many, and its id.

    Raises:
        InputError: a folder that cannot be written, or that holds a manifest that is none.
        OSError: it could be written at first, and not when all was drawn.
    """
    folder, figures = Path(out_dir), list(figures)
    names = [f"{figure.id}.{ending}" for figure in figures for ending in ("png", "svg")]
    require_writable("out", folder, [*names, *(beside or {}), MANIFEST])
    manifest = folder / MANIFEST
    _entries(manifest, manifest.read_bytes() if manifest.is_file() else None)
    contents = dict(beside or {})
    drawn: dict[str, object] = {}
    skipped: dict[str, object] = {}
    results = []
    for figure in figures:
        if on_progress is not None:
            on_progress(len(results), len(figures), f"figures; now {figure.id}")
        try:
            data = figure.data()
        except MissingInput as missing:
            results.append(Rendered(figure.id, skipped=str(missing)))
            skipped[figure.id] = {"title": figure.title, "skipped": str(missing)}
            if on_skip is not None:
                on_skip(figure.id, str(missing))
            continue
        ending, content = encode_data(data)
        files = {
            f"{figure.id}.png": draw(figure, data, "png"),
            f"{figure.id}.svg": draw(figure, data, "svg"),
            f"{figure.id}.{ending}": content,
        }
        result = Rendered(figure.id, tuple(files), hashlib.sha256(content).hexdigest())
        results.append(result)
        contents |= files
        drawn[figure.id] = {
            "title": figure.title,
            "caption": figure.caption(data),
            "source": figure.source,
            "parameters": dict(figure.parameters),
            "files": list(result.files),
            "data_sha256": result.data_sha256,
            "package": f"fluidkv {fluidkv.__version__}",
        }

    def amended(present: bytes | None) -> bytes:
        """The manifest of now: others may have written figures while these were drawn."""
        return _manifest(skipped | _entries(manifest, present) | drawn)

    write_together(folder, contents, {MANIFEST: amended})
    return results


def encode_data(data: Data) -> tuple[str, bytes]:
    """File ending and content: CSV if all arrays have one length, else NPZ.

    In the CSV, scalars come first as lines "# name = value"; every number is written with the
    shortest digits that read back as the same float.
    """
    import numpy as np  # here: questions name their figures where nothing is drawn yet

    arrays = {name: np.asarray(v) for name, v in data.items() if np.ndim(v) == 1}
    scalars = {name: float(v) for name, v in data.items() if np.ndim(v) == 0}
    if len({len(values) for values in arrays.values()}) == 1:
        text = io.StringIO()
        text.writelines(f"# {name} = {value!r}\n" for name, value in scalars.items())
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(arrays)
        writer.writerows(zip(*(values.tolist() for values in arrays.values()), strict=True))
        return "csv", text.getvalue().encode()
    packed = io.BytesIO()
    everything = {**arrays, **{name: np.float64(value) for name, value in scalars.items()}}
    np.savez(packed, allow_pickle=False, **everything)
    return "npz", packed.getvalue()


def draw(figure: Figure, data: Data, form: str) -> bytes:
    """The picture as "png" or "svg"."""
    # Dates and versions would change the file without changing the picture.
    metadata = {"png": {"Software": "fluidkv"}, "svg": {"Date": None, "Creator": "fluidkv"}}
    with drawn(figure, data) as canvas:
        picture = io.BytesIO()
        canvas.savefig(picture, format=form, metadata=metadata[form])
    return picture.getvalue()


@contextmanager
def drawn(figure: Figure, data: Data) -> Iterator[Canvas]:
    """The canvas with everything on it, for as long as settings are those of every figure."""
    import matplotlib as mpl
    from matplotlib.figure import Figure as Canvas

    with mpl.rc_context(RC):
        canvas = Canvas(figsize=figure.size, layout="constrained")
        canvas.suptitle(figure.title, x=0.01, ha="left")
        figure.draw(data, canvas)
        yield canvas


def _entries(manifest: Path, content: bytes | None) -> dict[str, object]:
    """Entries of an earlier run.

    Raises:
        InputError: a manifest that is not ours, or that could not be written again.
    """
    if content is None:
        return {}
    try:
        entries = json.loads(content)["figures"]
        if isinstance(entries, dict) and all(isinstance(each, dict) for each in entries.values()):
            _manifest(entries)
            return entries
    except (ValueError, KeyError, TypeError, RecursionError):
        pass  # said below
    raise InputError("out", str(manifest), "a folder without a foreign manifest.json")


def _manifest(entries: Mapping[str, object]) -> bytes:
    ordered = {name: entries[name] for name in sorted(entries)}
    text = json.dumps({"figures": ordered}, indent=2, ensure_ascii=False, allow_nan=False)
    return f"{text}\n".encode()
