"""Generated workloads: the structure that each states, counted from its prompts."""

import re
from collections import Counter
from typing import Any

import numpy as np
import pytest

from fluidkv.errors import InputError
from fluidkv.prefix.pieces import common, length
from fluidkv.prefix.workloads import (
    GENERATORS,
    chats,
    long_documents,
    loop,
    shared_prefixes,
    zipf_prompts,
)


def test_gsp_is_as_the_paper_states_it() -> None:
    requests, prompts = shared_prefixes(1)
    assert len(requests) == 128 * 32
    assert set(Counter(requests.class_index.tolist()).values()) == {32}
    sizes = (512, 1024, 2048, 4096, 8192)
    group, inputs = requests.class_index, requests.input_length
    assert inputs.tolist() == [sizes[g % 5] for g in group]
    assert set(requests.output_length.tolist()) == {4}
    first = {g: prompts.prompts[i] for i, g in reversed(list(enumerate(group.tolist())))}
    for one, g, size in zip(prompts.prompts, group.tolist(), inputs.tolist(), strict=True):
        assert common(one, first[g]) == (size if one == first[g] else size // 2)
        assert not common(one, first[(g + 1) % 128])
    gaps = np.diff(requests.arrival)
    assert np.mean(gaps) == pytest.approx(1 / 12, rel=5 / np.sqrt(gaps.size))  # 5 sigma


def test_gsp_in_turns_asks_each_group_once_a_turn() -> None:
    requests, _ = shared_prefixes(1, groups=7, queries=3, order="round-robin")
    assert requests.class_index.tolist() == [*range(7)] * 3


@pytest.mark.parametrize(("ratio", "shared"), [(0.0, 0), (0.3, 154), (0.7, 358), (1.0, 512)])
def test_the_ratio_is_rounded_to_whole_tokens(ratio: float, shared: int) -> None:
    requests, prompts = shared_prefixes(0, groups=1, queries=2, lengths=[512], ratio=ratio)
    assert common(*prompts.prompts) == shared
    assert requests.input_length.tolist() == [512, 512]


@pytest.mark.parametrize("order", ["random", "round-robin"])
def test_a_chat_goes_on_from_its_last_answer(order: str) -> None:
    requests, prompts = chats(3, clients=6, order=order)
    last: dict[int, Any] = {}
    rounds = Counter()
    for client, prompt, output in zip(
        requests.class_index.tolist(), prompts.prompts, prompts.outputs, strict=True
    ):
        before = last.get(client, ())
        assert common(prompt, before) == length(before) == length(prompt) - 1024
        last[client] = (*prompt, *output)
        rounds[client] += 1
    assert [rounds[client] for client in range(6)] == [2, 4, 6, 8, 2, 4]


def test_random_orders_of_chats_differ_by_seed_and_stay_by_seed() -> None:
    orders = [chats(seed, clients=9)[0].class_index.tolist() for seed in (1, 1, 2)]
    assert orders[0] == orders[1] != orders[2]


def test_documents_are_truncated_in_turn_and_questions_are_their_own() -> None:
    requests, prompts = long_documents(2, documents=5, questions=3, order="round-robin")
    sizes = [1024, 2048, 4096, 8192, 1024]
    assert requests.input_length.tolist() == [size + 32 for size in sizes] * 3
    assert common(prompts.prompts[0], prompts.prompts[5]) == 1024
    assert common(prompts.prompts[0], prompts.prompts[4]) == 0


def test_popular_prompts_are_asked_for_in_proportion() -> None:
    requests, _ = zipf_prompts(5, requests=20_000, prompts=4, exponent=2.0)
    asked = np.bincount(requests.class_index, minlength=4) / 20_000
    expected = np.array([1, 1 / 4, 1 / 9, 1 / 16])
    expected /= expected.sum()
    assert asked == pytest.approx(expected, abs=5 * 0.5 / np.sqrt(20_000))  # 5 sigma at most


def test_the_loop_is_one_token_more_than_the_cache() -> None:
    requests, prompts = loop(0, capacity=6, length=3, turns=2)
    assert requests.class_index.tolist() == [*range(5)] * 2
    assert prompts.prompts[0] == prompts.prompts[5]
    assert common(prompts.prompts[0], prompts.prompts[1]) == 2
    told = {token for p in prompts.prompts for token in p}
    assert sum(piece.length for piece in told) == 7


@pytest.mark.parametrize(("capacity", "size", "own"), [(100, 30, 7), (6, 3, 3), (9, 9, 1)])
def test_the_loop_does_not_fit_and_without_one_prompt_it_does(
    capacity: int, size: int, own: int
) -> None:
    _, prompts = loop(0, capacity=capacity, length=size, own=own, turns=1)
    tokens = size - own + own * len(prompts.prompts)
    assert tokens > capacity >= tokens - own


BAD = [
    ("gsp", {"groups": 0}, "groups: got 0; allowed: an integer from 1 to 1,000,000"),
    ("gsp", {"lengths": (512, -4)}, "lengths: got -4; allowed: an integer from 1 to 100,000,000"),
    ("gsp", {"lengths": ()}, "lengths: got ()"),
    ("gsp", {"ratio": 1.5}, "ratio: got 1.5; allowed: a number from 0 to 1"),
    ("gsp", {"ratio": float("nan")}, "ratio: got nan"),
    ("gsp", {"order": "sorted"}, "order: got 'sorted'; allowed: random or round-robin"),
    ("gsp", {"rate": 0.0}, "rate: got 0.0; allowed: a finite number above 0"),
    ("chats", {"rounds": (2, 0)}, "rounds: got 0"),
    ("documents", {"questions": -1}, "questions: got -1"),
    ("zipf", {"exponent": -1.0}, "exponent: got -1.0; allowed: a number from 0 to 100"),
    ("loop", {"capacity": 2, "length": 3}, "length: got 3; allowed: an integer from 1 to 2"),
    ("loop", {"capacity": 6, "length": 3, "own": 4}, "own: got 4"),
]


@pytest.mark.parametrize(("name", "options", "message"), BAD)
def test_a_bad_parameter_is_one_line(name: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match="^" + re.escape(message)):
        GENERATORS[name](0, **options)
