"""What policies are run on: attention weights of a file, or generated, several times."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from fluidkv.errors import InputError
from fluidkv.record import Record
from fluidkv.runs.checks import count
from fluidkv.text import nearest
from fluidkv.tokenpd.attention.generators.presets import generators
from fluidkv.tokenpd.attention.generators.structure import generated
from fluidkv.tokenpd.attention.stored.reader import Over, read_attention
from fluidkv.tokenpd.attention.weights import Attention

Sizes = int | tuple[int, int]
"""A number of tokens, or the least and the most."""


@dataclass(frozen=True, eq=False)
class Brought(Record):
    """Attention weights, and where they came from.

    Fields:
        name: of the file or the generator.
        runs: makes the weights of each run, when it is their turn: all would not fit in memory.
        read: what a reader found, in words; "" of a generator.
        parameters: of the generator; empty of a file.

    Examples:
        >>> from fluidkv.answers.price.brought import generated_attention
        >>> found = generated_attention("uneven", requests=2, prompt=2, length=5, seeds=3)
        >>> found.name, found.parameters["length"], found.read
        ('uneven', 5, '')
        >>> [weights.rounds for weights in found]  # each run is made when it is its turn
        [4, 4, 4]
    """

    name: str
    runs: tuple[Callable[[], Attention], ...]
    read: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def __iter__(self) -> Iterator[Attention]:
        """The weights of each run, in turn."""
        return (make() for make in self.runs)


def generated_attention(
    generator: str,
    *,
    requests: int = 8,
    prompt: Sizes | None = None,
    length: Sizes = 128,
    gap: float = 0.0,
    seeds: int = 5,
    seed: int = 0,
) -> Brought:
    """Runs of a generator by name, each with another seed.

    Args:
        generator: out of `fluidkv.tokenpd.generators()`.
        requests, prompt, length, gap: as of `fluidkv.tokenpd.generated`; without a prompt a quarter
            of the (least) length is one.
        seeds: runs; seed: of the first one, the others follow.

    Raises:
        InputError: an unknown name, and what `generated` refuses.

    Examples:
        >>> from fluidkv.answers.price.brought import generated_attention
        >>> found = generated_attention("uneven", requests=2, prompt=2, length=5, seeds=3)
        >>> [weights.weights.shape for weights in found]  # stream, query, key
        [(2, 5, 5), (2, 5, 5), (2, 5, 5)]
    """
    known = generators()
    count("seeds", seeds)
    if prompt is None:
        prompt = max(1, (length if isinstance(length, int) else min(length)) // 4)
    if generator not in known:
        raise InputError("generator", generator, nearest(generator, known))
    said = {"requests": requests, "prompt": prompt, "length": length, "gap": gap}
    runs = tuple(partial(generated, known[generator], seed + run, **said) for run in range(seeds))
    return Brought(generator, runs, parameters=said | {"seed": seed})


def attention_of(
    source: str | Path,
    *,
    axes: str | None = None,
    over: Over = "mean",
    prompt: int | None = None,
    tensors: str | None = None,
    kv_heads: int | None = None,
    renormalise: bool = False,
) -> Brought:
    """The weights of a file, one run; arguments as of `fluidkv.tokenpd.read_attention`.

    Raises:
        InputError: what `read_attention` refuses.

    Examples:
        >>> from fluidkv.answers.price.brought import attention_of
        >>> np.save("weights.npy", [[[1, 0], [0.25, 0.75]]])
        >>> found = attention_of("weights.npy", axes="head,query,key", prompt=1)
        >>> found.name, [weights.length.tolist() for weights in found]
        ('weights.npy', [[2]])
    """
    attention, report = read_attention(
        source,
        axes=axes,
        over=over,
        prompt=prompt,
        tensors=tensors,
        kv_heads=kv_heads,
        renormalise=renormalise,
    )
    return Brought(Path(source).name, (lambda: attention,), read=report.summary())
