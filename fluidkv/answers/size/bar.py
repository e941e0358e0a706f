"""A server that is slower than the simulation, by as much as that was off on a log.

What a simulation misses on a log is above all how fast the server works. Near the cliff a server
that is a little slower is much later, so no bound can simply be tightened: every iteration is taken
to last longer by the error bar, and the sizes are run again.
"""

from collections.abc import Iterable, Mapping

from fluidkv.answers.served.bias import OUTPUT, Bias
from fluidkv.answers.served.slo import Slo


def bar_of(bias: Mapping[str, Bias], slos: Iterable[Slo]) -> float:
    """The largest error bar: of the output rate, and of what the SLOs bound, as far as known."""
    names = {OUTPUT, *(slo.metric for slo in slos)}
    return max(one.error_bar for name, one in bias.items() if name in names)
