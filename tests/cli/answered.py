"""What a command printed as JSON: what was asked in front, the answer behind it."""

import json
from typing import Any

ENVELOPE = ("fluidkv", "command", "inputs", "units")


def answer_in(text: str) -> dict[str, Any]:
    """The answer alone, as `as_dict` has it."""
    found = json.loads(text)
    assert tuple(found)[:4] == ENVELOPE
    return {key: value for key, value in found.items() if key not in ENVELOPE}
