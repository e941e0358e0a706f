"""A server that is not ours: requests one by one, in plain lists, by what its page says of it.

First come first served; a request enters where its whole prompt fits, and a share of memory stays
free of those that enter; where the next tokens do not fit, the last that entered goes back to the
head of the queue and computes all it had again.
"""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Served:
    """When each request had its first token and its last, and how often one was sent back."""

    arrival: np.ndarray
    first: np.ndarray
    last: np.ndarray
    outputs: np.ndarray
    preemptions: int

    @property
    def ttft_p99(self) -> float:
        return float(np.quantile(self.first - self.arrival, 0.99))

    @property
    def latency_p99(self) -> float:
        return float(np.quantile(self.last - self.arrival, 0.99))

    @property
    def output_throughput_per_time(self) -> float:
        return float(self.outputs.sum() / self.last.max())


def one_by_one(
    arrival: np.ndarray,
    inputs: np.ndarray,
    outputs: np.ndarray,
    capacity: int,
    clock: tuple[float, float, float],
    *,
    watermark: float = 0.0,
    most: int | None = None,
) -> Served:
    """Serve all.

    Args:
        clock: seconds of an iteration, more for a token held, and for one of a prompt.
        watermark: share of memory that requests which enter leave free, where any runs.
        most: requests that run at once.
    """
    base, per_token, per_prefill = clock
    sizes, ends = inputs.tolist(), outputs.tolist()
    first, last = np.full(len(arrival), np.nan), np.full(len(arrival), np.nan)
    done = [0] * len(sizes)
    waiting, running = list(range(len(sizes)))[::-1], []
    now, preemptions = 0.0, 0
    while waiting or running:
        if not running and arrival[waiting[-1]] > now:
            now = float(arrival[waiting[-1]])
        held = sum(sizes[each] + done[each] for each in running)
        while running and held + len(running) > capacity:
            back = running.pop()
            held -= sizes[back] + done[back]
            waiting.append(back)
            preemptions += 1
        prefill = 0
        while waiting and arrival[waiting[-1]] <= now and len(running) != most:
            need = sizes[waiting[-1]] + done[waiting[-1]]
            free = int(watermark * (capacity + 1)) if running else 0
            if held + need + len(running) + 1 > capacity - free:
                break
            running.append(waiting.pop())
            held, prefill = held + need, prefill + need
        now += base + per_token * held + per_prefill * prefill
        for each in running:
            done[each] += 1
            if done[each] == 1:
                first[each] = now
            if done[each] == ends[each]:
                last[each] = now
        running = [each for each in running if done[each] < ends[each]]
    return Served(arrival, first, last, outputs, preemptions)
