"""The chain of counts written out for one run, stage by stage, with its draws given. Slow.

How many prompts are at each stage of each segment; who comes and who goes on is told. This is what
`fluidkv.wait.chain.simulate` computes, and what a run of single prompts
(`fluidkv.wait.runs.reference`) does when it is told the draws that this run made.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from fluidkv.record import Record
from fluidkv.serving.clock import IterationClock
from fluidkv.wait.model import WaitSystem
from fluidkv.wait.segments import Segments


@dataclass(frozen=True)
class Draws:
    """What chance decides in one iteration.

    Fields:
        wait: time until a batch could be formed; 0 where it could at once.
        waited: arrivals to each segment in that time.
        entered: prompts that come to wait before each segment while the batch runs: arrivals, and
            those who go on from the segment before.
    """

    wait: float
    waited: tuple[int, ...]
    entered: tuple[int, ...]


@dataclass(frozen=True)
class Counts(Record):
    """One iteration: prompts before each segment (`queue`, before any wait), segments in the batch,
    tokens in it and in memory, prompts that completed, output tokens emitted, the clock after."""

    queue: tuple[int, ...]
    joined: int
    kv_tokens: int
    held_tokens: int
    completed: int
    outputs: int
    time: float


def chain_reference(
    model: Segments | WaitSystem,
    thresholds: tuple[int, ...],
    clock: IterationClock,
    draws: Iterable[Draws],
) -> Iterator[Counts]:
    """The iterations of a run from the empty system, as many as there are draws."""
    nested = isinstance(model, Segments)
    if nested:
        stages = [
            range(start, end + 1) for start, end in zip(model.starts, model.ends, strict=True)
        ]
        inputs = [model.input_length] * len(stages)
    else:
        stages = [range(each.stages) for each in model.types]
        inputs = [each.input_length for each in model.types]
    at = [dict.fromkeys(segment, 0) for segment in stages]  # prompts that compute this stage next
    now = 0.0
    for drawn in draws:
        queue = tuple(prompts[segment[0]] for prompts, segment in zip(at, stages, strict=True))

        now += drawn.wait
        for prompts, segment, came in zip(at, stages, drawn.waited, strict=True):
            prompts[segment[0]] += came

        joined = []
        for k, n in enumerate(thresholds):
            if at[k][stages[k][0]] >= n:
                joined.append(k)
            elif nested:
                break
        batch = [
            {stage: min(thresholds[k], prompts[stage]) if k in joined else 0 for stage in segment}
            for k, (prompts, segment) in enumerate(zip(at, stages, strict=True))
        ]

        tokens = held = prefill = 0
        for k, segment in enumerate(stages):
            for stage in segment:
                computing = batch[k][stage]
                paused = at[k][stage] - computing if stage else 0
                tokens += computing * (inputs[k] + stage)
                held += computing * (inputs[k] + stage) + paused * (inputs[k] + stage - 1)
                prefill += 0 if stage else computing * inputs[k]
        now += clock.duration(tokens, prefill)

        completed = outputs = 0
        for k, segment in enumerate(stages):
            outputs += sum(batch[k][stage] for stage in segment if stage)
            for stage in reversed(segment):
                at[k][stage] -= batch[k][stage]
                if stage + 1 in segment:
                    at[k][stage + 1] += batch[k][stage]
            passed, goes_on = batch[k][segment[-1]], 0
            if nested and k + 1 < len(stages):
                goes_on = drawn.entered[k + 1]
                assert goes_on <= passed, f"{goes_on} go on of {passed}"
            completed += passed - goes_on
        for prompts, segment, came in zip(at, stages, drawn.entered, strict=True):
            prompts[segment[0]] += came

        yield Counts(queue, len(joined), tokens, held, completed, outputs, now)
