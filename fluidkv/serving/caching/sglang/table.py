"""The requests that a server may be offered, and which of them it could never serve."""

from fluidkv.errors import InputError
from fluidkv.prefix.prompts import Prompts
from fluidkv.runs.requests import Requests
from fluidkv.serving.caching.sglang.state import Request
from fluidkv.serving.caching.table import checked_prompts
from fluidkv.serving.sglang_settings import SglangSettings


def checked_table(
    requests: Requests, prompts: Prompts | None, settings: SglangSettings
) -> list[Request]:
    """All requests of a table, none of them offered yet.

    Raises:
        InputError: prompts or outputs of other lengths than the table says; a request that is not
            admitted even where nobody else is; with `ignore_eos`, one that ends early.
    """
    prompts = checked_prompts(requests, prompts)
    columns = (
        requests.input_length,
        requests.output_length,
        requests.max_output,
        requests.arrival,
    )
    rows = zip(
        *(column.tolist() for column in columns),
        prompts.prompts,
        prompts.outputs,
        requests.priority.tolist(),
        strict=True,
    )
    found = [Request(index, *row) for index, row in enumerate(rows)]
    for request in found:
        _check(request, settings)
    return found


def _check(request: Request, settings: SglangSettings) -> None:
    if settings.ignore_eos and request.output_length != request.max_output:
        given = f"{request.output_length} of {request.max_output} in request {request.index}"
        raise InputError("output_length", given, "all that is asked for, with ignore_eos")
    needed = needed_alone(request, settings)
    if needed > settings.tokens:
        lengths = f"{request.input_length} input and at most {request.max_output} output tokens"
        allowed = f"at least {needed} tokens, for request {request.index} ({lengths})"
        raise InputError("capacity", settings.tokens, allowed)


def needed_alone(request: Request, settings: SglangSettings) -> int:
    """Tokens of memory in which it is admitted as it is, if nobody else is there."""
    page = settings.page_size
    if settings.ignore_eos and not settings.radix:
        # Also after any number of its outputs: with these its pages may be filled less well.
        rounded = max(
            settings.in_pages(request.input_length + emitted) - emitted
            for emitted in range(min(request.output_length, page))
        )
        return rounded + request.max_output + page + 2
    return request.length + max(request.may_emit(settings.clip), 0) + page + 1
