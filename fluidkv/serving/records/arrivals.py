"""The requests of a record file; with their texts in field `requests`, which has a row for each.

A row is [arrival step, prompt, output], with the most outputs that its client allows behind them
where there are such. A prompt is a list of [segment, length], an output one of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from fluidkv.errors import InputError
from fluidkv.prefix.pieces import Content, content
from fluidkv.prefix.prompts import Prompts
from fluidkv.runs.requests import Requests
from fluidkv.serving.limits import UNLIMITED
from fluidkv.serving.records.fields import Fields


@dataclass(frozen=True, eq=False)
class Arrivals:
    """Requests in order of arrival; those of one step in the file's order.

    Args:
        requests: a table.
        prompts: its texts; None: the file has lengths alone.
        places: of each request in the file, which calls it by this number; by default its place in
            the table.
    """

    requests: Requests
    prompts: Prompts | None = None
    places: Sequence[int] = ()

    def __post_init__(self) -> None:
        if not self.places:
            object.__setattr__(self, "places", range(len(self.requests)))


def read_arrivals(fields: Fields, *, with_max_output: bool = False) -> Arrivals:
    """The requests in field `requests`.

    Raises:
        InputError: naming the row: of another length or kind, a step below 0, a prompt that is no
            list of pairs, most outputs below the outputs.
    """
    rows = fields.items("requests")
    size = 3 + with_max_output
    listed = [_row(fields, place, row, size) for place, row in enumerate(rows)]
    places = sorted(range(len(listed)), key=lambda place: listed[place][0])
    steps, prompts, outputs, most = zip(*(listed[place] for place in places), strict=True)
    table = Prompts(prompts, outputs)
    requests = Requests(
        table.input_length,
        table.output_length,
        arrival=steps,
        max_output=most if with_max_output else None,
    )
    return Arrivals(requests, table, places)


def _row(fields: Fields, place: int, row: object, size: int) -> tuple[int, Content, Content, int]:
    name = f"requests[{place}]"
    kinds = "a step, a prompt, an output" + ", most outputs" * (size > 3)
    if not isinstance(row, list) or len(row) != size:
        raise fields.wrong(name, row, f"a row of {size}: {kinds}")
    step, prompt, output, *rest = row
    if type(step) is not int or not 0 <= step < 2**53:
        raise fields.wrong(f"{name}, step", step, "a whole number of at least 0")
    text = _content(fields, f"{name}, prompt", prompt)
    answer = _content(fields, f"{name}, output", [output])
    least = answer[0].length
    for most in rest:
        if type(most) is not int or not least <= most < 2**62:
            raise fields.wrong(f"{name}, most outputs", most, f"at least the {least} outputs")
    return step, text, answer, rest[0] if rest else least


def _content(fields: Fields, name: str, pairs: object) -> Content:
    allowed = "[segment >= 0, length >= 1] pairs, at least one"
    if not isinstance(pairs, list) or not pairs:
        raise fields.wrong(name, pairs, allowed)
    for pair in pairs:
        whole = isinstance(pair, list) and all(type(number) is int for number in pair)
        if not whole or len(pair) != 2 or pair[0] >= 2**62 or pair[1] >= UNLIMITED:
            raise fields.wrong(name, pair, allowed)
    try:
        return content(pairs)
    except InputError as error:
        raise fields.wrong(name, error.value, allowed) from None
