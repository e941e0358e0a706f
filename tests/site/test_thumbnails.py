"""The README shows what each tutorial draws: a picture, made by running it."""

import base64
import io

import nbformat
import pytest
from PIL import Image

from docs._site.layout import PICTURES, ROOT
from docs._site.thumbnails import WIDTH, thumbnail

NOTEBOOKS = sorted(path.stem for path in (ROOT / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_each_tutorial_has_its_picture_and_stands_in_the_readme(name):
    with Image.open(PICTURES["pictures"] / f"{name}.png") as image:
        assert image.width == WIDTH
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    heading = nbformat.read(ROOT / "notebooks" / f"{name}.ipynb", as_version=4).cells[0].source
    title = heading.splitlines()[0].lstrip("# ").strip()
    assert f"[![](docs/pictures/{name}.png)<br>{title}](notebooks/{name}.ipynb)" in text


def test_the_first_picture_is_taken_and_made_small():
    written = io.BytesIO()
    Image.new("RGB", (2 * WIDTH, 100), "red").save(written, "png")
    png = base64.b64encode(written.getvalue()).decode()
    outputs = [
        nbformat.v4.new_output("stream", text="words"),
        nbformat.v4.new_output("display_data", {"image/png": png}),
    ]
    cells = [nbformat.v4.new_code_cell("1"), nbformat.v4.new_code_cell("draw()", outputs=outputs)]
    small = thumbnail(nbformat.v4.new_notebook(cells=cells))
    with Image.open(io.BytesIO(small)) as image:
        assert image.size == (WIDTH, 50)
        assert image.convert("RGB").getpixel((3, 3)) == (255, 0, 0)
