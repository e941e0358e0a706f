"""Leaves of SGLang's tree by lot, in the place of `kernel.leaves` where it runs as plain Python."""

from typing import Any, ClassVar

from fluidkv.prefix.radix.lots import Lots
from fluidkv.serving.caching.sglang.kernel.layout import NONE, ROOT, Record, Records


class DrawnLeaves:
    """The functions of `kernel.leaves`, by lots.

    Args:
        lots: of one server.
    """

    instead_of: ClassVar[str] = "fluidkv.serving.caching.sglang.kernel.leaves"

    def __init__(self, lots: Lots) -> None:
        self._lots = lots

    def offer(self, run: Record, nodes: Records, node: int) -> None:
        """A leaf that nobody uses may be drawn; its place is its own number."""
        if node != ROOT and not (nodes[node].children or nodes[node].locks):
            nodes[node].place = node
            self._lots.offer(nodes[node])

    def lowest(self, run: Record, nodes: Records) -> Any:
        """The leaf that goes next; NONE: there is none."""
        run.tick += 1
        leaf = self._lots.draw(run.tick)
        return NONE if leaf is None else leaf.place
