"""docs/prefix_caches.md says what is on record."""

import re
from pathlib import Path

from fluidkv_papers.routing.instances.mooncake import curves, totals

PAGE = (Path(__file__).parents[3] / "docs" / "prefix_caches.md").read_text(encoding="utf-8")
COLUMNS = ("opt", "lru", "rlt", "slru", "random")
TRACES = {"conversations": "conversation", "synthetic": "synthetic"}


def test_the_table_is_the_record() -> None:
    rows = re.findall(r"^\| (conversations|synthetic) \| (.*) \|$", PAGE, flags=re.M)
    assert len(rows) == 14
    for name, row in rows:
        size, *said = row.split(" | ")
        capacity = int(size.replace(",", ""))
        rates = {
            policy: 100 * point.hit_rate
            for policy in COLUMNS
            for point in curves()[TRACES[name], "blocks", policy]
            if point.capacity == capacity
        }
        opt, lru, rlt, slru, random = (rates[policy] for policy in COLUMNS)
        shown = [f"{rate:.1f}" for rate in (opt, lru, rlt)]
        shown += [f"{rlt - lru:+.2f}", f"{slru:.1f}", f"{random:.1f}"]
        assert said == shown


def test_margins_and_ceilings_are_those_on_record() -> None:
    margins = [
        point.margin for key, of in curves().items() if key[1:] == ("blocks", "rlt") for point in of
    ]
    assert f"± {100 * max(margins):.2f} points or less" in PAGE
    for known in totals().values():
        assert f"{known.found_tokens / known.tokens:.1%}".replace("%", " %") in PAGE
