"""Attention weights out of a file: axes named, heads combined, every row checked."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from fluidkv.errors import InputError
from fluidkv.plain import plain_tuple
from fluidkv.runs.checks import count
from fluidkv.tokenpd.attention.stored.layout import Layout, canonical, layout_of, numbers_of
from fluidkv.tokenpd.attention.stored.report import AttentionReport
from fluidkv.tokenpd.attention.stored.rows import RowChecks, as_floats
from fluidkv.tokenpd.attention.stored.tensors import TensorFile, open_tensors
from fluidkv.tokenpd.attention.weights import Attention

Over = Literal["mean", "heads"]

Stream = Float[np.ndarray, "query key"]


class LoadedAttention(NamedTuple):
    """Weights and the account of how they were read; unpacks as `attention, report = ...`.

    Examples:
        >>> from fluidkv.tokenpd import Structure, generated, read_attention, write_attention
        >>> attention = generated(Structure(), 0, requests=1, prompt=2, length=4)
        >>> write_attention("a.safetensors", attention)
        >>> loaded = read_attention("a.safetensors")
        >>> loaded.attention.weights.shape, loaded.report.rows
        ((1, 4, 4), 4)
    """

    attention: Attention
    report: AttentionReport

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return plain_tuple(self)


def read_attention(
    source: Path | str,
    *,
    axes: str | Sequence[str] | None = None,
    over: Over = "mean",
    prompt: ArrayLike | None = None,
    length: ArrayLike | None = None,
    start: ArrayLike | None = None,
    padding: Literal["right", "left"] | None = None,
    tensors: str | Sequence[str] | None = None,
    several: Literal["layer", "request"] | None = None,
    kv_heads: int | None = None,
    renormalise: bool = False,
) -> LoadedAttention:
    """Read attention weights from a .npy, an .npz or a safetensors file, whatever its name.

    What is not said here is taken from the file: from arrays `prompt`, `length`, `start` and
    `request` (ids) with a number for each request, from metadata of safetensors, or from strings
    in an .npz, of these names and `axes`, `padding`, `several` and `kv_heads`.

    Args:
        axes: of each array, in its order: "request", "layer", "head", "query" and "key", as a
            sequence or with commas between. Only the last two are needed. As many queries as keys.
        over: "mean": layers and heads are averaged, a token is kept in all of them or in none, and
            each request is a stream. "heads": each head of each layer keeps keys of its own: a
            stream for each request, layer and head, in this order.
        prompt: tokens of each request's prompt, or one number for all.
        length: tokens of each request at its end, padding not counted; all there are, if not given.
        start: round of each prompt; 0 if not given.
        padding: the side on which a request shorter than its array is filled up; right if not
            given. Rows and columns of padding are not read.
        tensors: names of the arrays of weights, or a pattern such as "layer.*"; all, if not given.
        several: what several arrays are: "layer": one for each layer, all of one shape. "request":
            one for each request, each of its own length. If not given, what the axes lack.
        kv_heads: for "heads", with grouped queries: so many heads have keys, and the weights of the
            query heads that share them are averaged.
        renormalise: divide rows that do not sum to one by their sums, and report them, instead of
            refusing them. Sums within 0.001 of one count as one; in bfloat16, rows within 2^-8 are
            always divided, and reported.

    Returns:
        Weights in float32, in float64 where the file has that; what lies behind a request's end is
        0. The report says how many rows were changed, and by how much.

    Raises:
        InputError: no such file, or no arrays; axes, names or numbers that do not fit; weights that
            are negative, no numbers, on later keys or do not sum to one; no prompt length, or one
            longer than the request.

    Examples:
        >>> from fluidkv.tokenpd import read_attention
        >>> np.save("weights.npy", [[[1, 0], [0.25, 0.75]]])
        >>> attention, report = read_attention("weights.npy", axes="head,query,key", prompt=1)
        >>> attention.weights.shape, attention.length.tolist(), report.heads
        ((1, 2, 2), [2], 1)
    """
    if over not in get_args(Over):
        raise InputError("over", over, '"mean" or "heads"')
    file = open_tensors(source)
    layout = layout_of(file, axes=axes, tensors=tensors, several=several, padding=padding)
    reading = _Reading(file, layout, over, _kv_heads(file, kv_heads, over), RowChecks(renormalise))
    sizes = reading.scan()
    requests = len(sizes)
    lengths = numbers_of(file, "length", length, requests)
    lengths = np.array(sizes) if lengths is None else lengths
    prompts = numbers_of(file, "prompt", prompt, requests)
    if prompts is None:
        raise InputError("prompt", None, "tokens of each prompt, given or in the file")
    _require_spans(prompts, lengths, np.array(sizes))
    streams = reading.streams(lengths)
    of_request = [len(own) for own in streams]
    starts = numbers_of(file, "start", start, requests)
    ids = numbers_of(file, "request", None, requests)
    attention = Attention(
        _stacked(streams, max(sizes)),
        *(
            np.repeat(values, of_request)
            for values in (
                prompts,
                lengths,
                np.zeros(requests, np.int64) if starts is None else starts,
                np.arange(requests) if ids is None else ids,
            )
        ),
    )
    return LoadedAttention(attention, reading.report(streams))


class _Reading:
    """A file's weights, request by request, an array at a time."""

    def __init__(
        self, file: TensorFile, layout: Layout, over: Over, kv_heads: int | None, checks: RowChecks
    ) -> None:
        self._file, self._layout, self._over, self._kv_heads = file, layout, over, kv_heads
        self._checks = checks
        self._dtypes: list[str] = []
        self._kind = np.dtype(np.float32)
        self._layers = self._heads = 0

    def scan(self) -> list[int]:
        """The keys of each request's array, padding included.

        Raises:
            InputError: axes that do not fit; layers of different shapes.
        """
        shapes = [
            canonical(self._file.outline(name), self._layout, name).shape
            for name in self._layout.tensors
        ]
        same = {shape if self._layout.several == "layer" else shape[:1] for shape in shapes}
        if len(same) > 1:
            allowed = f"arrays of one shape; {self._layout.tensors[0]!r} has {shapes[0]}"
            other = next(at for at, shape in enumerate(shapes) if shape != shapes[0])
            raise InputError("tensors", f"{self._layout.tensors[other]}: {shapes[other]}", allowed)
        self._layers, self._heads = shapes[0][1:3]
        if self._layout.several == "layer":
            self._layers = len(shapes)
        for heads in {shape[2] for shape in shapes}:
            if self._kv_heads is not None and heads % self._kv_heads:
                raise InputError("kv_heads", self._kv_heads, f"a divisor of {heads} heads")
        if self._layout.several == "request":
            return [shape[-1] for shape in shapes]
        return [shapes[0][-1]] * shapes[0][0]

    def streams(self, lengths: np.ndarray) -> list[list[Stream]]:
        """Of each request, its streams, without padding."""
        streams: list[list[Stream]] = [[] for _ in lengths]
        averaged = [0] * len(lengths)
        for at, (name, whole) in enumerate(self._arrays()):
            for row, one in enumerate(whole):
                request = at if self._layout.several == "request" else row
                own = self._real(one, int(lengths[request]))
                where = f"{name!r}, request {request}"
                own = self._checks.checked(as_floats(own, name), dtype=whole.dtype, where=where)
                if self._over == "heads":
                    streams[request] += list(self._grouped(own).reshape(-1, *own.shape[2:]))
                    continue
                self._kind = np.result_type(self._kind, own.dtype)
                total = own.sum((0, 1), dtype=np.float64)
                streams[request] = [total + sum(streams[request])]
                averaged[request] += own.shape[0] * own.shape[1]
        if self._over == "heads":
            return streams
        return [
            [(total / number).astype(self._kind)]
            for (total,), number in zip(streams, averaged, strict=True)
        ]

    def report(self, streams: list[list[Stream]]) -> AttentionReport:
        """What was read."""
        return AttentionReport(
            source=self._file.path.name,
            format=self._file.format,
            dtype=",".join(dict.fromkeys(self._dtypes)),
            tensors=len(self._layout.tensors),
            requests=len(streams),
            layers=self._layers,
            heads=self._heads,
            over=self._over,
            streams=sum(map(len, streams)),
            rows=self._checks.rows,
            off=self._checks.off,
            rescaled=self._checks.rescaled,
        )

    def _arrays(self) -> Iterator[tuple[str, np.ndarray]]:
        for name in self._layout.tensors:
            array = self._file.read(name)
            self._dtypes.append(str(array.dtype))
            yield name, canonical(array, self._layout, name)

    def _real(self, one: np.ndarray, length: int) -> np.ndarray:
        first = one.shape[-1] - length if self._layout.padding == "left" else 0
        inside = slice(first, first + length)
        return one[..., inside, inside]

    def _grouped(self, own: np.ndarray) -> np.ndarray:
        """Query heads that share keys, averaged; heads that stand side by side share them."""
        if self._kv_heads is None or self._kv_heads == own.shape[1]:
            return own
        layers, heads, queries, keys = own.shape
        groups = own.reshape(layers, self._kv_heads, heads // self._kv_heads, queries, keys)
        return groups.mean(2, dtype=np.float64).astype(own.dtype)


def _kv_heads(file: TensorFile, given: int | None, over: Over) -> int | None:
    """As said in the call or the file; of no matter where all heads are averaged."""
    if given is not None:
        if over != "heads":
            raise InputError("kv_heads", given, 'over="heads": otherwise all heads are averaged')
        return count("kv_heads", given)
    text = file.words.get("kv_heads")
    if text is None or over != "heads":
        return None
    if not text.isdecimal() or len(text) > 9:
        raise InputError("kv_heads", text, "a whole number, in the file")
    return count("kv_heads", int(text))


def _require_spans(prompts: np.ndarray, lengths: np.ndarray, sizes: np.ndarray) -> None:
    for argument, values, wrong, allowed in (
        ("prompt", prompts, prompts < 1, "at least 1 token"),
        ("length", lengths, lengths > sizes, "no more tokens than the array has"),
        ("length", lengths, lengths < prompts, "no shorter than the prompt"),
    ):
        if wrong.any():
            request = int(np.argmax(wrong))
            limit = f" ({prompts[request]})" if allowed.endswith("prompt") else ""
            place = f"{allowed}{limit} (request {request})"
            raise InputError(argument, int(values[request]), place)


def _stacked(streams: list[list[Stream]], size: int) -> Float[np.ndarray, "stream query key"]:
    every = [stream for own in streams for stream in own]
    weights = np.zeros((len(every), size, size), every[0].dtype)
    for at, stream in enumerate(every):
        weights[at, : len(stream), : len(stream)] = stream
    return weights
