"""The numbers of the page `benchmarks.md`: what the recorded runs of the suite say."""

import re

from benchmarks.page import numbers, recorded
from docs._site.layout import Pages

_PLACE = re.compile(r"^<!-- recorded runs -->\n.*\n", re.M)


def with_recorded_runs(pages: Pages) -> Pages:
    """The pages, with numbers where `benchmarks.md` has a comment and a line in their place."""
    text = _PLACE.sub(lambda _: numbers(recorded()), pages["benchmarks.md"])
    return {**pages, "benchmarks.md": text}
