"""Formulas drawn by Matplotlib when the site is built: the reader's browser fetches nothing."""

from html import escape
from io import StringIO

from docutils import nodes
from matplotlib.font_manager import FontProperties
from matplotlib.mathtext import MathTextParser
from matplotlib.textpath import TextPath
from sphinx.application import Sphinx

_SIZE = 16  # units of the drawing for 1 em


def drawn(formula: str) -> str:
    """Inline SVG in the colour and size of the text around it; its words are the formula's own."""
    # Stored outputs ask for the style of a display, which Matplotlib has no word for.
    text = "$" + formula.replace(r"\displaystyle", "").strip() + "$"
    font = FontProperties(size=_SIZE, math_fontfamily="dejavusans")
    width, height, depth, *_ = MathTextParser("path").parse(text, 72, font)
    path = TextPath((0, 0), text, size=_SIZE, prop=font)
    return (
        f'<span class="formula" role="img" aria-label="{escape(formula)}">'
        f'<svg viewBox="0 {-height:.2f} {width:.2f} {height + depth:.2f}" aria-hidden="true" '
        f'style="height:{(height + depth) / _SIZE:.3f}em;vertical-align:{-depth / _SIZE:.3f}em">'
        f'<path transform="scale(1,-1)" d="{_outline(path)}"/></svg></span>'
    )


def _outline(path: TextPath) -> str:
    said = StringIO()
    for points, code in path.iter_segments(curves=True, simplify=False):
        letter = {1: "M", 2: "L", 3: "Q", 4: "C", 79: "Z"}[int(code)]
        said.write(letter + ("" if letter == "Z" else " ".join(f"{v:.2f}" for v in points)))
    return said.getvalue()


def _inline(self, node: nodes.math) -> None:
    self.body.append(drawn(node.astext()))
    raise nodes.SkipNode


def _block(self, node: nodes.math_block) -> None:
    self.body.append(f'<p class="formula-line">{drawn(node.astext())}</p>')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_html_math_renderer("mathtext", (_inline, None), (_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
