"""The page that one can touch, as a file of the site, and its moving picture in another page.

A page marks a still with a comment. On a git host one sees the still; on the site it gives way.
"""

import re

from docs._site.layout import Pages
from fluidkv.explore.page import page
from fluidkv.explore.presets import NAMED

_STILL = re.compile(r"<!-- moving picture -->\n!\[[^\]]*\]\([^)]*\)\n")
_FRAME = """````{raw} html
<iframe class="moving" name="moving" src="%(to)smoving.html" loading="lazy"
title="The batch of a full server, iteration by iteration, with a choice of examples"></iframe>
<p><a href="%(to)ssliders.html">The same with sliders</a> for lengths, shares and memory</p>
````
"""


def moving_files() -> dict[str, str]:
    """Both files, by where they stand on the site; the picture begins with equal requests."""
    picture = page(opens=NAMED["figure-6"].state, embed=True)
    return {"sliders.html": page(), "moving.html": picture}


def with_pictures(pages: Pages) -> Pages:
    """Pages with the picture where they have its still."""
    return {
        name: _STILL.sub(_FRAME % {"to": "../" * name.count("/")}, text)
        if name.endswith(".md")
        else text
        for name, text in pages.items()
    }
