"""A server that is not ours: requests one by one, in plain lists, by what its page says of it.

First come first served; a request enters where its whole prompt fits; where the next tokens do not
fit, the last that entered goes back to the head of the queue and computes all it had again.
"""

import numpy as np


def p99_ttft_and_preemptions(
    arrival: np.ndarray,
    inputs: np.ndarray,
    outputs: np.ndarray,
    capacity: int,
    base: float,
    per_token: float,
    per_prefill: float,
) -> tuple[float, int]:
    """Of all requests, in seconds; and how often one was sent back."""
    first = np.full(len(arrival), np.nan)
    done = [0] * len(arrival)
    waiting, running = list(range(len(arrival)))[::-1], []
    now, preemptions = 0.0, 0
    while waiting or running:
        if not running and arrival[waiting[-1]] > now:
            now = float(arrival[waiting[-1]])
        held = sum(int(inputs[each]) + done[each] for each in running)
        while running and held + len(running) > capacity:
            last = running.pop()
            held -= int(inputs[last]) + done[last]
            waiting.append(last)
            preemptions += 1
        prefill = 0
        while waiting and arrival[waiting[-1]] <= now:
            need = int(inputs[waiting[-1]]) + done[waiting[-1]]
            if held + need + len(running) + 1 > capacity:
                break
            running.append(waiting.pop())
            held, prefill = held + need, prefill + need
        now += base + per_token * held + per_prefill * prefill
        for each in running:
            done[each] += 1
            if np.isnan(first[each]):
                first[each] = now
        running = [each for each in running if done[each] < outputs[each]]
    return float(np.quantile(first - arrival, 0.99)), preemptions
