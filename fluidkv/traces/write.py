"""Write a trace in a format that other tools read. A file appears whole or not at all.

`read_trace(path).trace == trace` afterwards, to the last bit of each time, except for what the
format cannot hold; each function says what that is.
"""

from collections.abc import Iterable
from decimal import Decimal
from pathlib import Path

from fluidkv.errors import InputError
from fluidkv.files import write_whole
from fluidkv.traces.formats.mooncake import BLOCK_SIZE, MILLI
from fluidkv.traces.trace import Trace


def write_mooncake(trace: Trace, path: Path | str) -> tuple[str, ...]:
    """Write Mooncake JSON lines: timestamp (milliseconds), input_length, output_length, hash_ids.

    A time that is not a whole number of milliseconds is written with decimals. Without prefix
    blocks the key `hash_ids` is left out.

    Returns:
        Names of the fields of `trace` that the format cannot hold and that were left out:
        `prompt_segments` and `output_segments` where the trace has them.

    Raises:
        InputError: no arrival times; prefix blocks of another size than 512 tokens; a path that
            cannot be written.

    Examples:
        >>> from pathlib import Path
        >>> from fluidkv.traces import write_mooncake
        >>> write_mooncake(fk.Trace((10, 30), (2, 5), (0.0, 1.5)), "mine.jsonl")
        ()
        >>> print(Path("mine.jsonl").read_text().strip())
        {"timestamp": 0, "input_length": 10, "output_length": 2}
        {"timestamp": 1500, "input_length": 30, "output_length": 5}
    """
    times = _required_times(trace, "mooncake")
    if trace.prefix_block_size not in (None, BLOCK_SIZE):
        allowed = f"{BLOCK_SIZE}, the block of the mooncake format"
        raise InputError("prefix_block_size", trace.prefix_block_size, allowed)
    blocks = trace.prefix_blocks or (None,) * len(trace)
    rows = zip(times, trace.input_lengths, trace.decode_lengths, blocks, strict=True)
    _write(path, (_mooncake_line(*row) for row in rows))
    return _present(trace, "prompt_segments", "output_segments")


def write_vidur(trace: Trace, path: Path | str) -> tuple[str, ...]:
    """Write Vidur CSV: arrived_at (seconds), num_prefill_tokens, num_decode_tokens.

    Returns:
        Names of the fields of `trace` that the format cannot hold and that were left out:
        `prefix_blocks`, `prefix_block_size`, `prompt_segments` and `output_segments`, where the
        trace has them.

    Raises:
        InputError: no arrival times; a path that cannot be written.

    Examples:
        >>> from pathlib import Path
        >>> from fluidkv.traces import write_vidur
        >>> write_vidur(fk.Trace((10, 30), (2, 5), (0.0, 1.5)), "mine.csv")
        ()
        >>> print(Path("mine.csv").read_text().strip())
        arrived_at,num_prefill_tokens,num_decode_tokens
        0.0,10,2
        1.5,30,5
    """
    times = _required_times(trace, "vidur")
    rows = zip(times, trace.input_lengths, trace.decode_lengths, strict=True)
    lines = (f"{time!r},{inputs},{decodes}" for time, inputs, decodes in rows)
    _write(path, ("arrived_at,num_prefill_tokens,num_decode_tokens", *lines))
    blocks = _present(trace, "prefix_blocks", "prefix_block_size")
    return (*blocks, *_present(trace, "prompt_segments", "output_segments"))


def _present(trace: Trace, *fields: str) -> tuple[str, ...]:
    return tuple(name for name in fields if getattr(trace, name) is not None)


def _required_times(trace: Trace, format: str) -> tuple[float, ...]:
    if trace.arrival_times_s is None:
        raise InputError("arrival_times_s", None, f"a time for each request, to write {format}")
    return trace.arrival_times_s


def _mooncake_line(
    time: float, input_length: int, decode_length: int, blocks: tuple[int, ...] | None
) -> str:
    fields = (
        f'"timestamp": {_milliseconds(time)}, '
        f'"input_length": {input_length}, "output_length": {decode_length}'
    )
    return f"{{{fields}}}" if blocks is None else f'{{{fields}, "hash_ids": {list(blocks)}}}'


def _milliseconds(time: float) -> str:
    """In decimal, where a factor of 1000 rounds nothing: `float` of a product would."""
    value = Decimal(repr(time)).scaleb(-MILLI)
    return str(int(value)) if value == value.to_integral_value() else str(value)


def _write(path: Path | str, lines: Iterable[str]) -> None:
    write_whole(path, "".join(f"{line}\n" for line in lines).encode())
