"""From the text of `fluidkv recommend` to settings to try and bounds to keep."""

from typing import Any

from fluidkv.answers.served.server_options import knob_values
from fluidkv.errors import InputError


def check_objective(text: str) -> None:
    """Before a source is read."""
    from fluidkv.answers.recommend.choosing import OBJECTIVES

    if text not in OBJECTIVES:
        raise InputError("--objective", text, f"one of {', '.join(OBJECTIVES)}")


def candidates(
    watermark: str | None, max_num_seqs: str | None, rate_cap: str | None, client_cap: str | None
) -> dict[str, list[Any]]:
    texts = (
        ("--watermark", "watermark", watermark),
        ("--max-num-seqs", "max_num_seqs", max_num_seqs),
        ("--rate-cap", "admission_rate", rate_cap),
        ("--client-cap", "clients", client_cap),
    )
    return {
        name: knob_values(option, text, name) for option, name, text in texts if text is not None
    }
