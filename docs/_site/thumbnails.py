"""`python -m docs._site.thumbnails`: what each tutorial draws first, small, for the README.

Tutorials stand in git without outputs. They are run here, or taken from where `make docs` kept
them.
"""

import base64
import io
from collections.abc import Iterator

import nbformat
from PIL import Image

from docs._site.executed import executed
from docs._site.layout import PICTURES, ROOT, Pages, pages_of_repository

WIDTH = 480  # pixels
_KEPT = ROOT / "build" / "site-work" / "executed"


def thumbnails(notebooks: Pages) -> Iterator[tuple[str, bytes]]:
    """Name of a notebook, and its first picture as a small PNG; notebooks have outputs."""
    for name, text in notebooks.items():
        pictures = [
            output.data["image/png"]
            for cell in nbformat.reads(text, as_version=4).cells
            for output in cell.get("outputs", [])
            if "image/png" in output.get("data", {})
        ]
        if pictures:
            yield name.rpartition("/")[2].removesuffix(".ipynb"), _small(pictures[0])


def _small(picture: str) -> bytes:
    image = Image.open(io.BytesIO(base64.b64decode(picture))).convert("RGB")
    small = image.resize(
        (WIDTH, round(image.height * WIDTH / image.width)), Image.Resampling.LANCZOS
    )
    written = io.BytesIO()
    small.quantize(64).save(written, "png", optimize=True)
    return written.getvalue()


if __name__ == "__main__":
    notebooks = {k: v for k, v in pages_of_repository().items() if k.endswith(".ipynb")}
    for name, png in thumbnails(executed(notebooks, _KEPT)):
        (PICTURES["pictures"] / f"{name}.png").write_bytes(png)
