"""Trajectories of one model of one row, side by side, and what happens in each window.

The plain map of `fluidkv.fluid.iteration` in memory shares: stage s with mass x_s holds the share
m_s = w_s x_s / M of memory. One iteration hands out memory from the last stage to the first:

    free = 1;   for s = d-1 ... 1:   m'_s = min(g_s m_{s-1}, free),   free = free - m'_s;
    m'_0 = free                                                       with g_s = w_s / w_{s-1}.

Each trajectory has a *slot*, so that the loop over stages does the same to all of them and the
machine does several at a time. Ageing moves no data: stage s is in line (s + shift) mod d, and the
shift goes down. Memory that is full leaves `free`, and all stages below, exactly 0.

Source: Congestion, section 2.2 on the manifold of Lemma 9; weights V_s of Appendix B.6.1 and B.8.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from fluidkv.runs.kernels import kernel


class Row(NamedTuple):
    """The model, each field (stage,).

    Fields:
        growth: w_s / w_{s-1}; 0 at stage 0.
        alive: requests per unit of memory share, over capacity.
        leaving: those of them that complete.
    """

    growth: Float[np.ndarray, " stage"]
    alive: Float[np.ndarray, " stage"]
    leaving: Float[np.ndarray, " stage"]


class Windows(NamedTuple):
    """Sums over each window and levels at its end; requests over capacity, memory as a share of it.

    Fields:
        admitted, completed, evicted: sums.
        in_flight, memory, empty_stages: at the end.
        state: memory shares at the end; no windows where nobody asked for it.
    """

    admitted: Float[np.ndarray, "window slot"]
    completed: Float[np.ndarray, "window slot"]
    evicted: Float[np.ndarray, "window slot"]
    in_flight: Float[np.ndarray, "window slot"]
    memory: Float[np.ndarray, "window slot"]
    empty_stages: Float[np.ndarray, "window slot"]
    state: Float[np.ndarray, "window stage slot"]


@kernel
def follow(row: Row, shares: np.ndarray, shift: int, windows: int, every: int, out: Windows) -> int:
    """Windows of `every` iterations, from `shares` (line, slot) on, which end as the last state.

    One function on plain indices: to cut a line out of an array takes as long as its arithmetic.

    Returns:
        The shift after the last iteration.
    """
    growth, alive, leaving = row
    stages, slots = shares.shape
    free, entered = np.zeros(slots), np.zeros(slots)
    left, gone = np.zeros(slots), np.zeros(slots)
    for w in range(windows):
        for j in range(slots):
            entered[j] = left[j] = gone[j] = 0.0
        for _ in range(every):
            for j in range(slots):
                free[j] = 1.0
            for s in range(stages - 1, -1, -1):
                r = s + shift
                r = r - stages if r >= stages else r
                if leaving[s] > 0.0:
                    for j in range(slots):
                        left[j] += leaving[s] * shares[r, j]
                if s + 1 < stages:  # what was at s is at s + 1 now
                    grown, requests = growth[s + 1], alive[s + 1]
                    for j in range(slots):
                        needed, room = grown * shares[r, j], free[j]
                        kept = needed if needed < room else room
                        gone[j] += requests * (needed - kept)
                        shares[r, j] = kept
                        free[j] = room - kept
            r = stages - 1 + shift
            r = r - stages if r >= stages else r
            for j in range(slots):
                shares[r, j] = free[j]
                entered[j] += alive[0] * free[j]
            shift = shift - 1 if shift > 0 else stages - 1
        for j in range(slots):
            out.admitted[w, j], out.completed[w, j], out.evicted[w, j] = (
                entered[j],
                left[j],
                gone[j],
            )
            out.in_flight[w, j] = out.memory[w, j] = out.empty_stages[w, j] = 0.0
        for s in range(stages):
            r = s + shift
            r = r - stages if r >= stages else r
            for j in range(slots):
                out.in_flight[w, j] += alive[s] * shares[r, j]
                out.memory[w, j] += shares[r, j]
                out.empty_stages[w, j] += 1.0 if shares[r, j] == 0.0 else 0.0
                if len(out.state):
                    out.state[w, s, j] = shares[r, j]
    return shift
