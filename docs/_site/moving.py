"""The picture that moves, in place of its still.

A page marks the still with a comment. On a git host one sees the still; on the site the page of
`fluidkv explore --embed` stands there, in a frame.
"""

import re

from docs._site.layout import Pages
from fluidkv.explore.page import page
from fluidkv.explore.presets import NAMED

NAME = "_static/moving.html"
"""Below the root of the site."""

_STILL = re.compile(r"<!-- moving picture -->\n!\[[^\]]*\]\([^)]*\)\n")
_FRAME = f"""```{{raw}} html
<iframe class="moving" src="{NAME}" title="A batch that ages, iteration by iteration"></iframe>
```
"""


def moving(pages: Pages) -> Pages:
    """Pages of the root of the site whose still gives way; others are left out."""
    return {
        name: _STILL.sub(lambda _: _FRAME, text)
        for name, text in pages.items()
        if "/" not in name and name.endswith(".md") and _STILL.search(text)
    }


def moving_page() -> str:
    """HTML of what moves: equal requests, from the first swing to the worst cycle."""
    return page(opens=NAMED["figure-6"].state, embed=True)
