"""Lists whose members name their neighbours: the oldest first, and anybody may leave."""

from fluidkv.runs.inlined import inlined
from fluidkv.serving.kernel.layout import NONE, Record, Records


@inlined
def append(ends: Record, members: Records, who: int) -> None:
    """It is the newest. `ends` names the oldest and the newest of the list."""
    members[who].older, members[who].newer = ends.newest, NONE
    if ends.newest == NONE:
        ends.oldest = who
    else:
        members[ends.newest].newer = who
    ends.newest = who


@inlined
def remove(ends: Record, members: Records, who: int) -> None:
    """Its neighbours are those of each other."""
    older, newer = members[who].older, members[who].newer
    if older == NONE:
        ends.oldest = newer
    else:
        members[older].newer = newer
    if newer == NONE:
        ends.newest = older
    else:
        members[newer].older = older
