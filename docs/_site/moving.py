"""The page that one can touch, as a file of the site, and its moving picture in another page."""

from docs._site.layout import Pages
from fluidkv.explore.page import page

MARK = "<!-- moving picture -->"
"""Where it stands in a page."""

_FRAME = """````{raw} html
<iframe class="moving" name="moving" src="%(to)smoving.html" loading="lazy"
title="The batch of a full server, iteration by iteration, with a choice of examples"></iframe>
<p><a href="%(to)sexplore.html">The same with sliders</a> for lengths, shares and memory</p>
````
"""


def moving_files() -> dict[str, str]:
    """Both files, by where they stand on the site."""
    return {"explore.html": page(), "moving.html": page(embed=True)}


def with_pictures(pages: Pages) -> Pages:
    """Pages with the picture where they have its mark."""
    return {
        name: text.replace(MARK, _FRAME % {"to": "../" * name.count("/")}) if MARK in text else text
        for name, text in pages.items()
    }
