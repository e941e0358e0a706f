"""What each tutorial draws first, small, for the README."""

import base64
import io

import nbformat
from PIL import Image

WIDTH = 480  # pixels


def thumbnail(notebook: nbformat.NotebookNode) -> bytes:
    """The first picture of a notebook with outputs, as a small PNG."""
    first = next(
        output.data["image/png"]
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        if "image/png" in output.get("data", {})
    )
    image = Image.open(io.BytesIO(base64.b64decode(first))).convert("RGB")
    small = image.resize(
        (WIDTH, round(image.height * WIDTH / image.width)), Image.Resampling.LANCZOS
    )
    written = io.BytesIO()
    small.quantize(64).save(written, "png", optimize=True)
    return written.getvalue()
