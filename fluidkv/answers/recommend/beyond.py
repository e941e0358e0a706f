"""Which settings gain more than the simulation misses on a log."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from jaxtyping import Float

from fluidkv.answers.recommend.frontier import Choice, choose
from fluidkv.answers.served.bias import Bias
from fluidkv.answers.served.setting import Setting
from fluidkv.answers.served.slo import Slo


def beyond_bias(
    choice: Choice,
    bias: Mapping[str, Bias],
    settings: Sequence[Setting],
    table: Mapping[str, Float[np.ndarray, "setting run"]],
    slos: Sequence[Slo],
    *,
    throughput: str,
    tails: Sequence[str],
) -> Choice:
    """The choice among settings that gain more than the simulation misses; without such, now.

    What leaves the server as it is stays, and so does a choice where now does not meet what is
    asked: a log never makes a change more likely.

    Args:
        choice: what `choose` takes of the same settings, table and bounds.
        bias: of the metrics that users feel and that SLOs name, as far as the log has them.
        settings, table, slos, throughput, tails: as in `choose`.
    """
    if choice.index in (None, 0) or 0 not in choice.allowed:
        return choice
    means = {name: table[name].mean(axis=1) for name in bias}
    real = [i for i in choice.allowed if _is_gain(i, means, bias, throughput)]
    taken = choose(settings, table, slos, throughput=throughput, tails=tails, among=real or [0])
    return replace(choice, index=taken.index)


def _is_gain(
    index: int,
    means: Mapping[str, Float[np.ndarray, " setting"]],
    bias: Mapping[str, Bias],
    throughput: str,
) -> bool:
    """Whether a setting gains more than the simulation misses on the log, and loses no such thing.

    Args:
        means: of what users feel, and of what SLOs name, in each setting.
        throughput: the metric of which more is better.
    """
    beyond = []
    for name, one in bias.items():
        gain = one.gain(float(means[name][index]), more_is_better=name == throughput)
        beyond.append((gain > one.error_bar, gain < -one.error_bar))
    return any(more for more, _ in beyond) and not any(less for _, less in beyond)
