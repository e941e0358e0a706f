"""What an SGLang server prints as it starts: all of its arguments, and how much memory it found."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from fluidkv.logs.settings import LoggedSettings
from fluidkv.logs.stdout.numbers import COUNT, DECIMAL
from fluidkv.text import printable

_ARGUMENTS = "server_args=ServerArgs("
STARTS = (_ARGUMENTS, "max_total_num_tokens=")
"""What only an SGLang server says as it starts."""

_FOUND = re.compile(r"max_total_num_tokens=" + COUNT)
_VERSION = re.compile(r"\bsglang(?:\[all\])?(?:==| version:? | v)(\d{1,4}\.\d{1,4}[\w.+-]{0,40})")
_COUNTS = {  # of the arguments -> of `LoggedSettings`
    "max_running_requests": "max_num_seqs",
    "chunked_prefill_size": "max_num_batched_tokens",
    "page_size": "block_size",
    "context_len": "max_model_len",
    "context_length": "max_model_len",
}
_NUMBERS = {
    "schedule_conservativeness": "conservativeness",
    "mem_fraction_static": "memory_share",
}
_TEXTS = {"model_path": "model", "schedule_policy": "policy"}
_NO_CACHE = re.compile(r"\bdisable_radix_cache=(True|False)")
_STEPS = re.compile(r"\bdecode_log_interval=" + COUNT)


@dataclass
class Start:
    """What the lines of the start have said so far.

    Fields:
        arguments: as they were given, by the names of `LoggedSettings`.
        resolved: what the scheduler made of them, which counts more.
        steps: of decoding between two lines.
    """

    arguments: dict[str, object] = field(default_factory=dict)
    resolved: dict[str, object] = field(default_factory=dict)
    steps: int | None = None

    def __bool__(self) -> bool:
        """Whether any line was one of the start."""
        return bool(self.arguments or self.resolved)

    def read(self, line: str) -> None:
        """What a line says, if it is one of the start."""
        if _ARGUMENTS in line:
            self._read_into(self.arguments, line)
            if (found := _NO_CACHE.search(line)) and "prefix_caching" not in self.arguments:
                self.arguments["prefix_caching"] = found[1] == "False"
            if (found := _STEPS.search(line)) and int(found[1]):
                self.steps = self.steps or int(found[1])
        elif found := _FOUND.search(line):
            if int(found[1]):
                self.resolved.setdefault("capacity", int(found[1]))
            self._read_into(self.resolved, line)
        elif found := _VERSION.search(line):
            self.arguments.setdefault("version", found[1].rstrip("."))

    def _read_into(self, settings: dict[str, object], line: str) -> None:
        for name, ours in _COUNTS.items():
            if (found := re.search(rf"\b{name}={COUNT}\b", line)) and int(found[1]):
                settings.setdefault(ours, int(found[1]))
        for name, ours in _NUMBERS.items():
            if (found := re.search(rf"\b{name}={DECIMAL}(?![\d.])", line)) and float(found[1]):
                settings.setdefault(ours, float(found[1]))
        for name, ours in _TEXTS.items():
            if found := re.search(rf"\b{name}='([^']{{1,200}})'", line):
                settings.setdefault(ours, found[1])

    def settings(self, engines: int) -> LoggedSettings:
        """The settings.

        Args:
            engines: that print statistics. Each has a pool of its own.
        """
        found = {**self.arguments, **self.resolved}
        tokens, page = found.get("capacity"), found.get("block_size")
        if isinstance(tokens, int):
            found["capacity"] = tokens * engines
            if isinstance(page, int) and tokens >= page:
                found["blocks"] = tokens * engines // page
        return LoggedSettings(**found)  # type: ignore[arg-type]  # its own names, by the tables


def settings_said(server: Mapping[str, object]) -> LoggedSettings:
    """The settings among what a server says of itself, as `/get_server_info` has it."""
    words = ", ".join(f"{name}={value!r}" for name, value in _flat(server) if name in _SAID)
    start = Start()
    start.read(f"{_ARGUMENTS}{words})")
    start.read(words)
    version = server.get("version")
    if isinstance(version, str):
        start.arguments.setdefault("version", printable(version)[:60])
    return start.settings(1)


_SAID = {*_COUNTS, *_NUMBERS, *_TEXTS, "disable_radix_cache", "max_total_num_tokens"}


def _flat(server: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    """Names and values, with those of the first of its internal states."""
    yield from server.items()
    states = server.get("internal_states")
    if isinstance(states, list) and states and isinstance(states[0], dict):
        yield from states[0].items()
