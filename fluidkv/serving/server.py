"""A server: an engine, its memory and caps, its clock, and what its requests say."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fluidkv.prefix.prompts import Prompts
from fluidkv.record import Record
from fluidkv.runs.values import one_each
from fluidkv.serving.checks import check_backend
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.engine_text import ServedEngine
from fluidkv.serving.engines import served_engine
from fluidkv.serving.limits import Limits
from fluidkv.serving.rules import EngineRules


@dataclass(frozen=True)
class Server(Record):
    """What serves requests: `serve` plays it, `fluidkv.serving.Engine` does so step by step.

    All but the engine and the backend may be a sequence, with a value for each run: a sweep of
    memories is one server, too.

    Args:
        engine: a name out of `ENGINES`, or rules; "vllm+cache" has its prefix cache, and
            "sglang+cache" is SGLang's own scheduler and tree, of which "sglang" is a short form.
            Settings stand behind a colon; see `served_engine`.
        limits: memory and caps.
        clock: duration of an iteration; None: the theory's, where each lasts 1.
        prompts: what the requests say, for an engine with a prefix cache; None: nobody begins like
            another, so that a request finds only itself, after a preemption.
        backend: "kernel" is compiled; "reference" is the same loop as plain Python, the literal
            engine. They agree, times included. "auto" takes the kernel, or the literal engine for
            little work, for numbers that the kernel cannot hold, and for rules of a user's own that
            cannot be compiled.

    Raises:
        InputError: an engine that there is not, an unknown backend; columns of different lengths.

    Examples:
        >>> server = fk.Server("vllm", fk.Limits(16))
        >>> server.engine.rules.victim.name, server.clock
        ('LAST_ADMITTED', None)
        >>> sweep = fk.Server("vllm+cache", [fk.Limits(16), fk.Limits(30)])
        >>> fk.serve(fk.Requests([4, 4], [8, 8]), sweep).hit_tokens.sum("request").values.tolist()
        [5, 0]
    """

    engine: str | EngineRules | ServedEngine
    limits: Limits | Sequence[Limits]
    clock: IterationClock | Sequence[IterationClock] | None = None
    prompts: Prompts | Sequence[Prompts | None] | None = None
    backend: str = "auto"

    def __post_init__(self) -> None:
        object.__setattr__(self, "engine", served_engine(self.engine))
        check_backend(self.backend)
        one_each(self.columns)

    @property
    def served(self) -> ServedEngine:
        """The engine, with its cache or without, and its settings."""
        assert isinstance(self.engine, ServedEngine)  # made so above
        return self.engine

    @property
    def columns(self) -> dict[str, Any]:
        """What may differ from run to run."""
        return {"limits": self.limits, "clock": self.clock, "prompts": self.prompts}
