"""The requests that a server may be offered, and which of them it could never serve."""

from fluidkv.errors import InputError
from fluidkv.prefix.prompts import Prompts
from fluidkv.runs.requests import Requests
from fluidkv.serving.caching.sglang.settings import SglangSettings
from fluidkv.serving.caching.sglang.state import Request


def checked_table(requests: Requests, prompts: Prompts, settings: SglangSettings) -> list[Request]:
    """All requests of a table, none of them offered yet.

    Raises:
        InputError: prompts or outputs of other lengths than the table says; a request that is not
            admitted even where nobody else is; with `ignore_eos`, one that ends early.
    """
    for name in ("input_length", "output_length"):
        said, meant = getattr(prompts, name), getattr(requests, name)
        if said.shape != meant.shape:
            raise InputError("prompts", f"{said.size} prompts", f"{meant.size}, one a request")
        if (said != meant).any():
            row = int((said != meant).argmax())
            found = f"{said[row]} tokens in request {row}"
            raise InputError("prompts", found, f"{meant[row]}, its {name}")
    columns = (
        requests.input_length,
        requests.output_length,
        requests.max_output,
        requests.arrival,
    )
    rows = zip(
        *(column.tolist() for column in columns), prompts.prompts, prompts.outputs, strict=True
    )
    found = [Request(index, *row) for index, row in enumerate(rows)]
    for request in found:
        _check(request, settings)
    return found


def _check(request: Request, settings: SglangSettings) -> None:
    if settings.ignore_eos and request.output_length != request.max_output:
        given = f"{request.output_length} of {request.max_output} in request {request.index}"
        raise InputError("output_length", given, "all that is asked for, with ignore_eos")
    needed = _needed(request, settings)
    if needed > settings.tokens:
        lengths = f"{request.input_length} input and at most {request.max_output} output tokens"
        found = f"{settings.tokens}, where request {request.index} ({lengths}) needs {needed}"
        raise InputError("capacity", found, "room for the largest request")


def _needed(request: Request, settings: SglangSettings) -> int:
    """Tokens of memory in which it is admitted if nobody else is there, at its longest, too."""
    page, most = settings.page_size, request.max_output
    if settings.ignore_eos and not settings.radix:
        rounded = max(
            settings.in_pages(request.input_length + emitted) - emitted
            for emitted in range(min(request.output_length, page))
        )
        return rounded + most + page + 2
    counted = min(most, request.output_length - 1 + settings.clip)
    return request.input_length + counted + page + 1
