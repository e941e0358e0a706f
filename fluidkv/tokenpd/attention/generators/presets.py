"""Named structures: one for each thing that attention is said to do, and mixes of them."""

from fluidkv.tokenpd.attention.generators.lifts import Needle, Sinks
from fluidkv.tokenpd.attention.generators.parts import (
    HeavyHitters,
    Noise,
    PowerLaw,
    Recency,
    TopicShifts,
)
from fluidkv.tokenpd.attention.generators.structure import Structure


def generators() -> dict[str, Structure]:
    """Name -> structure. All numbers are ours: they are no measurements of any model.

    recency: weights halve each 32 tokens. heavy-hitters: 5 % of the tokens have 64 % of the mass,
    noise aside, and keep it. sinks: four first tokens have 60 % of each row. topic-shifts: eight
    topics, of which each lasts for 64 tokens half of the time. needle: 70 % of one late row on one
    early token. mixed: all of this, weaker. uneven: requests from diffuse to peaked.

    Examples:
        >>> from fluidkv.tokenpd import generators
        >>> list(generators())
        ['recency', 'heavy-hitters', 'sinks', 'topic-shifts', 'needle', 'mixed', 'uneven']
        >>> generators()["sinks"].lifts
        (Sinks(tokens=4, share=0.6),)
    """
    mixed = (PowerLaw(0.7), HeavyHitters(1.5), TopicShifts(8, 64, 2), Noise(0.5))
    return {
        "recency": Structure((Recency(32), Noise(1))),
        "heavy-hitters": Structure((HeavyHitters(2), Noise(1))),
        "sinks": Structure((Recency(32), Noise(1)), (Sinks(4, 0.6),)),
        "topic-shifts": Structure((TopicShifts(8, 64, 3), Noise(1))),
        "needle": Structure((PowerLaw(1), Noise(1)), (Needle(0.7),)),
        "mixed": Structure(mixed, (Sinks(4, 0.3), Needle(0.5))),
        "uneven": Structure(mixed, (Sinks(4, 0.1),), sharpness=(0.2, 3)),
    }
